"""The table of rewritings: each case of each rewriting, and its hints."""

import pytest

from rlvr.verifiers._rewritings import REWRITINGS, REWRITINGS_OF_NUMBERS

TABLE = [*REWRITINGS, *REWRITINGS_OF_NUMBERS]


@pytest.mark.parametrize("rewriting", TABLE, ids=lambda one: one.why)
def test_a_rewriting_does_what_its_cases_say(rewriting):
    assert rewriting.cases
    for before, after in rewriting.cases:
        assert rewriting.apply(before) == after
        assert not rewriting.hints or any(hint in before for hint in rewriting.hints)


def test_every_rewriting_has_a_reason_of_its_own():
    assert len({rewriting.why for rewriting in TABLE}) == len(TABLE)
