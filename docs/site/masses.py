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
        for estimator, words, color in (("grpo", "GRPO", "grey"), (name, label, "blue")):
            success, failure = (mass.numpy() for mass in Estimator(estimator).masses(torch.tensor(p), ROLLOUTS))
            axes.plot(p, success, color=COLORS[color], label=f"{words}, correct")
            axes.plot(p, failure, color=COLORS[color], linestyle="--", label=f"{words}, wrong")
        axes.set(xlabel="solve rate p", ylabel="mass")
        axes.legend(fontsize=8)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
