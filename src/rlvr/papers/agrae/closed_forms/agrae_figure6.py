"""Mean absolute advantage by solve rate (A-GRAE Figure 6), with its sample-level controls."""

import pandas as pd

from rlvr.theory._lines import line
from rlvr.theory._methods import weights


def frame() -> pd.DataFrame:
    lines = []
    for label, name in (("GRPO", "grpo"), ("hard-focused", "hard_focused"), ("easy-focused", "easy_focused")):
        weights_PG, _, p = weights(name, 128)
        lines.append(line("", label, p[1:-1], (weights_PG.abs().sum(1) / 128)[1:-1], "Σ|A| / G"))
    return pd.concat(lines)
