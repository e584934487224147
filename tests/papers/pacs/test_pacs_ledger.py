"""The verdicts on its statements. A change of one is a change of what we say about the paper: it is made here too."""

from support.ledger import verdicts

CONDITIONAL = {"effective_advantage", "first_step", "vanishing"}
FAILS = {"diverse_minimum", "gibbs_form", "minimised_sign", "printed_derivative", "rloo_variance"}


def test_the_verdicts_are_these():
    found = verdicts("pacs")
    assert (found["holds under a condition"], found["fails"]) == (CONDITIONAL, FAILS)
    assert len(found["holds"]) >= 3
