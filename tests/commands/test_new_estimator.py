"""A new estimator is one file and one line of configuration: the laws, the command and a run pick it up."""

import json
import os
import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest
from conftest import ROOT

pytestmark = [pytest.mark.chain, pytest.mark.slow]

FILE = '''"""A cubic weight, made up for a test."""

from torch import Tensor

from rlvr.estimators import _groups


def advantages(rewards_PG: Tensor, *, power: float = 3.0) -> Tensor:
    """Cubic focus (a test): A = (r - mean(r)) (1 - mean(r))^power."""
    return _groups.centred(rewards_PG) * (1 - _groups.mean(rewards_PG)).clamp(min=0) ** power


def masses(p: Tensor, rollouts: int, *, power: float) -> tuple[Tensor, Tensor]:
    """m_S = m_F = p q^(1 + power)"""
    mass = p * (1 - p) ** (1 + power)
    return mass, mass
'''
LINE = "  cubic: {label: Cubic, settings: {estimator: {name: cubic, power: 2.0}}}\n"


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copy") / "project"
    left_out = shutil.ignore_patterns(".git", "results", ".venv*", ".snakemake")
    shutil.copytree(ROOT, folder, ignore=left_out)
    (folder / "src/rlvr/estimators/cubic.py").write_text(FILE)
    arms = folder / "config/papers/methods/paper.yaml"
    arms.write_text(arms.read_text().replace("arms:\n", "arms:\n" + LINE, 1))
    return folder


def call(copy, *command: str, **options) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=900, **options)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_the_laws_are_held_to_it(copy):
    tests = ("tests/estimators", "tests/config/test_config.py", "-k", "cubic or comparison")
    out = call(copy, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", *tests)
    for law in ("finite_on_every", "permuting", "masses_are", "expected_gradient_is", "float32", "every_estimator"):
        assert re.search(rf"PASSED tests/estimators/test_\w+\.py::test_{law}", out), law


def test_the_command_knows_it(copy):
    out = call(
        copy, sys.executable, "-m", "rlvr", "weigh", "cubic", "--set", "power=1", input='{"rewards": [[1, 0]]}\n'
    )
    assert json.loads(out)["weights"] == [[0.25, -0.25]]
    assert "cubic: Cubic focus (a test)" in call(copy, sys.executable, "-m", "rlvr", "weigh", "--list")


def test_a_run_is_made_with_it_and_it_alone(copy, tmp_path):
    target = tmp_path / "papers/smoke/methods/arms/cubic.csv"
    config = ("--config", "scale=smoke", "papers=methods", f"results={tmp_path}")
    call(
        copy,
        sys.executable,
        "-m",
        "snakemake",
        "--profile",
        "workflow/profiles/smoke",
        *config,
        "--cores",
        "2",
        "--",
        str(target),
    )
    frame = pd.read_csv(target)
    frame = frame[frame["arm"] != "blind"]
    own = frame["policies"].str.split().explode()
    assert len(frame) and own.str.contains("-cubic-power2.0-").all() and set(frame["compare_with"]) == {"grpo"}
    assert pd.read_csv(target.with_name("cubic-counts.csv"))["policy"].str.contains("-cubic-power2.0-").all()
    runs = [run.name for run in (tmp_path / "runs").iterdir()]
    assert all("-cubic-" in run or "-grpo-" in run for run in runs) and sum("-cubic-" in run for run in runs) == 2


def test_the_command_writes_one_that_holds_the_laws_and_can_be_ranked(copy):
    """Three files, to be changed: a formula, an arm, a test; a league plans it beside five others."""
    shown = call(copy, sys.executable, "-m", "rlvr", "new-estimator", "my_weight")
    assert shown.splitlines()[:3] == [
        "src/rlvr/estimators/my_weight.py",
        "tests/estimators/test_my_weight.py",
        "config/papers/methods/paper.yaml",
    ]
    tests = ("tests/estimators", "-k", "my_weight")
    out = call(copy, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", *tests)
    assert "PASSED tests/estimators/test_my_weight.py::test_my_weight_by_hand" in out
    assert re.search(r"PASSED tests/estimators/test_\w+\.py::test_masses\w+\[\S*my_weight", out)
    league = ("-n", "--cores", "1", "--config", "scale=smoke", "mine=my_weight", "--", "league")
    planned = call(copy, sys.executable, "-m", "snakemake", *league)
    assert "results/report/smoke/mine.html" in planned
    runs = set(re.findall(r"results/runs/(\S+?)/manifest.json", planned))
    assert len(runs) == 6 * 2 * 2, "six methods, two seeds, two rates"
    assert len([run for run in runs if "my_weight" in run]) == 4
    again = subprocess.run(
        [sys.executable, "-m", "rlvr", "new-estimator", "my_weight"],
        cwd=copy, env={**os.environ, "PYTHONPATH": str(copy / "src")}, capture_output=True, text=True,
    )  # fmt: skip
    assert again.returncode == 2 and "exists already" in again.stderr
