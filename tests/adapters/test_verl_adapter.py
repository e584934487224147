"""The estimators in the registry of the real verl: its `compute_advantage` gives their weights."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch
from conftest import ROOT

from rlvr.estimators import Estimator, inputs_of_step, names

pytestmark = pytest.mark.verl
COUPLED = {name for name in names() if Estimator(name).coupled}


def batch(seed: int):
    """Four prompts of four responses, and two rows of padding, as verl's trainer has them."""
    import numpy as np
    from tensordict import TensorDict
    from verl import DataProto

    generator = torch.Generator().manual_seed(seed)
    lengths = torch.cat([torch.randint(2, 7, (16,), generator=generator), torch.zeros(2, dtype=torch.long)])
    mask = (torch.arange(6) < lengths[:, None]).float()
    rewards = (torch.rand(18, generator=generator) < 0.5).float() * (lengths > 0)
    old = -torch.rand(18, 6, generator=generator) * mask
    reference = (old + 0.1 * torch.randn(18, 6, generator=generator)) * mask
    scores = torch.nn.functional.one_hot((lengths - 1).clamp(min=0), 6) * rewards[:, None]
    content = {"response_mask": mask, "token_level_rewards": scores, "old_log_probs": old, "ref_log_prob": reference}
    uids = np.array([f"p{i // 4}" for i in range(16)] + ["pad0", "pad1"], dtype=object)
    return DataProto(batch=TensorDict(content, batch_size=18), non_tensor_batch={"uid": uids})


@pytest.mark.parametrize("name", sorted(set(names()) - COUPLED))
def test_verls_advantages_are_the_estimators(name):
    from verl.trainer.ppo import ray_trainer
    from verl.trainer.ppo.v1 import utils

    import rlvr.adapters.verl as adapter

    assert ray_trainer.compute_advantage is utils.compute_advantage
    data = utils.compute_advantage(batch(3), adv_estimator=f"rlvr_{name}")
    mask = data.batch["response_mask"]
    shape = (4, 4, 6)
    old, reference = data.batch["old_log_probs"][:16].view(shape), data.batch["ref_log_prob"][:16].view(shape)
    step = inputs_of_step(old, reference, mask[:16].sum(-1).long().view(4, 4))
    rewards = data.batch["token_level_rewards"].sum(-1)[:16].view(4, 4)
    wanted, _ = Estimator(name).step(rewards, step, {})
    torch.testing.assert_close(data.batch["advantages"][:16], wanted.reshape(16, 1) * mask[:16])
    assert not data.batch["advantages"][16:].any()
    assert adapter.register(name, f"again_{name}") == f"again_{name}"


def test_one_environment_variable_registers_all():
    code = "import verl; from verl.trainer.ppo import core_algos as c; print(*sorted(c.ADV_ESTIMATOR_REGISTRY))"
    environment = {**os.environ, "VERL_USE_EXTERNAL_MODULES": "rlvr.adapters.verl", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert {f"rlvr_{name}" for name in names()} - set(done.stdout.split()) == {f"rlvr_{name}" for name in COUPLED}


def test_weights_that_follow_the_policy_are_refused():
    from rlvr.adapters.verl import register

    with pytest.raises(ValueError, match="pacs: its weights follow the policy"):
        register("pacs")


def test_rewards_that_tell_no_solve_rate_and_kl_in_the_reward_are_refused():
    from verl.trainer.ppo import core_algos

    import rlvr.adapters.verl  # noqa: F401 - registers

    data = batch(3).batch
    uids = [str(row // 4) for row in range(16)]
    call = core_algos.get_adv_estimator_fn("rlvr_max_rl")
    signed = torch.where(data["token_level_rewards"][:16].sum(-1, keepdim=True) > 0, 1.0, -1.0)
    with pytest.raises(ValueError, match="max_rl takes a group's mean reward for its solve rate"):
        call(signed, data["response_mask"][:16], index=uids)
    with pytest.raises(ValueError, match="use_kl_in_reward"):
        call(
            data["token_level_rewards"][:16], data["response_mask"][:16], index=uids, config={"use_kl_in_reward": True}
        )
