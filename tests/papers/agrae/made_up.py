"""Made-up statistics of this paper's kinds of figures (tests/support/figures_by_hand.py)."""

from support.figures_by_hand import heads_of


def answers(of, generator):
    return [
        {**head, "benchmark": panel.name, "problem": f"p{i}", "prompt": "how long is the side ? " * 9, "gold": "12"}
        | {"picture": "", "response": "a = 3 + 4 = 7 " * 30, "status": "wrong"}
        for panel in of.panels
        for i in range(2)
        for head, _ in heads_of(of)
    ]


KINDS = {
    "answers": answers,
}
