"""A new estimator is one file and one line of configuration: the laws, the command and a run pick it up."""

import json
import os
import re
import subprocess
import sys

import pandas as pd
import pytest
from conftest import whole_copy

pytestmark = [pytest.mark.chain, pytest.mark.slow]


def call(copy, *words: str, check: bool = True, **options) -> subprocess.CompletedProcess:
    """A module of Python in the copy."""
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "OMP_NUM_THREADS": "1"}
    command, options = [sys.executable, "-m", *words], {"cwd": copy, "env": environment, "timeout": 900, **options}
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert not check or done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the project, where the command wrote three files: a formula, an arm, a test."""
    folder = whole_copy(tmp_path_factory.mktemp("copy") / "project")
    shown = call(folder, "rlvr", "new-estimator", "my_weight").stdout
    assert shown.splitlines()[:3] == [
        "src/rlvr/estimators/my_weight.py",
        "tests/estimators/test_my_weight.py",
        "config/papers/methods/paper.yaml",
    ]
    return folder


def test_the_laws_are_held_to_it(copy):
    tests = ("tests/estimators", "tests/config/test_config.py", "-k", "my_weight or comparison")
    out = call(copy, "pytest", "-q", "-p", "no:cacheprovider", "-rA", *tests).stdout
    for law in ("finite_on_every", "permuting", "masses_are", "expected_gradient_is", "float32", "every_estimator"):
        assert re.search(rf"PASSED tests/estimators/test_\w+\.py::test_{law}", out), law
    assert "PASSED tests/estimators/test_my_weight.py::test_my_weight_by_hand" in out
    assert re.search(r"PASSED tests/estimators/test_\w+\.py::test_masses\w+\[\S*my_weight", out)


def test_the_command_knows_it(copy):
    out = call(copy, "rlvr", "weigh", "my_weight", "--set", "alpha=1", input='{"rewards": [[1, 0]]}\n').stdout
    assert json.loads(out)["weights"] == [[0.25, -0.25]]
    assert "my_weight: my weight (paper, equation)" in call(copy, "rlvr", "weigh", "--list").stdout
    again = call(copy, "rlvr", "new-estimator", "my_weight", check=False)
    assert again.returncode == 2 and "exists already" in again.stderr


def test_a_run_is_made_with_it_and_it_alone(copy, tmp_path):
    target = tmp_path / "papers/smoke/methods/arms/my_weight.csv"
    config = ("--config", "scale=smoke", "papers=methods", f"results={tmp_path}")
    call(copy, "snakemake", "--profile", "workflow/profiles/smoke", *config, "--cores", "2", "--", str(target))
    frame = pd.read_csv(target)
    frame = frame[frame["arm"] != "blind"]
    own = frame["policies"].str.split().explode()
    assert len(frame) and own.str.contains("-my_weight-").all() and set(frame["compare_with"]) == {"grpo"}
    assert pd.read_csv(target.with_name("my_weight-counts.csv"))["policy"].str.contains("-my_weight-").all()
    runs = [run.name for run in (tmp_path / "runs").iterdir()]
    assert all("-my_weight-" in run or "-grpo-" in run for run in runs)
    assert sum("-my_weight-" in run for run in runs) == 2


def test_a_league_plans_it_beside_five_others(copy):
    league = ("-n", "--cores", "1", "--config", "scale=smoke", "mine=my_weight", "--", "league")
    planned = call(copy, "snakemake", *league).stdout
    assert "results/report/smoke/mine.html" in planned
    runs = set(re.findall(r"results/runs/(\S+?)/manifest.json", planned))
    assert len(runs) == 6 * 2 * 2, "six methods, two seeds, two rates"
    assert len([run for run in runs if "my_weight" in run]) == 4
