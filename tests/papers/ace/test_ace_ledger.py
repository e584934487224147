"""The verdicts on its statements. A change of one is a change of what we say about the paper: it is made here too."""

from support.ledger import verdicts

CONDITIONAL = {"decomposition", "reverse_kl", "variance_necessarily"}
FAILS = {"exploratory", "quality_improves"}


def test_the_verdicts_are_these():
    found = verdicts("ace")
    assert (found["holds under a condition"], found["fails"]) == (CONDITIONAL, FAILS)
    assert len(found["holds"]) >= 3
