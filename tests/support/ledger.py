"""A paper's chapter of the ledger, run once, and its verdicts by check."""

from functools import cache

from rlvr.theory import ledger


@cache
def verdicts(paper: str) -> dict[str, set[str]]:
    """The checks of a paper's chapter by verdict, without the paper's name before each."""
    book = ledger.run(ledger.CHAPTERS.load(paper).statements)
    names = book["check"].str.partition(".")[2]
    return {verdict: set(names[book["verdict"] == verdict]) for verdict in ledger.DETAIL}
