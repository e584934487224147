"""`benchmarks/run.py` runs, part by part, at smoke scale; `benchmarks/tasks.py` does the tasks of docs/tasks.md."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import shutil
import subprocess
import sys

import pytest
from conftest import ROOT
from support.kept_by_hand import lay_evaluation, lay_run

from rlvr.planning.expansion import make_plan

PARTS = {  # what each part prints
    "commands": ("snakemake -n paper_ace at smoke scale:", "snakemake theory:"),
    "weights": ("weights of 8 x 16 rollouts", "slowest: "),
    "judging": ("integer answers a second", "tests of programs a second", "the verifier's share of a step"),
    "policies": ("texts equal", "a `generate` process", "in_process / native, float32:", "TRL nan"),
}


def test_every_part_is_run_here():
    listed = re.search(r"^PARTS = \{(.*)\}$", (ROOT / "benchmarks/run.py").read_text(), re.MULTILINE)
    assert listed and re.findall(r'"(\w+)"', listed[1]) == [*PARTS]


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_a_part_runs_at_smoke_scale_without_trl_and_verl(part):
    command = [sys.executable, "benchmarks/run.py", "--smoke", "--only", part]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    assert "machine: " in done.stdout and all(words in done.stdout for words in PARTS[part]), done.stdout


def test_what_scripts_import_from_the_package_is_there():
    """Also scripts that no test runs whole: of benchmarks/, examples/, workflow/ and the site."""
    files = [
        path for folder in ("benchmarks", "examples", "workflow", "docs/site") for path in (ROOT / folder).rglob("*.py")
    ]
    imports = [
        (path, node)
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "rlvr"
    ]
    assert len({path for path, _ in imports}) > 10
    for path, node in imports:
        if ".backends.verl" in node.module:  # imports verl
            assert importlib.util.find_spec(node.module) is not None, path
            continue
        module = importlib.import_module(node.module)
        for alias in node.names:
            there = hasattr(module, alias.name) or importlib.util.find_spec(f"{node.module}.{alias.name}") is not None
            assert there, f"{path.relative_to(ROOT)}: {node.module} has no {alias.name}"


def test_the_simulation_of_whole_experiments_runs():
    command = [sys.executable, "benchmarks/coverage.py", "--repeats", "2", "--problems", "20", "--seeds", "3"]
    done = subprocess.run([*command, "--only", "better"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.findall(r"^better, (.*?): decided [01]\.", done.stdout, re.MULTILINE) == [
        "paper's setting",
        "equal pass@1",
    ]


# ---- docs/tasks.md ----


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("tasks_of_a_user", ROOT / "benchmarks/tasks.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for its dataclasses
    spec.loader.exec_module(module)
    return module


def test_the_page_has_ten_tasks_that_the_script_reads(script):
    page = (ROOT / "docs/tasks.md").read_text()
    tasks = script.tasks(page)
    names = [task.name for task in tasks]
    assert len(set(names)) == 10 == page.count("\n| **"), names
    assert {*script.FINDS, *script.NEEDS_NOTHING} <= set(names)
    for task in tasks:
        assert {command.split()[0] for command in task.commands} <= {"rlvr", "snakemake", "sed"}, task
        line = script.row(task, "7.0 s (9.0 s CPU)", "a machine")
        assert script.tasks(line) == [task], "a row with times is read like the one before"


def test_the_edit_of_the_sweep_plans_its_arm(script, tmp_path):
    (task,) = (task for task in script.tasks((ROOT / "docs/tasks.md").read_text()) if task.name == "sweep")
    shutil.copytree(ROOT / "config", tmp_path / "config")
    before = make_plan(tmp_path, "laptop", ["ace"])
    subprocess.run(["bash", "-c", task.commands[0]], cwd=tmp_path, check=True)
    after = make_plan(tmp_path, "laptop", ["ace"])
    new = {name.partition("-lr")[0] for name in set(after.runs) - set(before.runs)}
    assert new == {"qwen2-chain-ace_grpo-alpha3.0"} and set(before.runs) <= set(after.runs)
    assert "ace_grpo-alpha-3.0" in after.papers["ace"].arms


@pytest.mark.slow
def test_tasks_are_done_in_a_clone_with_a_copy_of_results(tmp_path):
    for run, estimator in (("tiny-ace_grpo-lr1-seed1-a", "ace"), ("tiny-grpo-lr1-seed1-b", "grpo")):
        lay_run(tmp_path / "results", run, estimator)
        lay_evaluation(tmp_path / "results", run)
    files = sorted((tmp_path / "results").rglob("*"))
    command = [sys.executable, "benchmarks/tasks.py", "--results", str(tmp_path / "results")]
    some = ("--only", "show", "--only", "compare")
    done = subprocess.run([*command, *some], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()[2:]
    assert [re.findall(r"\*\*(\w+)\*\*", row)[0] for row in rows] == ["show", "compare"]
    assert all(re.search(r"\| \d+\.\d s \(\d+\.\d s CPU\) \|", row) for row in rows), rows
    assert sorted((tmp_path / "results").rglob("*")) == files
    failed = subprocess.run([*command, "--only", "export"], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert failed.returncode == 1 and "export: rlvr export shared --run tiny-ace_grpo" in failed.stderr
