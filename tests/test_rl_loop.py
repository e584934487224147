"""examples/rl_loop.py trains as the pipeline does: the same weights and the same metrics, to the bit."""

import importlib.util
import re
import subprocess
import sys

import pytest
from conftest import ROOT, without_timing
from support.runs_by_hand import changed

from rlvr import estimators
from rlvr.config.paths import Paths
from rlvr.config.registries import BACKENDS
from rlvr.policies import store
from rlvr.records import Problem, read_records
from rlvr.training.deterministic import one_thread

FILE = ROOT / "examples" / "rl_loop.py"
# Between them: with and without KL, each aggregation, a warm-up, a length penalty, one chunk per minibatch and several.
CASES = {
    "grpo": {
        "loss": {"kl_coefficient": 0.0, "aggregation": "token_mean"},
        "rl": {"warmup_steps": 3},
        "reward": {"overlong_penalty": 1.0, "overlong_buffer": 0.5},
    },
    "ace": {"loss": {"kl_coefficient": 0.1, "dual_clip": 3.0}},  # needs the reference
    "fade": {"loss": {"aggregation": "sequence_sum"}},  # has a controller
    "pacs": {},  # its weights follow the policy
    "lens in torch": {"rl": {"backend": "in_process", "sequences_per_microbatch": 4}},
}


@pytest.fixture(scope="module")
def loop():
    spec = importlib.util.spec_from_file_location("rl_loop", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_of(workbench, case: str):
    """The workbench's run with a case's estimator and settings, at a learning rate that takes it far from its base."""
    name, changes = case.split()[0], CASES[case]
    spec = changed(workbench.spec, **{**changes, "rl": {"steps": 3, "learning_rate": 2e-3, **changes.get("rl", {})}})
    return spec.model_copy(update={"estimator": {"name": name, **estimators.resolve(name, {})}})


def trained(loop, workbench, spec):
    """The rows of the example, and the policy that it trains."""
    one_thread()
    policy, reference = (BACKENDS.load(spec.rl.backend).policy(workbench.base) for _ in range(2))
    problems = read_records(workbench.folder / spec.data.name / "problems.jsonl", Problem)
    return list(loop.train(spec, policy, reference, problems)), policy


@pytest.mark.parametrize("case", CASES)
def test_the_example_is_the_pipeline_to_the_bit(loop, workbench, case, tmp_path):
    spec = run_of(workbench, case)
    workbench.train(spec, tmp_path)
    rows, policy = trained(loop, workbench, spec)
    store.save(policy, tmp_path / "example")
    for theirs, ours in zip(without_timing(tmp_path / "metrics.jsonl"), rows, strict=True):
        assert ours == {key: theirs[key] for key in ours}
        assert ours["grad_norm"] > 0 and ("estimator" in ours) == ("estimator" in theirs)
    weights = "model.safetensors"
    assert (tmp_path / "example" / weights).read_bytes() == (tmp_path / "policy-step3" / weights).read_bytes()
    assert (tmp_path / "example" / weights).read_bytes() != (workbench.base.parent / "policy" / weights).read_bytes()


def test_a_setting_that_only_the_pipeline_has_is_refused(loop, workbench):
    spec = changed(workbench.spec, rollout={"dynamic_sampling": True}, selection={"rule": "best_validation"})
    with pytest.raises(ValueError, match=r"rollout\.dynamic_sampling and selection\.rule; the pipeline can"):
        trained(loop, workbench, spec)


def test_the_command_trains_and_says_pass_at_k(loop, workbench, plan, tmp_path, capsys):
    """On files laid out as the pipeline does; it asks Snakemake for none that is there."""
    paths = Paths(str(tmp_path), "smoke")
    laid = {paths.manifest(plan, loop.policy_id(workbench.spec.base)): workbench.base.parent}
    laid |= {
        paths.problems(data): workbench.folder / data.name for data in (workbench.spec.data, workbench.spec.validation)
    }
    for name, folder in laid.items():
        place = tmp_path / name
        place.parent.parent.mkdir(parents=True, exist_ok=True)
        place.parent.symlink_to(folder)
    loop.main("ace", ["alpha=2"], 2, "smoke", str(tmp_path))
    before, *steps, after = capsys.readouterr().out.splitlines()
    shares = re.compile(r"pass@1 +[\d.]+ %  pass@4 +[\d.]+ %  pass@16 +[\d.]+ %$")
    assert shares.search(before) and shares.search(after) and after.startswith("after 2 steps:")
    assert [line.split("]")[1].split()[0] for line in steps] == ["1/2", "2/2"]


def test_a_mistake_is_one_line():
    command = [sys.executable, str(FILE), "--estimator", "gpro"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "rl_loop.py: unknown method 'gpro'; did you mean 'grpo'?\n")


@pytest.mark.parametrize(
    ("scale", "setting", "message"),
    [
        ("smoke", "alpa=2", "alpa: ace has no such setting; did you mean 'alpha'?"),
        ("smok", "alpha=2", "config/scale/smok.yaml: no such file; did you mean 'smoke'?"),
    ],
)
def test_a_mistake_names_what_is_near(loop, scale, setting, message):
    with pytest.raises((ValueError, loop.ConfigError)) as raised:
        loop.prepare(scale, "ace", [setting], 1, "results/smoke")
    assert str(raised.value) == message
