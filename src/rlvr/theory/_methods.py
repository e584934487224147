"""Weights and masses of methods by enumeration, at the settings that analytic tables and figures show."""

from typing import Any

import torch

from rlvr.estimators import Estimator, inputs_at_reference, kind, names
from rlvr.theory._groups import by_successes, class_masses

ROLLOUTS = 16  # of FADE's Figure 7; sec. 14.1 has 8 to 16
# Where tables and figures differ from an estimator's defaults; labels show these settings.
SETTINGS: dict[str, dict[str, Any]] = {
    "power_alpha": {"alpha": 2.0},
    "asym_power_alpha": {"alpha_s": 2.0, "alpha_f": 1.0},
    "asym_grpo": {"delta": 0.5},
    "pass_at_k": {"k": 8},
    "pass_mix": {"k": 8},
    "power_norm": {"gamma": 0.25},
    "quantile": {"tau": 0.25},
    "ha_dw": {"base": "dr_grpo", "lam": 1.0},
}


def _estimator(name: str, settings: dict[str, Any]) -> Estimator:
    return Estimator(name, {**kind(name).exact_settings, **SETTINGS.get(name, {}), **settings})


def label(name: str) -> str:
    state = _estimator(name, {}).shown_state
    words = [f"{key} = {value}" for key, value in {**SETTINGS.get(name, {}), **state}.items()]
    return f"{name} ({', '.join(words)})" if words else name


def weights(name: str, rollouts: int = ROLLOUTS, **settings: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Weights and rewards of one group for each number of successes, and p."""
    rewards, estimator = by_successes(rollouts), _estimator(name, settings)
    weights_PG = estimator.advantages(rewards, inputs_at_reference(rewards), estimator.shown_state)
    return weights_PG, rewards, rewards.mean(1)


def masses(name: str, rollouts: int = ROLLOUTS, **settings: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(p, m_S, m_F) by enumeration."""
    weights_PG, rewards, p = weights(name, rollouts, **settings)
    return p, *class_masses(weights_PG, rewards)


def with_closed_form() -> list[str]:
    return [name for name in names() if kind(name).formula]
