"""FADE: difficulty focus and sign bias, steered by solve rate and entropy."""

from __future__ import annotations

from math import log
from typing import Any, Literal

from rlvr.estimators import EstimatorKind, Tensor, _groups, torch
from rlvr.estimators.power_alpha import power


def advantages(
    rewards_PG: Tensor, *, alpha: float, delta: float, baseline: Literal["prompt", "batch"] = "prompt"
) -> Tensor:
    """Focal advantage with dynamic entropy (FADE, Eq. 11): A = (1 - m)^(alpha - 1) (r - m), over delta where r < m.

    alpha and delta are the controller's. m is the group's mean (`prompt`) or the mean of the step's whole batch
    (`batch`). Algorithm 2 defines m over the batch and stresses it, but sec. 10 derives per-prompt masses p q^alpha and
    p q^alpha / delta, which only the group's mean has: `prompt` is the default because the paper's analysis, its
    Table 1 and its reduction to GRPO rest on it. delta = 1 is `power_alpha`, alpha = 1 too is Dr.GRPO.
    """
    mean = _groups.mean(rewards_PG) if baseline == "prompt" else rewards_PG.mean()
    centred_PG = rewards_PG - mean
    focal_PG = centred_PG * power(1 - mean, alpha - 1)
    return torch.where(centred_PG < 0, focal_PG / delta, focal_PG)


def controller(
    state: dict[str, float],
    rewards_PG: Tensor,
    *,
    entropy: float,
    target_entropy: float | None = None,
    target_share: float = 0.5,
    unit: Literal["nats", "share"] = "nats",
    alpha_max: float = 3.0,
    ema: Literal["paper", "smooth"] = "paper",
    rate: float = 0.02,
    delta_min: float = 0.3,
    control: Literal["both", "alpha", "delta", "entropy", "schedule"] = "both",
    total_steps: float | None = None,
) -> dict[str, float]:
    """One step of the scheduler (FADE, Eq. 11, Algorithm 2, Fig. 9): p_hat, h_hat, target (H*), alpha, delta.

    p_hat and h_hat follow the batch's mean reward and its entropy (nats per token), from 1/2 and from the initial
    entropy h_0 (the first step's). Then

        alpha = clip(3 (1 - p_hat) / (2 p_hat), 1, alpha_max)      delta = clip(1 + h_hat - H*, delta_min, 1)

    H* is `target_entropy` in nats; null is `target_share` of h_0, since half the initial entropy "worked best".
    With `unit="share"` (ours) delta = clip(1 + (h_hat - H*) / h_0, delta_min, 1): in nats, delta stays at 1 - H* or
    more, so a policy that begins with a tenth of a nat has no delta of note, whatever its entropy does.
    `ema="paper"` is Algorithm 2 as printed, p_hat <- rate p_hat + (1 - rate) new, which at rate 0.02 forgets
    98 % in a step; `smooth` is p_hat <- (1 - rate) p_hat + rate new, a half-life of 34 steps, as the text describes.
    The printed form is the default because no number of the paper tells them apart.

    `control` is an ablation: `alpha` keeps delta at 1, `delta` keeps alpha at 1, `schedule` replaces both by Eq. 17-18
    over `total_steps`, the run's own (their time constants scale with it), and `entropy` drives alpha from entropy
    too: the paper gives no formula, ours falls linearly from alpha_max at h_0 to 1 at H*. Raises ValueError for a
    negative entropy and for settings under which a weight would have no sign.
    """
    if not entropy >= 0:
        raise ValueError(f"entropy must be a number of nats, not negative: {entropy}")
    if not (0 < delta_min <= 1 and alpha_max >= 1 and 0 <= rate <= 1 and target_share >= 0):
        raise ValueError("needs 0 < delta_min <= 1, alpha_max >= 1, 0 <= rate <= 1 and target_share >= 0")
    if control == "schedule" and (total_steps is None or total_steps <= 0):
        raise ValueError("control = schedule needs total_steps, the number of steps of the run")
    h_0, step = state.get("h_0", entropy), state.get("step", 0.0)
    keep = rate if ema == "paper" else 1 - rate
    p_hat = keep * state.get("p_hat", 0.5) + (1 - keep) * float(rewards_PG.mean())
    h_hat = keep * state.get("h_hat", h_0) + (1 - keep) * entropy
    target = target_share * h_0 if target_entropy is None else target_entropy
    alpha = clip(1.5 * (1 - p_hat) / p_hat if p_hat > 0 else alpha_max, 1.0, alpha_max)
    nats = h_0 if unit == "share" and h_0 > 0 else 1.0  # what the distance from H* is measured in
    delta = clip(1 + (h_hat - target) / nats, delta_min, 1.0)
    if control == "alpha":
        delta = 1.0
    elif control == "delta":
        alpha = 1.0
    elif control == "entropy":
        alpha = 1 + (alpha_max - 1) * (clip((h_hat - target) / (h_0 - target), 0.0, 1.0) if h_0 > target else 0.0)
    elif control == "schedule" and total_steps is not None:
        alpha, delta = schedule(step / total_steps)
    return {
        "step": step + 1,
        "p_hat": p_hat,
        "h_hat": h_hat,
        "h_0": h_0,
        "target": target,
        "alpha": alpha,
        "delta": delta,
    }


def clip(value: float, low: float, high: float) -> float:
    return min(high, max(low, value))


def schedule(progress: float) -> tuple[float, float]:
    """alpha and delta of FADE's logarithmic fit (Eq. 17-18) at a share of training.

    Its time constants tau are steps of a 7B run whose length T the paper does not give. 33,000 is the last step that
    Figure 8 shows of the run with H* = 0.5; its runs with other targets go to 30,000 and 40,000.
    """
    steps = 33_000

    def fall(start: float, end: float, tau: float) -> float:
        tau = tau / steps
        return start - (start - end) * log(1 + min(1.0, progress) / tau) / log(1 + 1 / tau)

    return fall(2.0, 1.917, 8_500), fall(1.0, 0.802, 12_264)


def masses(p: Tensor, rollouts: int, *, alpha: float = 2.0, delta: float = 0.5, **_: Any) -> tuple[Tensor, Tensor]:
    """m_S = p q^alpha, m_F = p q^alpha / delta"""
    mass = p * (1 - p) ** alpha
    return mass, mass / delta


ESTIMATOR = EstimatorKind(advantages, masses, controller=controller, later=("unit",), rate=True)
