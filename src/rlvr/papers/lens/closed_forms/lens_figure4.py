"""The penalty's weight function w(z) (LENS Figure 4, Eq. 13)."""

import pandas as pd
import torch

from rlvr.papers.lens.theory import w
from rlvr.theory._lines import line


def frame() -> pd.DataFrame:
    z = torch.linspace(0.001, 0.999, 500, dtype=torch.float64)
    return line("", "w(z)", z, w(z), "w(z)", x_label="z = π / D")
