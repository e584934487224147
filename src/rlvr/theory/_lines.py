"""Lines of a figure as rows of its frame."""

from typing import Any

import pandas as pd
import torch

from rlvr.theory._methods import masses


def line(
    panel: str, label: str, x: Any, y: Any, y_label: str, style: str = "solid", x_label: str = "solve rate p"
) -> pd.DataFrame:
    return pd.DataFrame(
        {"panel": panel, "label": label, "style": style, "x_label": x_label, "y_label": y_label, "x": x, "y": y}
    )


def mass_lines(panel: str, label: str, name: str, rollouts: int = 128, **settings: Any) -> list[pd.DataFrame]:
    """m_S solid, and m_F dashed where it is another curve."""
    p, mass_s, mass_f = masses(name, rollouts, **settings)
    inside = slice(1, rollouts)
    lines = [line(panel, label, p[inside], mass_s[inside], "gradient mass")]
    if not torch.allclose(mass_s, mass_f, atol=1e-9):
        lines.append(line(panel, label, p[inside], mass_f[inside], "gradient mass", "dashed"))
    return lines
