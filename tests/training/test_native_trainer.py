"""A run by the native engine against the same run by torch; how it stops."""

from pathlib import Path

import pytest
import torch
from support.runs_by_hand import changed

from rlvr import estimators
from rlvr.config.registries import BACKENDS
from rlvr.config.schema.settings import Critic, Selection
from rlvr.files import read_json
from rlvr.policies.errors import NonFinite
from rlvr.policies.native import library
from rlvr.policies.store import publish_manifest, save
from rlvr.records import Problem, read_records
from rlvr.training.checkpoint import Checkpoints
from rlvr.training.trainer import Trainer

MAPPED = Path("/proc/self/maps")
RUNS = {
    "GRPO": {},
    "DAPO": {"rollout": {"dynamic_sampling": True}, "loss": {"kl_coefficient": 0.0, "aggregation": "token_mean"}},
    "GSPO": {"loss": {"ratio": "sequence"}},
    "PACS": {"estimator": {"name": "pacs"}, "rl": {"reference_reset": 2}},
    "PACS as released": {
        "estimator": {"name": "pacs"},
        "rl": {"reference_reset": 1, "reference_reset_moments": False, "max_grad_norm": None},
    },
    "PPO": {
        "estimator": {"name": "reinforce"},
        "critic": {"learning_rate": 2e-3, "lam": 0.9, "gamma": 0.99, "warmup": 1},
        "loss": {"aggregation": "token_mean", "kl_coefficient": 0.0},
    },
    "ACE, warm-up": {"estimator": {"name": "ace"}, "rl": {"warmup_steps": 3, "weight_decay": 0.1}},
}


@pytest.fixture(params=RUNS)
def spec(request, workbench):
    """Larger steps than the smoke scale's, so that a wrong one is far off."""
    changes = {"rl": {}, "estimator": {"name": "grpo"}, **RUNS[request.param]}
    name, critic = changes.pop("estimator")["name"], changes.pop("critic", None)
    sizes = {"prompts_per_step": 8, "prompts_per_minibatch": 4, "learning_rate": 1e-3}
    spec = changed(workbench.spec, **{**changes, "rl": {**sizes, **changes["rl"]}})
    beside = {"critic": Critic(**critic)} if critic else {}
    return spec.model_copy(update={"estimator": {"name": name, **estimators.resolve(name, {})}, **beside})


