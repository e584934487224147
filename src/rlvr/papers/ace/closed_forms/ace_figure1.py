"""The penalty of an error by its confidence shift, in GRPO's (ACE Figure 1, bottom; Eq. 3, 5)."""

import pandas as pd
import torch

from rlvr.estimators import Estimator
from rlvr.theory._lines import line


def frame() -> pd.DataFrame:
    """|A| / |A of GRPO| of an error whose c of Def. 1 is x, at alpha = 1, in a group with one correct rollout."""
    c = torch.linspace(-4.0, 4.0, 161, dtype=torch.float64)
    rewards_PG = torch.tensor([1.0, 0.0], dtype=torch.float64).expand(len(c), 2)
    inputs = {"log_ratio_PG": c[:, None].expand(-1, 2)}

    def penalties(name: str, **settings: str) -> torch.Tensor:
        return -Estimator(name, settings).advantages(rewards_PG, inputs, {})[:, 1]

    grpo = penalties("grpo")
    methods = {
        "GRPO": grpo,
        "ACE-GRPO": penalties("ace", aggregation="sum"),
        "ACE-ReLU": penalties("ace", aggregation="sum", modulation="relu"),
    }
    axes = {"y_label": "|A⁻| in that of GRPO", "x_label": "confidence shift c (nats)"}
    return pd.concat([line("", label, c, values / grpo, **axes) for label, values in methods.items()])
