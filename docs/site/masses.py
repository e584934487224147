"""Pictures of gradient masses for the papers' pages."""

from pathlib import Path

import numpy as np
import torch

from rlvr.config.colors import COLORS
from rlvr.estimators import Estimator

ROLLOUTS = 16
STYLE = Path(__file__).resolve().parents[2] / "src/rlvr/figures/rlvr.mplstyle"


def draw(name: str, label: str, path: Path) -> None:
    """m_S and m_F of an estimator at its default settings, beside GRPO's, as SVG."""
    import matplotlib.pyplot as plt

    p = np.linspace(0.01, 0.99, 99)
    with plt.style.context(STYLE):
        figure, axes = plt.subplots(figsize=(5.0, 2.6))
        grpo, (success, failure) = (Estimator(one).masses(torch.tensor(p), ROLLOUTS) for one in ("grpo", name))
        axes.plot(p, grpo[0], color=COLORS["grey"], linewidth=4, alpha=0.5, label="GRPO, correct and wrong")
        axes.plot(p, success, color=COLORS["blue"], label=f"{label}, correct")
        axes.plot(p, failure, color=COLORS["vermilion"], linestyle="--", label=f"{label}, wrong")
        axes.set(xlabel="solve rate p", ylabel="mass")
        axes.legend(fontsize=8)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
