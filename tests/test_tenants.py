"""A paper is three folders: config/papers/, src/rlvr/papers/ and tests/papers/. Without them nothing else breaks."""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT, copied

from rlvr.config import paper_folders

PAPERS = paper_folders.names(ROOT / "config")
PLAN = """
import sys
from pathlib import Path

from rlvr.claims import contrasts
from rlvr.config import paper_folders
from rlvr.config.measures import RUN_MEASURES
from rlvr.items import FIGURE_KINDS, TABLE_KINDS, layout
from rlvr.planning.expansion import make_plan
from rlvr.registry import papers
from rlvr.theory.closed_forms import CLOSED_FORMS
from rlvr.theory.ledger import CHAPTERS

for registry in (TABLE_KINDS, FIGURE_KINDS, RUN_MEASURES, CLOSED_FORMS, CHAPTERS):
    dict(registry.all())
names = paper_folders.names(Path("config"))
assert set(papers()) == set(names), (papers(), names)
plan = make_plan(Path(), "smoke", names)
for paper, made in plan.papers.items():
    for item in made.all_items():
        layout.of(plan, paper, item)
    contrasts.layout(plan, paper)
print(*plan.papers)
"""


def without(paper: str, folder) -> None:
    """A copy of the project without a paper's three folders."""
    copied(folder, "config", "src", "tests", "workflow", "pyproject.toml", "Snakefile")
    for name in ("config/papers", "src/rlvr/papers", "tests/papers"):
        shutil.rmtree(folder / name / paper)


def python(folder, *arguments: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.broad
@pytest.mark.parametrize("paper", PAPERS)
def test_without_its_folders_the_others_are_planned(tmp_path, paper):
    without(paper, tmp_path)
    done = python(tmp_path, "-c", PLAN)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == [name for name in PAPERS if name != paper]


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_without_its_folders_the_others_tests_pass(tmp_path, paper):
    without(paper, tmp_path)
    rest = ["tests/papers", "tests/test_architecture.py", "tests/theory"]
    done = python(tmp_path, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *rest)
    assert done.returncode == 0, done.stdout[-3000:]