def numbers(value) -> list:
    """The leaves of a row's entry."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in numbers(value[key])]
    return [leaf for part in value for leaf in numbers(part)] if isinstance(value, list) else [value]


def trainer(workbench, spec, backend):
    module = BACKENDS.load(backend)
    problems = read_records(workbench.folder / spec.data.name / "problems.jsonl", Problem)
    return Trainer(spec, module.policy(workbench.base), module.policy(workbench.base), problems, problems[:6])


@pytest.mark.parametrize("backend", ["native", "in_process"])
def test_a_run_that_goes_on_does_not_hold_its_checkpoint(workbench, spec, backend, tmp_path):
    """The file is mapped only while it is read: what the run keeps of it, it has copied."""
    best = {"probe": {"every": 1, "keep_weights": True}}
    spec = changed(spec, **best).model_copy(update={"selection": Selection(rule="best_validation")})
    first, second = (trainer(workbench, spec, backend) for _ in range(2))
    first.advance()
    first.probe_if_due()
    checkpoints = Checkpoints(tmp_path, {"run": "mapped"})
    with checkpoints.lease():
        tensors = checkpoints.save(first.snapshot()) / "tensors.pt"
        snapshot = checkpoints.latest()
        assert str(tensors) in MAPPED.read_text()
        second.restore(snapshot)
        del snapshot
    assert second.best is not None and second.kept
    assert str(tensors) not in MAPPED.read_text()


def test_it_takes_the_steps_of_torch(workbench, spec):
    """The same rollouts for some steps, and with them losses, measures, weights and probes up to rounding."""
    ours, theirs = (trainer(workbench, spec, backend) for backend in ("native", "in_process"))
    start = {name: tensor.clone() for name, tensor in ours.model.state_dict().items()}
    with ours.verifier, theirs.verifier:
        for _ in range(4):
            one, other = ours.advance(), theirs.advance()
            assert one.keys() == other.keys() and one["statuses"] == other["statuses"]
            for key in one.keys() - {"timing", "statuses", "logprob_gap"}:
                for a, b in zip(numbers(one[key]), numbers(other[key]), strict=True):
                    assert a == (b if b is None else pytest.approx(b, rel=2e-3, abs=2e-5)), key
            assert one["logprob_gap"] in (None, 0.0)
        ours.probe()
        theirs.probe()
    assert ours.probes[-1]["pass_rate"] == theirs.probes[-1]["pass_rate"]
    expected = theirs.model.state_dict()
    for name, tensor in ours.model.state_dict().items():
        moved = (expected[name] - start[name]).norm()
        # A critic's rounding enters the weights; scores against the policy that sampled start at rounding.
        bound = 5e-3 if spec.critic or spec.rl.reference_reset == 1 else 2e-3
        assert moved > 0 and (tensor - expected[name]).norm() < bound * moved, name


def test_a_checkpoint_carries_all_that_a_run_has(workbench, spec, tmp_path):
    """Six steps are three steps, a checkpoint on disk, and three steps: to the bit, references and critics included.

    A reference that is reset every two steps is neither the base policy nor the checkpoint's policy after three, and
    it is reset again on the way.
    """
    whole, first, second = (trainer(workbench, spec, "native") for _ in range(3))
    checkpoints = Checkpoints(tmp_path, {"run": "checkpoint"})
    with whole.verifier, first.verifier, second.verifier:
        expected = [whole.advance() for _ in range(6)][3:]
        with checkpoints.lease():
            for _ in range(3):
                first.advance()
            checkpoints.save(first.snapshot())
            second.restore(checkpoints.latest())
        found = [second.advance() for _ in range(3)]
        assert torch.equal(second.reference_model.flat, whole.reference_model.flat)
    assert [{**row, "timing": None} for row in found] == [{**row, "timing": None} for row in expected]
    assert torch.equal(second.model.flat, whole.model.flat)
    if spec.critic is not None:
        assert torch.equal(second.critic.model.flat, whole.critic.model.flat)


def test_in_its_warm_up_the_critic_learns_alone(workbench):
    changes = {"critic": Critic(learning_rate=2e-3, warmup=2), "estimator": {"name": "reinforce"}}
    made = trainer(workbench, workbench.spec.model_copy(update=changes), "native")
    start, value_head = made.model.flat.clone(), made.critic.model.flat.clone()
    with made.verifier:
        for _ in range(2):
            made.advance()
            assert torch.equal(made.model.flat, start)
        made.advance()
    assert not torch.equal(made.model.flat, start) and not torch.equal(made.critic.model.flat, value_head)


def test_weights_that_are_not_finite_end_the_run_with_its_step(workbench):
    made = trainer(workbench, workbench.spec, "native")
    with torch.no_grad():
        made.model.flat[5] = float("nan")
    with made.verifier, pytest.raises(NonFinite, match="step 1: the policy's distribution over tokens is not finite"):
        made.advance()


def test_a_model_that_the_engine_does_not_compute_and_a_missing_engine_are_one_line(workbench, tmp_path, monkeypatch):
    policy = BACKENDS.load("in_process").policy(workbench.base)
    policy.model.config.hidden_act = "gelu"
    sums = save(policy, tmp_path / "policy")
    publish_manifest(tmp_path / "manifest.json", tmp_path / "policy", sums, policy.template)
    assert read_json(tmp_path / "manifest.json")["policy"] == "policy"
    with pytest.raises(SystemExit, match="the backend native: hidden_act: 'gelu'"):
        BACKENDS.load("native").policy(tmp_path / "manifest.json")
    monkeypatch.setattr(library, "missing", lambda: "it is elsewhere")
    library.library.cache_clear()
    with pytest.raises(SystemExit, match="the native engine: it is elsewhere"):
        BACKENDS.load("native").origin()
    monkeypatch.undo()
    library.library.cache_clear()
