"""Signal-to-noise by difficulty, SNR^2 = s(p)^2 p (1 - p) over its largest value, s = exp(-c p) (FADE sec. 14.1)."""

import math

import pandas as pd
import torch

from rlvr.theory._lines import line


def frame() -> pd.DataFrame:
    p = torch.linspace(0.005, 0.995, 199, dtype=torch.float64)
    lines = []
    for c in (0.0, 0.5, 1.0, 2.0):
        value = torch.exp(-2 * c * p) * p * (1 - p)
        peak = 0.5 if c == 0 else (1 + c - math.sqrt(1 + c * c)) / (2 * c)
        lines.append(line("", f"c = {c:g}, best at p = {peak:.3f}", p, value / value.max(), "SNR², largest = 1"))
    return pd.concat(lines)
