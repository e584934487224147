"""TRL's real trainer takes the weights of this package: ACE, FADE, LENS, A-GRAE, and GRPO as TRL computes it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT
from test_distribution import built

from rlvr import estimators

pytestmark = pytest.mark.trl
# From the root, since its processes work elsewhere; a link into an environment is not followed.
PYTHON = os.path.abspath(ROOT / os.environ.get("RLVR_TRL_PYTHON", ".venv-bench/bin/python"))
MEMBERS = [
    ("grpo", {"std": "unbiased", "epsilon": 1e-4}, "one-update"),
    ("ace", {"alpha": 2.0}, "one-update"),
    ("ace", {"alpha": 2.0}, "two-updates"),
    ("lens", {}, "two-updates"),
    ("fade", {}, "two-updates"),
    ("a_grae", {}, "one-update"),
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The package alone, as pip installs its wheel for a user of TRL; without the engine, which no adapter needs."""
    folder = tmp_path_factory.mktemp("wheel")
    made, site = built(folder, CC="no-compiler", CXX="no-compiler"), folder / "site"
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site), str(made)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return site


def steps(
    policy: Path, scratch: Path, name: str, settings: dict, updates: str, source: Path = ROOT / "src"
) -> subprocess.CompletedProcess:
    script = str(ROOT / "tests/adapters/trl_steps.py")
    command = [PYTHON, script, str(policy), str(scratch), name, json.dumps(settings), updates]
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, timeout=600)


def result_of(done: subprocess.CompletedProcess) -> dict:
    assert done.returncode == 0, done.stderr[-3000:]
    line = next(line for line in done.stdout.splitlines() if line.startswith("RESULT "))
    return json.loads(line.removeprefix("RESULT "))


@pytest.mark.parametrize(("name", "settings", "updates"), MEMBERS, ids=str)
def test_advantages_are_the_estimators(workbench, tmp_path, name, settings, updates):
    result = result_of(steps(workbench.base.parent / "policy", tmp_path, name, settings, updates))
    assert len(result["steps"]) == 2 and result["moved"] > 0
    for step in result["steps"]:
        assert step["weights"] == pytest.approx(step["wanted"], abs=1e-4) and len(set(step["rewards"])) == 2
    assert result["logged"] == result["steps"][-1]["weights"]
    carried, read = set(result["steps"][-1]["state"]), set(estimators.kind(name).state)
    assert read <= carried and bool(carried) == bool(read)


def test_the_wheel_alone_brings_the_adapter(workbench, wheel, tmp_path):
    """Beside TRL and its torch, with nothing else of what the package declares."""
    name, settings = "ace", {"alpha": 2.0}
    result = result_of(steps(workbench.base.parent / "policy", tmp_path, name, settings, "one-update", source=wheel))
    assert Path(result["package"]).is_relative_to(wheel)
    for step in result["steps"]:
        assert step["weights"] == pytest.approx(step["wanted"], abs=1e-4) and len(set(step["rewards"])) == 2


def test_weights_that_follow_the_policy_are_refused(workbench, tmp_path):
    done = steps(workbench.base.parent / "policy", tmp_path, "pacs", {}, "one-update")
    assert done.returncode and "pacs: its weights follow the policy within a batch" in done.stderr
