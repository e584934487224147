"""Plans that are kept between calls of Snakemake."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT

from rlvr.config.layers import ConfigError
from rlvr.planning import kept


@pytest.fixture
def made(monkeypatch) -> list[str]:
    """The scales of the plans that were made, not read."""
    scales, make_plan = [], kept.make_plan

    def counted(root, scale, *rest):
        scales.append(scale)
        return make_plan(root, scale, *rest)

    monkeypatch.setattr(kept, "make_plan", counted)
    monkeypatch.setattr(kept, "IMPORTED", time.time() + 60)  # whatever was edited just now
    return scales


def plan_of(folder: Path, root: Path = ROOT, scale: str = "smoke", papers=("lens",), **more):
    return kept.plan_of(root, scale, list(papers), folder=folder, **more)


def test_a_kept_plan_is_the_plan(tmp_path, made):
    first, again = plan_of(tmp_path), plan_of(tmp_path)
    assert made == ["smoke"] and again == first and again is not first
    assert list(again.runs) == list(first.runs) and len(again.runs) > 3, "in the same order"


def test_other_arguments_make_another_plan(tmp_path, made):
    plan_of(tmp_path)
    plan_of(tmp_path, scale="laptop")
    plan_of(tmp_path, papers=("pacs",))
    assert made == ["smoke", "laptop", "smoke"]
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("name", ["scale/smoke.yaml", "papers/lens/claims.yaml", "papers/lens/deviations.md"])
def test_a_change_of_the_configuration_makes_another_plan(tmp_path, made, name):
    root = tmp_path / "root"
    shutil.copytree(ROOT / "config", root / "config")
    plan_of(tmp_path / "plans", root)
    file = root / "config" / name
    os.utime(file, (0, 0))
    plan_of(tmp_path / "plans", root)
    assert len(made) == 1, "the same bytes are the same configuration"
    file.write_bytes(file.read_bytes() + b"\n")
    plan_of(tmp_path / "plans", root)
    assert len(made) == 2


def test_a_mistake_in_the_configuration_is_said_though_a_plan_is_kept(tmp_path, made):
    root = tmp_path / "root"
    shutil.copytree(ROOT / "config", root / "config")
    plan_of(tmp_path / "plans", root)
    with (root / "config/scale/smoke.yaml").open("a") as file:
        file.write("\nmisspelt: 1\n")
    for _ in range(2):
        with pytest.raises(ConfigError, match="misspelt"):
            plan_of(tmp_path / "plans", root)


def test_a_change_of_the_sources_makes_another_plan(tmp_path, made, monkeypatch):
    module = tmp_path / "rlvr/estimators/mine.py"
    module.parent.mkdir(parents=True)
    monkeypatch.setattr(kept, "rlvr", SimpleNamespace(__file__=str(tmp_path / "rlvr/__init__.py")))
    for text in ("a = 1", "a = 1", "a = 2"):
        module.write_text(text)
        os.utime(module, (0, 0))
        plan_of(tmp_path / "plans")
    assert len(made) == 2


def test_a_plan_is_not_kept_where_a_file_may_have_changed_after_it_was_read(tmp_path, made):
    """The process may have read the file, or imported it, before it changed."""
    root = tmp_path / "root"
    shutil.copytree(ROOT / "config", root / "config")
    os.utime(root / "config/scale/smoke.yaml", 2 * (kept.IMPORTED - 1,))
    for _ in range(2):
        plan_of(tmp_path / "plans", root)
    assert len(made) == 2 and not (tmp_path / "plans").exists()


def test_another_version_of_a_package_makes_another_plan(tmp_path, made, monkeypatch):
    """Identities have the version of the library that decides verdicts."""
    paths = list(sys.path)
    for name in ("math_verify-1.0.dist-info", "math_verify-1.0.dist-info", "math_verify-2.0.dist-info"):
        (tmp_path / name / name).mkdir(parents=True, exist_ok=True)
        monkeypatch.setattr(sys, "path", [*paths, str(tmp_path / name)])
        plan_of(tmp_path / "plans")
    assert len(made) == 2


def test_what_this_machine_lacks_is_part_of_a_plan(tmp_path, made, monkeypatch):
    plan_of(tmp_path)
    native = kept.BACKENDS.load("native")
    monkeypatch.setitem(kept.BACKENDS._loaded, "native", SimpleNamespace(**{**vars(native), "missing": lambda: "gone"}))
    assert plan_of(tmp_path).notes and len(made) == 2, "in_process takes its place"


@pytest.mark.parametrize("damage", [b"", b"cut", "half", "another object", "another user's"])
def test_a_plan_that_cannot_be_trusted_is_made_again(tmp_path, made, monkeypatch, damage):
    first = plan_of(tmp_path)
    (file,) = tmp_path.iterdir()
    if damage == "another user's":
        owner = file.stat().st_uid
        monkeypatch.setattr(kept.os, "getuid", lambda: owner + 1)
    elif damage == "another object":
        file.write_bytes(kept.pickle.dumps({"papers": []}))
    else:
        file.write_bytes(file.read_bytes()[:-100] if damage == "half" else damage)
    assert plan_of(tmp_path) == first and len(made) == 2
    monkeypatch.undo()
    assert kept._read(file) == (first,), "and kept again"


WRITES = """
import sys
from pathlib import Path
from rlvr.planning import kept
kept.MOST = 3
for i in range(100):
    kept._write(Path(sys.argv[1], f"{i % 5}.pickle"), ("a plan" * 10_000,))
"""


def test_several_processes_may_keep_plans_at_once_and_old_ones_go(tmp_path, monkeypatch):
    writers = [subprocess.Popen([sys.executable, "-c", WRITES, str(tmp_path)]) for _ in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    monkeypatch.setattr(kept, "MOST", 3)
    kept._write(tmp_path / "5.pickle", ("a plan" * 10_000,))
    left = sorted(path.name for path in tmp_path.iterdir())
    assert len(left) == 3 and left[-1] == "5.pickle" and all(name.endswith(".pickle") for name in left)
    assert all(kept._read(tmp_path / name) == ("a plan" * 10_000,) for name in left)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, made):
    (tmp_path / "file").write_text("")
    assert plan_of(tmp_path / "file" / "plans").runs and made == ["smoke"]


def test_other_keys_are_kept_apart(tmp_path, made):
    """Refusals are of a plan and of the cluster's file."""
    calls = []

    def make() -> list[int]:
        calls.append(len(calls))
        return list(calls)

    keys = [("refused", "a"), ("refused", "b"), ("refused", "a"), ("plan", "a")]
    assert [kept.once(ROOT, key, make, tmp_path) for key in keys] == [[0], [0, 1], [0], [0, 1, 2]]
