"""Every method's masses: the closed form, and values by enumeration over groups of 16 (FADE Table 1, sec. 8)."""

import pandas as pd
import torch

from rlvr.estimators import kind
from rlvr.theory._methods import ROLLOUTS, label, masses, with_closed_form


def frame() -> pd.DataFrame:
    rows = []
    for name in with_closed_form():
        p, mass_s, mass_f = masses(name)
        inside = slice(1, ROLLOUTS)
        balanced = bool(torch.allclose(mass_s[inside], mass_f[inside], atol=1e-12))
        signs = "balanced" if balanced else "biased"
        row = {"method": label(name), "masses": kind(name).formula, "signs": signs}
        for k in (4, 8, 12):
            row[f"m_S({p[k]:g})"], row[f"m_F({p[k]:g})"] = f"{mass_s[k]:.4f}", f"{mass_f[k]:.4f}"
        # The first of equal peaks, equal up to rounding.
        for side, mass in (("S", mass_s), ("F", mass_f)):
            top = float(mass.max())
            row[f"peak of m_{side}"] = "none" if top <= 0 else f"{float(p[(mass >= top - 1e-12).nonzero()[0, 0]]):g}"
        rows.append(row)
    return pd.DataFrame(rows)
