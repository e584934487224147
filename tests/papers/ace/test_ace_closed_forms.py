"""The drawn curve of ACE against hand calculation."""

import math
from itertools import pairwise

import pytest

from rlvr.theory.closed_forms import CLOSED_FORMS


def test_ace_figure1_has_the_factors_that_sec_4_2_names():
    """GRPO's penalty is uniform; ACE multiplies it by 1 + 2.13 at c = 2, 1 + 0.69 at 0, 1 + 0.05 at -3 (alpha = 1)."""
    table = CLOSED_FORMS.load("ace_figure1")()
    of = {
        label: dict(zip(rows["x"].round(9), rows["y"], strict=True))
        for label, rows in table.groupby("label", sort=False)
    }
    assert list(of) == ["GRPO", "ACE-GRPO", "ACE-ReLU"] and set(of["GRPO"].values()) == {1.0}
    for c, factor in ((2.0, 2.13), (0.0, 0.69), (-3.0, 0.05)):
        assert of["ACE-GRPO"][c] == pytest.approx(1 + math.log1p(math.exp(c)), rel=1e-12)
        assert of["ACE-GRPO"][c] == pytest.approx(1 + factor, abs=5e-3)
        assert of["ACE-ReLU"][c] == pytest.approx(1 + max(c, 0.0), rel=1e-12)
    heights = list(of["ACE-GRPO"].values())
    assert all(low < high for low, high in pairwise(heights)), "Eq. 7: strictly increasing"
