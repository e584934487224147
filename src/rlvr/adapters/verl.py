"""The estimators in verl's registry, as `rlvr_<name>`, by importing this module:

    VERL_USE_EXTERNAL_MODULES=rlvr.adapters.verl python -m verl.trainer.main_ppo algorithm.adv_estimator=rlvr_ace ...

verl passes only rewards to its registry. For estimators that need log-probabilities, lengths or a state, `install`
wraps verl's `compute_advantage`, which has the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from rlvr.estimators import INPUTS, Estimator, names
from rlvr.training.backends.verl.adapter import EstimatorInputs, Grid, by_rewards_alone, on_tokens, registered

PREFIX = "rlvr_"
_WITH_BATCH: dict[str, Weights] = {}  # by the name in verl's configuration


class Weights:
    """An estimator that needs more than rewards, and its state, which verl's checkpoints do not hold."""

    def __init__(self, estimator: Estimator):
        self.estimator, self.state = estimator, {}

    def __call__(self, data: Any) -> Any:
        """A verl batch (DataProto) with `advantages` and `returns`: a response's weight on each of its tokens."""
        batch = data.batch
        mask_NT = batch["response_mask"]
        if "ref_log_prob" not in batch and any(INPUTS[need].needs_reference for need in self.estimator.needs):
            name = self.estimator.name
            raise ValueError(f"{name} needs the reference policy: set actor_rollout_ref.actor.use_kl_loss=True")
        old_NT = batch["old_log_probs"]
        reference_NT = batch.get("ref_log_prob", old_NT)
        grid = Grid.of(data.non_tensor_batch["uid"], mask_NT.bool().any(-1))
        step = EstimatorInputs.of(grid, mask_NT, batch["token_level_rewards"], old_NT, reference_NT)
        self.estimator.refuse_negative(step.rewards_PG)
        weights_PG, self.state = self.estimator.step(step.rewards_PG, step.values, self.state)
        batch["advantages"] = on_tokens(grid.spread(weights_PG), mask_NT)
        batch["returns"] = batch["advantages"].clone()
        return data


def register(estimator: str, name: str | None = None, **settings: Any) -> str:
    """Registers an estimator with settings, and returns its name for `algorithm.adv_estimator`.

    The name is `rlvr_<estimator>` unless given. Raises KeyError for an unknown estimator, SettingError for a wrong
    setting, ValueError for weights that follow the policy within a batch.
    """
    from verl.trainer.ppo import core_algos

    made, name = Estimator(estimator, settings), name or f"{PREFIX}{estimator}"
    if made.coupled:
        raise ValueError(f"{estimator}: its weights follow the policy within a batch, and verl takes them once")
    if by_rewards_alone(made):
        core_algos.register_adv_est(name)(_checked(made))
    else:
        core_algos.register_adv_est(name)(_needs_the_batch)
        _WITH_BATCH[name] = Weights(made)
    return name


def _checked(estimator: Estimator) -> Callable[..., Any]:
    weigh = registered(estimator)

    def advantages(token_level_rewards: torch.Tensor, *args: Any, **named: Any) -> tuple[torch.Tensor, torch.Tensor]:
        _refuse_kl_in_reward(estimator.name, named.get("config"))
        estimator.refuse_negative(token_level_rewards.sum(-1))
        return weigh(token_level_rewards, *args, **named)

    return advantages


def _refuse_kl_in_reward(name: str, config: Any) -> None:
    """Raises ValueError where verl subtracts KL from the rewards, by which estimators distinguish right from wrong."""
    if config is not None and config.get("use_kl_in_reward", False):
        raise ValueError(
            f"{name}: algorithm.use_kl_in_reward changes which responses count as correct; set it to False, and "
            "actor_rollout_ref.actor.use_kl_loss=True for a KL term in the loss"
        )


def _needs_the_batch(*_: Any, **__: Any) -> tuple[torch.Tensor, torch.Tensor]:
    raise RuntimeError("this estimator needs the whole batch: call rlvr.adapters.verl.install() in verl's driver")


def install() -> None:
    """Have verl's `compute_advantage` give the whole batch to estimators that need it; once per process is enough."""
    from verl.trainer.ppo import ray_trainer
    from verl.trainer.ppo.v1 import utils

    original = ray_trainer.compute_advantage
    if getattr(original, "of_rlvr", False):
        return

    def compute_advantage(data: Any, adv_estimator: Any, *args: Any, **named: Any) -> Any:
        weights = _WITH_BATCH.get(str(adv_estimator))
        if weights:
            _refuse_kl_in_reward(weights.estimator.name, named.get("config"))
        return weights(data) if weights else original(data, adv_estimator, *args, **named)

    compute_advantage.of_rlvr = True  # type: ignore[attr-defined]
    ray_trainer.compute_advantage = utils.compute_advantage = compute_advantage


def register_all() -> None:
    """Registers every estimator with its defaults, but those whose weights follow the policy within a batch."""
    for name in names():
        if not Estimator(name).coupled:
            register(name)


register_all()
install()
