"""Rewards of which a share is turned round: the control that must lose."""

import pytest
import torch
from support.runs_by_hand import changed

from rlvr.config.registries import BACKENDS
from rlvr.records import Problem, read_records
from rlvr.training.checkpoint import Checkpoints
from rlvr.training.rollouts import flip_key, flipped
from rlvr.training.trainer import Trainer

KEYS = [flip_key(seed, step, f"p{i}") for seed in (1, 2) for step in (1, 2) for i in range(250)]


def turned(keys: list, *, share: float = 0.15, rollouts: int = 8, first: int = 0) -> torch.Tensor:
    return flipped(torch.zeros(len(keys), rollouts), share, keys, first)


def test_the_share_is_turned_round_and_both_ways():
    assert len(set(KEYS)) == 1000
    found = turned(KEYS)
    assert found.mean().item() == pytest.approx(0.15, abs=3 * (0.15 * 0.85 / 8000) ** 0.5)
    assert torch.equal(flipped(torch.ones(1000, 8), 0.15, KEYS), 1 - found)
    assert torch.equal(turned(KEYS, share=0.0), torch.zeros(1000, 8)) and turned(KEYS, share=1.0).all()


def test_each_rollout_is_turned_by_itself_and_the_same_again():
    """Neither other prompts, nor their order, nor the size of the group, nor a part of it change a rollout."""
    found = turned(KEYS)
    assert torch.equal(turned(KEYS[::-1]), found.flip(0)) and torch.equal(turned(KEYS[7:9]), found[7:9])
    assert torch.equal(turned(KEYS, rollouts=4), found[:, :4])
    assert torch.equal(turned(KEYS, rollouts=1, first=5), found[:, 5:6])
    assert len(found.unique(dim=0)) > 100  # of 256 rows that there are


def test_seed_step_and_problem_each_change_what_is_turned():
    base = turned([flip_key(1, 1, "a")], rollouts=64)
    for key in (flip_key(2, 1, "a"), flip_key(1, 2, "a"), flip_key(1, 1, "b")):
        assert not torch.equal(turned([key], rollouts=64), base)


def test_a_run_learns_from_turned_verdicts_and_measures_true_ones(workbench, tmp_path):
    """Also after it was restored, and whatever its minibatches are."""
    problems = read_records(workbench.folder / workbench.spec.data.name / "problems.jsonl", Problem)

    def trainer(prompts_per_minibatch: int, backend: str = "in_process") -> Trainer:
        rl = {"prompts_per_minibatch": prompts_per_minibatch}
        spec = changed(workbench.spec, reward={"flipped": 0.4}, rl=rl)
        policy = BACKENDS.load(backend).policy
        return Trainer(spec, policy(workbench.base), policy(workbench.base), problems, problems[:6])

    sizes = workbench.spec.rl.prompts_per_step, 1
    (first, other), again = (trainer(size) for size in sizes), trainer(sizes[0])
    batch, same, native = (t.gather().batch for t in (first, other, trainer(1, "native")))
    turned = batch.rewards_PG != batch.correct_PG
    assert 0.2 < turned.float().mean() < 0.6 and torch.equal(batch.rewards_PG, same.rewards_PG)
    assert torch.equal(native.rewards_PG != native.correct_PG, turned)
    row = first.advance()
    assert row["pass_rate"] == pytest.approx(float(batch.correct_PG.mean()))
    assert row["reward"] == pytest.approx(float(batch.rewards_PG.mean())) != row["pass_rate"]
    checkpoints = Checkpoints(tmp_path, {"run": "flipped"})
    with checkpoints.lease():
        checkpoints.save(first.snapshot())
        again.restore(checkpoints.latest())
    second = first.gather().batch
    assert torch.equal(again.gather().batch.rewards_PG, second.rewards_PG)
    assert not torch.equal((second.rewards_PG != second.correct_PG), turned)
