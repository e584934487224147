"""T2T: rewards that ask for longer errors and shorter solutions, as problems become easy."""

from __future__ import annotations

from rlvr.estimators import EstimatorKind, Std, Tensor, _groups, load_base, torch


def advantages(
    rewards_PG: Tensor, *, lengths_PG: Tensor, alpha: float = 0.2, std: Std = "biased", epsilon: float = 1e-6
) -> Tensor:
    """Thickening to thinning (FADE, sec. 8.2): GRPO of R = 1 - alpha p L if correct, alpha (1 - p) L if wrong.

    L is the response length over the longest of its group: the paper says "normalised" and not by what. alpha = 0
    is GRPO; the default is ours. FADE's Eq. 12-14 replaces each length by its class mean, so that its masses
    leave out the covariance of length and gradient; they hold exactly where all lengths of a class are equal.
    """
    p_P1, right_PG = _groups.solve_rate(rewards_PG), _groups.correct(rewards_PG)
    shares_PG = lengths_PG / lengths_PG.amax(dim=1, keepdim=True)
    shaped_PG = torch.where(right_PG, 1 - alpha * p_P1 * shares_PG, alpha * (1 - p_P1) * shares_PG)
    return load_base("grpo", std=std, epsilon=epsilon)(shaped_PG)


ESTIMATOR = EstimatorKind(advantages)
