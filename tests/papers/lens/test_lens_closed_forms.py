"""Analytic tables and figures of LENS against hand calculation."""

import torch

from rlvr.theory.closed_forms import CLOSED_FORMS


def test_lens_figure4_is_the_integral_of_its_derivative():
    """z w(z) has the derivative z / (1 - z) (LENS, B.2)."""
    table = CLOSED_FORMS.load("lens_figure4")()
    z = torch.tensor(table["x"].to_numpy())
    product = z * torch.tensor(table["y"].to_numpy())
    slope = (product[2:] - product[:-2]) / (z[2:] - z[:-2])
    torch.testing.assert_close(slope[:300], (z / (1 - z))[1:-1][:300], rtol=1e-3, atol=1e-3)
