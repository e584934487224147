"""The signal s(p) / s(0.5) from which alpha = 3 pays against alpha = 1 (FADE Table 8), G without bound."""

import pandas as pd


def frame() -> pd.DataFrame:
    p = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]
    return pd.DataFrame({"p": [f"{x:g}" for x in p], "s(p) / s(0.5)": [f"{(2 * (1 - x)) ** 2:.4f}" for x in p]})
