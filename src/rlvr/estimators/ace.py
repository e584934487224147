"""ACE: errors that the policy has grown more confident of are penalised more."""

from __future__ import annotations

from math import log
from typing import Any, Literal

from rlvr.estimators import Base, EstimatorKind, F, Std, Tensor, _groups, base_masses, load_base, torch


def advantages(
    rewards_PG: Tensor,
    *,
    log_ratio_PG: Tensor,
    lengths_PG: Tensor | None = None,
    base: Base = "grpo",
    alpha: float = 1.0,
    modulation: Literal["softplus", "relu"] = "softplus",
    aggregation: Literal["mean", "sum"] = "mean",
    negatives: Literal["below_mean", "zero_reward", "incorrect"] = "below_mean",
    std: Std = "biased",
    epsilon: float = 1e-6,
    confidence: Literal["own", "mean", "shuffled"] = "own",
) -> Tensor:
    """Confidence-aware error penalty (ACE, Def. 2, Eq. 5-6): A (1 + alpha f(c)) for errors, A unchanged otherwise.

    A is the base estimator's advantage, c = sum_t log(pi / pi_ref) over the response's tokens
    (`log_ratio_PG`, nats) and f is softplus, or ReLU (sec. 5.5). alpha = 0 is the base estimator.

    The paper has two readings of c: summed over tokens (Def. 1; App. C, "in our main experiments") and
    divided by the response length (sec. 4.3, Alg. 1, the sketch in App. C and sec. 5.1, which states the
    settings of the experiments). `mean` is the default because sec. 5.1 describes what was run.
    `negatives` are the rollouts at or below the group's mean (sec. 3, the default), those with reward zero (Alg. 1 and
    Eq. 8 to the letter), or those that the verifier found incorrect (what Alg. 1 says in words: with a length penalty
    below 1 they have rewards of at most zero, and correct ones more). For binary rewards the three differ only in
    groups of equal rewards, where A is zero. With a length penalty `below_mean` takes correct and overlong rollouts for
    errors too, and `zero_reward` no wrong and overlong one. A rollout with A >= 0 is never scaled.

    `confidence` makes two placebos (ours), which keep the size and take the idea away: `mean` scales every error by one
    factor, the mean of 1 + alpha f(c) over the step's errors weighted by |A|, so that these keep their summed weight;
    `shuffled` gives each error the c of the next error in its group (the last one the first's). Rollouts of a group are
    independent draws, so that their order is a random one, and a response's c tells nothing of the one before it.

    `lengths_PG` (tokens) is needed for `mean` only. Raises ValueError for negative alpha.
    """
    if alpha < 0:
        raise ValueError(f"alpha must not be negative: {alpha}")
    if aggregation == "mean" and lengths_PG is None:
        raise ValueError("c divided by the length needs lengths")
    error_PG, base_PG = _errors(rewards_PG, base, negatives, std, epsilon)
    factor_PG = _factor(log_ratio_PG, lengths_PG, alpha, modulation, aggregation)
    factor_PG = _given(factor_PG, error_PG, base_PG, confidence)
    return torch.where(error_PG, base_PG * factor_PG, base_PG)


def _errors(rewards_PG: Tensor, base: Base, negatives: str, std: Std, epsilon: float) -> tuple[Tensor, Tensor]:
    """The mask of errors, whose weight is scaled, and the base estimator's weights."""
    base_PG = load_base(base, std=std, epsilon=epsilon)(rewards_PG)
    errors = {
        "below_mean": lambda: rewards_PG <= _groups.mean(rewards_PG),
        "zero_reward": lambda: rewards_PG == 0,
        "incorrect": lambda: ~_groups.correct(rewards_PG),
    }
    return errors[negatives]() & (base_PG < 0), base_PG


def _factor(log_ratio_PG: Tensor, lengths_PG: Tensor | None, alpha: float, modulation: str, aggregation: str) -> Tensor:
    """1 + alpha f(c)."""
    confidence_PG = log_ratio_PG / lengths_PG if aggregation == "mean" and lengths_PG is not None else log_ratio_PG
    return 1 + alpha * (F.softplus(confidence_PG) if modulation == "softplus" else F.relu(confidence_PG))


def _given(factor_PG: Tensor, error_PG: Tensor, base_PG: Tensor, confidence: str) -> Tensor:
    """The factors of errors: their own, or a placebo's."""
    if confidence == "mean":
        size_PG = torch.where(error_PG, base_PG.abs(), 0.0)
        return _groups.divide((size_PG * factor_PG).sum(), size_PG.sum()).expand_as(factor_PG)
    return _groups.of_next(factor_PG, error_PG) if confidence == "shuffled" else factor_PG


def figures(
    rewards_PG: Tensor,
    *,
    log_ratio_PG: Tensor,
    lengths_PG: Tensor | None = None,
    base: Base,
    alpha: float,
    modulation: str,
    aggregation: str,
    negatives: str,
    std: Std,
    epsilon: float,
    confidence: str,
) -> dict[str, float | None]:
    """The factor 1 + alpha f(c) over the errors it scales: quantiles, and standard deviation over mean.

    Where the factor is one number for all errors, ACE is its base with a larger negative weight, whatever c is.
    """
    error_PG, base_PG = _errors(rewards_PG, base, negatives, std, epsilon)
    factor_PG = _factor(log_ratio_PG, lengths_PG, alpha, modulation, aggregation)
    factors = _given(factor_PG, error_PG, base_PG, confidence)[error_PG]
    spread = float(factors.std(correction=0) / factors.mean()) if factors.numel() else None
    return {**_groups.quantiles("factor", factors), "factor_spread": spread}


def needs(*, aggregation: str, **settings) -> set[str]:
    """What these settings need: a summed c needs no lengths."""
    return {"log_ratio_PG", "lengths_PG"} if aggregation == "mean" else {"log_ratio_PG"}


def masses(p: Tensor, rollouts: int, *, alpha: float, modulation: str, **base: Any) -> tuple[Tensor, Tensor]:
    """m_S = m, m_F = m (1 + alpha f(c)); at pi = pi_ref f(0) = ln 2 (softplus) or 0 (ReLU), m the base's mass"""
    success, failure = base_masses(p, rollouts, **base)
    return success, failure * (1 + alpha * (log(2) if modulation == "softplus" else 0.0))


ESTIMATOR = EstimatorKind(
    advantages,
    masses,
    needs=needs,
    figures=figures,
    later=("confidence",),
    base_where={"alpha": 0.0},  # App. D
)
