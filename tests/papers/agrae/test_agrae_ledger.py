"""The verdicts on its statements. A change of one is a change of what we say about the paper: it is made here too."""

from support.ledger import verdicts

CONDITIONAL = {"logit_update", "sampled_positives"}
FAILS = {"negative_dominant_positives", "negative_dominant_unsampled", "unsampled_probabilities"}


def test_the_verdicts_are_these():
    found = verdicts("agrae")
    assert (found["holds under a condition"], found["fails"]) == (CONDITIONAL, FAILS)
    assert len(found["holds"]) >= 3
