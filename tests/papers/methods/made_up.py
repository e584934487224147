"""Made-up statistics of this paper's kinds of figures (tests/support/figures_by_hand.py)."""

from support.figures_by_hand import heads_of, interval, pairs

from rlvr.papers.methods.figures.performance_profile import RATES


def performance_profile(of, generator):
    return [
        {**head, "benchmark": "x", "tau": tau, **interval(60 * (1 - tau), 8)}
        | {f"gain{end}": None if head["arm"] == of.compare_with else value for end, value in
           zip(("", "_low", "_high"), (3 - 6 * tau, -5, 9), strict=True)}
        for head, _ in heads_of(of)
        for tau in RATES
    ]  # fmt: skip


KINDS = {
    "performance_profile": performance_profile,
    "league_tree": pairs,
}
