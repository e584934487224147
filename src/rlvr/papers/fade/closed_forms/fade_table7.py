"""rho(p) = m_S p / (m_F q) at p = 0.3 and 0.5 (FADE Table 7), by enumeration over groups of 20."""

import pandas as pd

from rlvr.theory._methods import label, masses, with_closed_form


def frame() -> pd.DataFrame:
    rows = []
    for name in with_closed_form():
        p, mass_s, mass_f = masses(name, 20)
        cells = {}
        for value, k in ((0.3, 6), (0.5, 10)):
            q = 1 - value
            only = float(mass_f[k]) == 0
            cells[f"rho({value})"] = "no negatives" if only else f"{float(mass_s[k] * p[k] / (mass_f[k] * q)):.4f}"
            cells[f"A_S/A_F({value})"] = "no negatives" if only else f"{float(mass_s[k] * q / (mass_f[k] * p[k])):.4f}"
        if any(cell != "no negatives" for cell in cells.values()):  # the paper leaves purely positive weights out
            rows.append({"method": label(name), **cells})
    return pd.DataFrame(rows)
