"""Variance of the weight C p q^alpha estimated from 16 rollouts (FADE Figure 7): exact, and Eq. 30 dashed."""

import pandas as pd

from rlvr.papers.fade.theory.variance import delta_variance, exact_variance
from rlvr.theory._lines import line
from rlvr.theory._methods import ROLLOUTS


def frame() -> pd.DataFrame:
    p = [i / 200 for i in range(1, 200)]
    lines = []
    for alpha in (1.0, 2.0, 3.0):
        exact = [exact_variance(x, alpha, ROLLOUTS) for x in p]
        delta = [delta_variance(x, alpha, ROLLOUTS) for x in p]
        lines.append(line("", f"α = {alpha:g}", p, exact, "variance of the estimated weight"))
        lines.append(line("", f"α = {alpha:g}", p, delta, "variance of the estimated weight", "dashed"))
    return pd.concat(lines)
