"""Existing methods, the difficulty axis, the sign axis (FADE Figure 2); m_F dashed where it differs from m_S."""

import pandas as pd

from rlvr.theory._lines import line, mass_lines
from rlvr.theory._methods import masses


def frame() -> pd.DataFrame:
    left, middle, right = "existing methods", "difficulty: power-alpha, peak at 1/4", "sign: AsymGRPO"
    lines = mass_lines(left, "GRPO", "grpo") + mass_lines(left, "mean-only GRPO", "dr_grpo")
    lines += mass_lines(left, "pass@8 (Chen)", "pass_at_k", k=8)
    lines += mass_lines(left, "pass@1/pass@8 mix", "pass_mix", k=8)
    lines += mass_lines(left, "W-REINFORCE", "w_reinforce")
    for alpha in (0.5, 1.0, 2.0, 3.0):
        lines += mass_lines(middle, f"α = {alpha:g}", "power_alpha", alpha=alpha, scale="peak")
    lines += mass_lines(right, "m_S, every δ", "asym_grpo", delta=1.0)
    for delta in (0.5, 2.0):
        p, _, mass_f = masses("asym_grpo", 128, delta=delta)
        lines.append(line(right, f"m_F, δ = {delta:g}", p[1:-1], mass_f[1:-1], "gradient mass", "dashed"))
    return pd.concat(lines)
