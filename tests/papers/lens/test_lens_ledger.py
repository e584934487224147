"""The verdicts on its statements. A change of one is a change of what we say about the paper: it is made here too."""

from support.ledger import verdicts

CONDITIONAL = {"consistency", "difficulty_range", "policy_preference"}
FAILS = {"derivative_line"}


def test_the_verdicts_are_these():
    found = verdicts("lens")
    assert (found["holds under a condition"], found["fails"]) == (CONDITIONAL, FAILS)
    assert len(found["holds"]) >= 3
