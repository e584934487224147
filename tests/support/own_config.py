"""A copy of config/, and changes of its files."""

import shutil
from pathlib import Path

import pytest
from conftest import ROOT

from rlvr.config.layers import ConfigError
from rlvr.planning.expansion import make_plan


def copied(folder: Path) -> Path:
    """The root of a copy of config/ in an empty folder."""
    shutil.copytree(ROOT / "config", folder / "config")
    return folder


def edit(root: Path, file: str, old: str, new: str) -> None:
    """Changes the first place of a file below config/ that has the old text."""
    path = root / "config" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def refused(root: Path, message: str, *papers: str, scale: str = "smoke") -> None:
    """Asserts that these papers cannot be planned at a scale, and why."""
    with pytest.raises(ConfigError, match=message):
        make_plan(root, scale, list(papers))
