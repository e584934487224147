"""A paper is a folder of config/papers/: paper.yaml, and where it has them the files below and published tables."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rlvr.config.layers import ConfigError, Layer, file_name, read_yaml
from rlvr.suggest import nearest

PAPERS = "papers"
PAPER, CLAIMS, SCALES = "paper.yaml", "claims.yaml", "scales.yaml"
MECHANISM = "mechanism.yaml"  # criteria of runs that exercise what the paper proposes
STATED = "stated.yaml"  # what the paper's text says of its settings
DEVIATIONS_FILE, NOTES_FILE = "deviations.md", "notes.md"
PAGE = "page.md"  # of the site, which adds what is known of the paper
FILES = (PAPER, CLAIMS, MECHANISM, SCALES, STATED, DEVIATIONS_FILE, NOTES_FILE, PAGE)
DEVIATIONS, NOTES = "deviations", "notes"
# Of files beside paper.yaml: the keys of each.
KEYS = {CLAIMS: ("claims",), MECHANISM: ("mechanism", "regime"), STATED: ("stated", "hardware")}


def names(folder: Path) -> list[str]:
    """The papers of a configuration folder."""
    return sorted(path.parent.name for path in (folder / PAPERS).glob(f"*/{PAPER}"))


def read(folder: Path, name: str, root: Path) -> Layer:
    """The content of a paper's files; the place of a key names its file."""
    path = folder / PAPERS / name / PAPER
    if name not in names(folder):
        raise ConfigError(f"{file_name(path, root)}: no such file{nearest(name, names(folder))}")
    paper = read_yaml(path, root)
    of_yaml = ((file, key) for file, keys in KEYS.items() for key in keys)
    for file, key in (*of_yaml, (DEVIATIONS_FILE, DEVIATIONS), (NOTES_FILE, NOTES)):
        if key in paper.content:
            raise ConfigError(f"{paper.place((key,))}: move this key to {file}, a file beside this one")
    others = [
        *(_yaml(path.with_name(file), root, keys) for file, keys in KEYS.items()),
        _text(path.with_name(DEVIATIONS_FILE), root, DEVIATIONS, deviations),
        _text(path.with_name(NOTES_FILE), root, NOTES, notes),
    ]
    more = {key: value for other in others for key, value in other.content.items()}
    return replace(paper.with_keys(**more), files={key: other.file for other in others for key in other.content})


def _yaml(path: Path, root: Path, keys: tuple[str, ...]) -> Layer:
    """The content of a file beside paper.yaml, which may be absent."""
    layer = read_yaml(path, root) if path.is_file() else Layer(path.name, "", {})
    for key in layer.content:
        if key not in keys:
            raise ConfigError(f"{layer.place((key,))}: unknown key{nearest(key, keys)}")
    return layer


def _text(path: Path, root: Path, key: str, read: Callable[[str, str], Any]) -> Layer:
    """A file of Markdown as content: a list of deviations, or notes by table and figure."""
    file = file_name(path, root)
    content = {key: read(path.read_text(encoding="utf-8"), file)} if path.is_file() else {}
    return Layer(file, "", content)


def deviations(text: str, file: str) -> list[str]:
    """The items of a list in Markdown, below its heading. Raises ConfigError for text outside the list."""
    found: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("- "):
            found.append(line[2:].strip())
        elif line.startswith("  ") and found:
            found[-1] += f" {line.strip()}"
        elif line.strip() and not line.startswith("# "):
            raise ConfigError(
                f"{file}, line {number}: begin a deviation with `- `, and its further lines with two spaces"
            )
    return found


def notes(text: str, file: str) -> dict[str, str]:
    """The text below each heading `## table1, figure2`, for each name; headings one below the other share theirs."""
    found: dict[str, str] = {}
    waiting: list[str] = []
    for heading, note in re.findall(r"^## (.*)\n((?:(?!## ).*\n?)*)", text, flags=re.MULTILINE):
        waiting += (name.strip() for name in heading.split(","))
        again = [name for name in waiting if name in found or waiting.count(name) > 1]
        if again:
            raise ConfigError(f"{file}: {again[0]} has two notes; remove one of them")
        if note.strip():
            found |= dict.fromkeys(waiting, " ".join(note.split()))
            waiting = []
    if waiting:
        raise ConfigError(f"{file}: {waiting[0]} has a heading and no text below it")
    return found


def read_scales(folder: Path, name: str, root: Path) -> Layer | None:
    """What a paper has at each scale, beside the scale's own; None without such a file."""
    path = folder / PAPERS / name / SCALES
    return read_yaml(path, root) if path.is_file() else None


def reference(paper: str, name: str) -> str:
    """The path below config/papers/ of a published table: the paper's own `table1.csv`, or `other/table1.csv`."""
    of, _, file = name.rpartition("/")
    return f"{of or paper}/reference/{file}"
