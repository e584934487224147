"""The verdicts on its statements. A change of one is a change of what we say about the paper: it is made here too."""

import pytest
import torch
from support.ledger import verdicts

from rlvr.papers.ace import theory
from rlvr.theory._groups import weigh

CONDITIONAL = {"decomposition", "reverse_kl", "variance_necessarily", "zero_compute"}
FAILS = {"exploratory", "quality_improves"}


def test_the_verdicts_are_these():
    found = verdicts("ace")
    assert (found["holds under a condition"], found["fails"]) == (CONDITIONAL, FAILS)
    assert len(found["holds"]) >= 3


def test_without_a_kl_term_only_errors_need_the_reference():
    before, after = (theory._passes([1, 0, 0], kl=False, ace=ace) for ace in (False, True))
    assert after - before == {("reference", 1), ("reference", 2)} and len(before) == 6
    assert theory._passes([1, 0, 0], kl=True, ace=True) == theory._passes([1, 0, 0], kl=True, ace=False)
    assert theory.zero_compute().deviation == pytest.approx(7 / 8)


def test_an_error_on_an_easy_prompt_weighs_fifteen_times_that_on_a_hard_one():
    easy, hard = torch.tensor([[1.0] * 15 + [0.0]]).double(), torch.tensor([[1.0] + [0.0] * 15]).double()
    sizes = [
        -float(weigh("ace", rewards, {"log_ratio_PG": torch.zeros(1, 16).double()}, aggregation="sum")[0, -1])
        for rewards in (easy, hard)
    ]
    assert sizes == pytest.approx([15**0.5 * (1 + 0.6931471805599453), 15**-0.5 * (1 + 0.6931471805599453)])
