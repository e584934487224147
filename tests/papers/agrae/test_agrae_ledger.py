"""The verdicts on its statements. A change of one is a change of what we say about the paper: it is made here too."""

import pytest
from support.ledger import verdicts

from rlvr.papers.agrae import theory

CONDITIONAL = {"gamma_normalisation", "logit_update", "sampled_positives", "symmetry_of_variants"}
FAILS = {"negative_dominant_positives", "negative_dominant_unsampled", "unsampled_probabilities"}


def test_the_verdicts_are_these():
    found = verdicts("agrae")
    assert (found["holds under a condition"], found["fails"]) == (CONDITIONAL, FAILS)
    assert len(found["holds"]) >= 3


def test_deviations_are_those_by_hand():
    """One success of 8: the hard-focused weights sum to 8 sqrt(7/8), GRPO's to at most 8. Tokens: 500 to 800."""
    assert theory.gamma_normalisation().deviation == pytest.approx(1 - (7 / 8) ** 0.5)
    assert theory.symmetry_of_variants().deviation == pytest.approx(1 - 5 / 8)
