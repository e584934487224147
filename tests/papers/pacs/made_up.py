"""Made-up statistics of this paper's kinds of figures (tests/support/figures_by_hand.py)."""

from support.figures_by_hand import heads_of


def solution_map(of, generator):
    return [
        {**head, "problem": f"a-problem-with-a-long-name-{problem}", "count": int(generator.integers(1, 9))}
        | dict(zip("xy", generator.normal(0, 1, 2), strict=True))
        for head, _ in heads_of(of)
        for problem in range(of.problems)
        for _ in range(12)
    ]


KINDS = {
    "solution_map": solution_map,
}
