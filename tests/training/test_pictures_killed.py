"""A picture run as the rules start it: killed and resumed, it is the uninterrupted run, to the bit."""

import json
import os
import signal
import subprocess
import sys

import pytest
from conftest import ROOT, Workbench, without_timing
from support.runs_by_hand import changed, same_results

from rlvr.data import prepare
from rlvr.files import read_json
from rlvr.planning.expansion import make_plan
from rlvr.policies import store
from rlvr.policies.sources.scratch import scratch_policy
from rlvr.records import Demonstration, read_records, with_paths
from rlvr.training import sft
from rlvr.training.checkpoint import Checkpoints
from rlvr.training.progress import Saves

pytestmark = pytest.mark.slow

STEPS = 5


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """The inputs of a run of A-GRAE on diagrams, at the smoke scale, after a short SFT."""
    plan, folder = make_plan(ROOT, "smoke", ["agrae"]), tmp_path_factory.mktemp("pictured")
    item = plan.papers["agrae"].tables["table3_core"]
    runs = [plan.runs[policy] for policy in item.policies() if policy in plan.runs]
    spec = next(run for run in runs if run.estimator["name"] == "a_grae")
    for data in (spec.data, spec.validation, spec.base.sft_data):
        prepare.make(data, folder / data.name)
    path = folder / spec.base.sft_data.name / "demonstrations.jsonl"
    policy, shown = scratch_policy(spec.base.model), with_paths(path, read_records(path, Demonstration))
    sft.train(policy, spec.base.sft, shown, Checkpoints(folder / "state", {}), Saves(100, 20))
    sums = store.save(policy, folder / "policy")
    store.publish_manifest(folder / "manifest.json", folder / "policy", sums, policy.template)
    spec = changed(spec, rl={"steps": STEPS}, probe={"every": 2, "dense_steps": 0})
    return Workbench(folder, spec, folder / "manifest.json", next(iter(plan.executions.values())))


def killed(bench, out, step):
    """Starts the run, and kills it once it has reported a step."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "rlvr.training.rl", *bench.command(bench.spec, out, save_every=2)]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{") and json.loads(line)["step"] >= step:
            break
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert not (out / "manifest.json").exists()


def test_a_kill_changes_nothing(bench, tmp_path):
    bench.train(bench.spec, tmp_path / "whole")
    killed(bench, tmp_path / "killed", step=3)
    bench.train(bench.spec, tmp_path / "killed", save_every=2)
    same_results(tmp_path / "whole", tmp_path / "killed", steps=STEPS)
    assert read_json(tmp_path / "killed" / "manifest.json")["resumed_from"] >= 2
    saved = {path.name for path in (tmp_path / "killed" / f"policy-step{STEPS}").iterdir()}
    assert "preprocessor_config.json" in saved
    rows = without_timing(tmp_path / "whole" / "metrics.jsonl")
    assert any(row["grad_norm"] > 0 for row in rows), "it learns"
