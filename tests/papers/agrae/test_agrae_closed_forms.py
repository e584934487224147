"""Analytic tables and figures of A-GRAE against hand calculation."""

import numpy as np

from rlvr.theory.closed_forms import CLOSED_FORMS


def test_agrae_figure6_is_theorem_2():
    table = CLOSED_FORMS.load("agrae_figure6")()
    grpo = table[table["label"] == "GRPO"]
    np.testing.assert_allclose(grpo["y"], 2 * np.sqrt(grpo["x"] * (1 - grpo["x"])), rtol=1e-12)
