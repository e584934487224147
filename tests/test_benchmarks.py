"""`benchmarks/run.py` runs, part by part, at smoke scale; `benchmarks/tasks.py` does the tasks of docs/tasks.md."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT
from support.kept_by_hand import lay_evaluation, lay_run
from support.scripts import benchmark

from rlvr.planning.expansion import make_plan
from rlvr.policies.native import library

BENCH_PYTHON = os.path.abspath(ROOT / os.environ.get("RLVR_TRL_PYTHON", ".venv-bench/bin/python"))
MOST, LEAST = "at_most", "at_least"
TRL_GOAL = 12 if [path for path in library.built()[:1] if path.name.startswith("engine_v4")] else 10
PARTS = {  # each part's figures: unit, goal, and whether it is judged
    "commands": {
        "plan_paper": ("CPU s", (MOST, 4), False),
        "plan_papers": ("CPU s", (MOST, 7), False),
        "plan_table": ("CPU s", (MOST, 2.5), False),
        "plan_trivial": ("CPU s", None, False),
        "snakemake_start": ("CPU s", None, False),
        "snakemake_share": ("share", None, True),
        "claims": ("CPU s", None, False),
        "theory": ("CPU s", (MOST, 60), False),
    },
    "judging": {
        "integers_repeated": ("1/s", (LEAST, 100_000), False),
        "integers_distinct": ("1/s", (LEAST, 100_000), False),
        "math_verify_over_pool": ("times", (LEAST, 2), True),
        "programs_one": ("1/s", None, False),
        "programs_two": ("1/s", (LEAST, 100), False),
        "bubblewrap": ("1/s", None, False),
        "bubblewrap_over_pool": ("times", None, True),
        "intervals": ("CPU s", (MOST, 5), False),
        "verifier_share": ("share", (MOST, 0.15), True),
        "verifier_share_clock": ("share", (MOST, 0.15), False),
    },
    "policies": {
        "evaluation_native": ("CPU s", None, False),
        "evaluation_ratio": ("times", (LEAST, 4), True),
        "evaluation_equal": ("share", (LEAST, 1), False),
        "evaluation_576_native": ("CPU s", None, False),
        "evaluation_576_ratio": ("times", None, True),
        "generate": ("CPU s", (MOST, 1), False),
        "run": ("CPU s", None, False),
        "run_clock": ("s", None, False),
        "run_beyond_steps": ("share", (MOST, 0.1), True),
        "step_native_float32": ("CPU s", None, False),
        "step_in_process_float32": ("CPU s", None, False),
        "in_process_over_native": ("times", None, True),
        "products_share": ("share", (LEAST, 0.65), True),
        "products_rate": ("GFLOP/s", None, False),
        "step_in_process_bfloat16": ("CPU s", None, False),
    },
    "weights": {"weights_slowest": ("CPU ms", (MOST, 5), False), "weights_grpo": ("CPU ms", None, False)},
}
BESIDE = {  # where TRL and verl are
    "policies": {
        "step_trl_float32": ("CPU s", None, False),
        "trl_over_native_float32": ("times", (LEAST, TRL_GOAL), True),
        "trl_over_in_process_float32": ("times", (LEAST, 3.5), True),
        "step_trl_bfloat16": ("CPU s", None, False),
        "trl_over_in_process_bfloat16": ("times", (LEAST, 2.5), True),
    },
    "weights": {
        "verl_over_grpo": ("times", (LEAST, 100), True),
        "verl_vectorized_over_grpo": ("times", None, True),
        "verl_difference": ("", (MOST, 0), False),
    },
}


@pytest.fixture(scope="module")
def load():
    """A script of benchmarks/ as a module."""

    def module(name: str):
        spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", ROOT / f"benchmarks/{name}.py")
        assert spec and spec.loader
        made = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = made  # for its dataclasses
        spec.loader.exec_module(made)
        return made

    return module


# ---- benchmarks/run.py ----


def test_every_part_is_run_here():
    assert {path.stem for path in (ROOT / "benchmarks/parts").glob("*.py")} == {*PARTS}


def bench(folder, part: str, *options: str) -> subprocess.CompletedProcess[str]:
    places = ("--out", str(folder / "last"), "--baselines", str(folder / "committed"))
    command = [sys.executable, "benchmarks/run.py", "--smoke", "--only", part, *places, *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)


def figures_of(file, part: str) -> dict:
    (found,) = file.glob("*-smoke.json")
    return {figure["name"]: figure for figure in json.loads(found.read_text())["parts"][part]["figures"]}


def lay_committed(load, folder, part: str, expected: dict, unbeatable: list[str]) -> None:
    """Committed ratios that any measurement beats, but for some that none does; no absolute figure is beaten."""
    comparison, easy, hard = load("comparison"), 1e-6, 1e6
    figures = []
    for name, (unit, goal, judged) in expected.items():
        at_most = bool(goal) and goal[0] == MOST
        value = hard if (name in unbeatable or not judged) != at_most else easy
        figures.append(comparison.Figure(name, value, unit, "", judged=judged))
    origin = {"date": "2026-01-01", "commit": "abc", "torch": "0"}
    content = {part: comparison.part(figures, origin)}
    comparison.write(folder / "committed" / f"{comparison.kind_here()}-smoke.json", content)


def check_table(printed: str, figures: dict, expected: dict) -> None:
    """Each figure has its row, unit and goal, in the table and in the file."""
    rows = {
        row[0]: row[1:]
        for row in re.findall(r"^\| `(\w+)`: .*? \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", printed, re.M)
    }
    assert {*rows} == {*figures} == {*expected}
    for name, (unit, goal, judged) in expected.items():
        figure, (measured, wanted, _, _) = figures[name], rows[name]
        direction, value = goal or (None, None)
        assert (figure["unit"], figure["judged"], figure["value"] >= 0) == (unit, judged, True), figure
        assert {key: figure[key] for key in (MOST, LEAST)} == {MOST: None, LEAST: None} | (
            {direction: value} if goal else {}
        )
        assert measured.endswith({"share": " %", "": "0"}.get(unit, f" {unit}")), measured
        words = f"{(direction or '').replace('_', ' ')} .*: (reached|\\*\\*falls short\\*\\*)"
        assert re.fullmatch(words if goal else "", wanted), wanted


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_a_part_fails_where_its_ratios_fell_and_only_there(load, tmp_path, part):
    """Without TRL and verl."""
    expected = PARTS[part]
    fallen = [name for name, (_, _, judged) in expected.items() if judged][::2]
    if fallen:
        lay_committed(load, tmp_path, part, expected, fallen)
    done = bench(tmp_path, part)
    named = re.search(r"more than the scatter: (.*)$", done.stderr, re.MULTILINE)
    words = sorted(named[1].split(", ")) if named else []
    assert (done.returncode, words) == (1 if fallen else 0, sorted(fallen)), done.stdout[-2000:] + done.stderr[-3000:]
    figures = figures_of(tmp_path / "last", part)
    check_table(done.stdout, figures, expected)
    if fallen:
        assert re.findall(r"^\| `(\w+)`.*, worse\*\* \|$", done.stdout, re.MULTILINE) == [
            n for n in figures if n in fallen
        ]
        assert re.search(r"^committed figures of \w+, .*: 2026-01-01, commit abc", done.stdout, re.MULTILINE)
    else:
        assert "none, so nothing is judged" in done.stdout
    kept = bench(tmp_path, part, "--keep")
    assert kept.returncode == 0 and figures_of(tmp_path / "committed", part) == figures, kept.stderr


@pytest.mark.trl
@pytest.mark.parametrize("part", BESIDE)
def test_a_part_beside_trl_and_verl(load, tmp_path, part):
    expected, fallen = PARTS[part] | BESIDE[part], [name for name, row in BESIDE[part].items() if row[2]][:1]
    lay_committed(load, tmp_path, part, expected, fallen)
    done = bench(tmp_path, part, "--python", BENCH_PYTHON)
    assert done.returncode == 1 and done.stderr.endswith(f"more than the scatter: {fallen[0]}\n"), done.stderr[-3000:]
    check_table(done.stdout, figures_of(tmp_path / "last", part), expected)


def test_a_committed_figure_that_is_not_measured_is_named(load, tmp_path):
    lay_committed(load, tmp_path, "weights", BESIDE["weights"], [])
    done = bench(tmp_path, "weights")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "committed, but not measured here: verl_difference, verl_over_grpo, verl_vectorized_over_grpo" in done.stdout


def test_nothing_is_kept_that_was_not_measured(tmp_path):
    done = bench(tmp_path, "weights", "--keep")
    assert done.returncode == 1 and "has no figures of weights: measure them first" in done.stderr


@pytest.mark.parametrize(
    ("value", "committed", "direction", "fell"),
    [
        (10.0, 10.0, {}, False),
        (8.6, 10.0, {}, False),
        (8.4, 10.0, {}, True),
        (99.0, 10.0, {"at_least": 4.0}, False),
        (8.4, 10.0, {"at_least": 4.0}, True),  # worse, also where it still reaches its goal
        (0.11, 0.10, {"at_most": 0.15}, False),
        (0.12, 0.10, {"at_most": 0.15}, True),
        (0.01, 0.10, {"at_most": 0.15}, False),
    ],
)
def test_a_ratio_fell_if_it_is_worse_by_more_than_the_scatter(load, value, committed, direction, fell):
    figure = load("comparison").Figure
    assert figure("f", value, "times", "", judged=True, **direction).fell(committed) is fell
    assert figure("f", value, "CPU s", "", **direction).fell(committed) is False, "absolute figures are not judged"


def test_a_figure_of_zero_that_is_not_judged_did_not_fall(load):
    figure = load("comparison").Figure("f", 0.0, "", "", at_most=0.0)
    assert figure.fell(0.0) is False and figure.change(0.0) == 0.0 and figure.met


def test_what_cannot_be_judged_is_no_judged_figure(load):
    figure = load("comparison").Figure
    for value, unit in ((float("nan"), "times"), (0.0, "share"), (1.0, "CPU s")):
        with pytest.raises(ValueError, match="f is"):
            figure("f", value, unit, "", judged=True)


@pytest.mark.parametrize(
    ("processor", "kind"),
    [
        ("AMD EPYC", "amd-epyc-v3"),
        ("AMD EPYC 9R14 96-Core Processor", "amd-epyc-9r14-v3"),
        ("Intel(R) Xeon(R) CPU @ 2.30GHz", "intel-xeon-v3"),
        ("Intel(R) Xeon(R) Platinum 8488C", "intel-xeon-platinum-8488c-v3"),
        ("aarch64", "aarch64-v3"),
    ],
)
def test_a_kind_of_machine_is_its_processor_and_the_level_of_the_engine(load, processor, kind):
    assert load("comparison").kind_of(processor, "v3") == kind


def test_committed_figures_are_whole_and_of_a_commit():
    files = list((ROOT / "benchmarks/baselines").glob("*"))
    assert files and not [file for file in files if "smoke" in file.name]
    for file in files:
        content = json.loads(file.read_text())
        assert content["kind"] == file.stem
        for part, measured in content["parts"].items():
            names = {figure["name"] for figure in measured["figures"]}
            assert names == {*PARTS[part], *BESIDE.get(part, {})}, f"{file.name}, {part}: run make bench again"
            assert re.fullmatch(r"[0-9a-f]{12}", measured["commit"]), measured["commit"]
            assert re.fullmatch(r"\d{4}-\d\d-\d\d", measured["date"]) and measured["torch"] and measured["machine"]
        assert {*content["parts"]} == {*PARTS}, file.name


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


def test_at_equal_pass_1_the_baseline_at_another_rate_rarely_differs_and_a_better_method_does():
    """40 experiments each: a rate of errors of 5 % is at most 15 % in all but one of a thousand."""
    command = [sys.executable, "benchmarks/coverage.py", "--repeats", "40", "--only", "50 steps"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    pattern = r"; (.*?), steps x .*?: below (.*?)%, above (.*?)%; mean (.*?) "
    rows = [(name, *map(float, of)) for name, *of in re.findall(pattern, done.stdout)]
    assert [name for name, *_ in rows] == ["the baseline"] * 6 + [f"better by {gain}" for gain in (1, 2, 3)]
    for name, below, above, mean in rows:
        if name == "the baseline":
            assert below + above <= 15 and abs(mean) < 0.1, done.stdout
        else:
            assert above >= 90 and below == 0, done.stdout


# ---- benchmarks/placebos.py ----


def test_a_method_that_is_its_own_placebo_is_seldom_decided():
    command = [sys.executable, "benchmarks/placebos.py", "--cores", "100"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    *rows, of_all = done.stdout.splitlines()
    undecided = [float(re.search(r"undecided (\d\.\d+)", row)[1]) for row in rows]
    assert {row.partition(",")[0] for row in rows} == {"ACE", "LENS", "A-GRAE", "FADE", "PACS"}
    assert (
        min(undecided) > 0.85
        and np.mean(undecided) > 0.93
        and of_all.startswith(f"{len(rows)} rows: undecided {np.mean(undecided):.3f}")
    )


# ---- docs/tasks.md ----


@pytest.fixture(scope="module")
def script():
    return benchmark("tasks")


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
