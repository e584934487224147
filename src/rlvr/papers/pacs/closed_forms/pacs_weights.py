"""PACS' weights: their mass by solve rate at the reference, and how a correct response's weight vanishes (Eq. 4, 8)."""

import pandas as pd
import torch

from rlvr.estimators import Estimator
from rlvr.theory._lines import line, mass_lines

ROLLOUTS = 8
LEFT, RIGHT = "mass at π = π_ref", "weight of a correct response, 4 of 8 correct"
X_LABEL = "log π − log π_ref of a correct response"


def frame() -> pd.DataFrame:
    """Left: gradient mass by solve rate, in groups of 8.

    Right: the weight of a correct response in a group of 8 with 4 correct, over its log-ratio to the reference, where
    all others are as the reference has them.
    """
    lines = mass_lines(LEFT, "PACS", "pacs", ROLLOUTS)
    lines += mass_lines(LEFT, "PACS w/o weight", "pacs", ROLLOUTS, class_weights=False)
    lines += mass_lines(LEFT, "GRPO", "grpo", ROLLOUTS)
    shift = torch.linspace(-8, 8, 161, dtype=torch.float64)
    rewards_PG = (torch.arange(ROLLOUTS) < ROLLOUTS // 2).double().expand(len(shift), ROLLOUTS)
    logp_PG = torch.zeros_like(rewards_PG).clone()
    logp_PG[:, 0] = shift
    inputs = {"logp_PG": logp_PG, "logp_ref_PG": torch.zeros_like(logp_PG)}
    for beta in (0.1, 0.5, 1.0, 2.0):
        weights_PG = Estimator("pacs", {"beta": beta}).advantages(rewards_PG, inputs, {})
        lines.append(line(RIGHT, f"β = {beta:g}", shift, weights_PG[:, 0], "A", x_label=X_LABEL))
    return pd.concat(lines)
