"""Estimators with the settings under which tests hold them to the laws, and what they are given there."""

import itertools

import pytest
import torch

from rlvr import estimators
from rlvr.estimators import INPUTS, Estimator, inputs_at_reference, inputs_of_step

# Other settings of an estimator that the laws are held to, beside its defaults.
VARIANTS = {
    "grpo": [{"std": "unbiased"}],
    "grpo_lead": [{"std": "unbiased"}],
    "w_reinforce": [{"lam": 1.0}],
    "power_alpha": [{"alpha": 0.5}, {"alpha": 3.0, "scale": "peak"}, {"alpha": 3.0, "focus": "easy"}],
    "asym_power_alpha": [{"alpha_s": 0.5, "alpha_f": 3.0}],
    "asym_grpo": [{"delta": 2.0}],
    "max_rl": [{"epsilon": 1e-6}],
    "f_grpo": [{"gamma": 0.5, "std": "unbiased"}],
    "pass_at_k": [{"k": 1}],
    "pass_at_k_loo": [{"k": 2}],
    "pass_mix": [{"k": 1}],
    "asym_shift": [{"delta": -0.1}],
    "quantile": [{"tau": 0.25}, {"tau": 0.8}],
    "mc_grpo": [{"scale": "mad"}],
    "power_norm": [{"gamma": 1.0}, {"gamma": -0.5}],
    "softmax": [{"beta": 4.0, "scale": "group"}],
    "log_mean_exp": [{"beta": 5.0}],
    "ha_dw": [{"base": "dr_grpo", "lam": 1.0}],
    "ace": [
        {"base": "dr_grpo", "aggregation": "sum"},
        {"modulation": "relu"},
        {"negatives": "zero_reward"},
        {"negatives": "incorrect"},
        {"confidence": "mean"},
        {"confidence": "shuffled"},
    ],
    "lens": [
        {"groups": "mixed"},
        {"groups": "negative"},
        {"difficulty": "length_normalised"},
        {"probability": "sequence"},
        {"probability": "sequence", "difficulty": "length_normalised"},
        {"divisor": "rollouts_if_mixed"},
        {"divisor": "tokens", "gamma": 1.1},
        {"gamma": 2.0, "std": "unbiased"},
        {"placed": "next"},
    ],
    "a_grae": [
        {"levels": "group", "alpha": 0.5},
        {"levels": "sample", "base": "dr_grpo"},
        {"easy": "code"},
        {"fixed": 0.4},
    ],
    "positive_dominant": [{"base": "dr_grpo"}],
    "negative_dominant": [{"base": "rloo"}],
    "hard_focused": [{"base": "dr_grpo"}],
    "easy_focused": [{"base": "dr_grpo"}],
    "fade": [{"baseline": "batch"}],
    "pacs": [
        {"score": "grpo"},
        {"score": "grpo", "std": "unbiased"},
        {"score": "dr_grpo", "class_weights": False},
        {"beta": 0.5, "class_weights": False},
        {"actor": True},
        {"actor": True, "score": "dr_grpo", "class_weights": False},
        {"likelihood": "linear"},
    ],
}
WITHOUT_CLOSED_FORM = {"t2t"}
STATE = {"omega": 0.3, "anchor": 0.4, "alpha": 2.5, "delta": 0.6}
ACROSS_GROUPS = [("fade", {"baseline": "batch"}), ("ace", {"confidence": "mean"}), ("lens", {"placed": "next"})]
IN_ORDER = [("ace", {"confidence": "shuffled"}), ("lens", {"placed": "next"})]  # placebos: an order of draws is random
MEMBERS = [(name, settings) for name in estimators.names() for settings in [{}, *VARIANTS.get(name, [])]]
member = pytest.mark.parametrize(("name", "settings"), MEMBERS)


def outcomes(rollouts: int) -> torch.Tensor:
    """All 2^G binary reward groups."""
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=rollouts)), dtype=torch.float64)


def inputs(rewards: torch.Tensor, seed: int = 0) -> dict:
    """Everything that an estimator may need, of random responses."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(4, 30, rewards.shape, generator=generator)
    mask = torch.arange(30) < lengths[..., None]
    old = -0.8 * torch.rand(mask.shape, generator=generator, dtype=rewards.dtype) * mask
    shift = 0.25 * torch.randn(mask.shape, generator=generator, dtype=rewards.dtype) * mask
    return inputs_of_step(old, old + shift, lengths)


def fields(rewards: list, seed: int = 0) -> dict:
    """A line of `rlvr weigh` with every field that a method may need, of random responses."""
    given = inputs(torch.tensor(rewards, dtype=torch.float64), seed)
    single = {an_input.fields[0]: given[name] for name, an_input in INPUTS.items() if len(an_input.fields) == 1}
    tensors = {field: value.tolist() for field, value in single.items() if isinstance(value, torch.Tensor)}
    return {"rewards": rewards, **single, **tensors}


def weigh(name: str, rewards: torch.Tensor, given: dict, state: dict = STATE, **settings) -> torch.Tensor:
    return Estimator(name, settings).advantages(rewards, given, state)


def exact(name: str, settings: dict) -> dict:
    """The settings at which closed forms are stated, and these."""
    return {**estimators.kind(name).exact_settings, **settings}


R8 = outcomes(8)


def w8(name: str, **settings) -> torch.Tensor:
    return weigh(name, R8, inputs_at_reference(R8), **exact(name, settings))


def same(first: torch.Tensor, second: torch.Tensor) -> None:
    torch.testing.assert_close(first, second, rtol=1e-11, atol=1e-12)
