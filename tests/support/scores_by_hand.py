"""Scores of policies, and the layout of a table of them, by hand."""

import pandas as pd

from rlvr.config.layouts import ScoresLayout
from support.layouts_by_hand import typed


def scores(policy, correct):
    return pd.DataFrame(
        {"policy": policy, "problem": [f"p{i}" for i in range(len(correct))], "n": 4, "correct": correct}
    )


def on_x(counts):
    """Score frames of policies on the evaluation of LAYOUT, by policy and evaluation."""
    return {(policy, "x"): scores(policy, correct) for policy, correct in counts.items()}


LAYOUT = typed(
    ScoresLayout,
    kind="pass_at_k",
    title="T",
    scale="laptop",
    panels=[{"name": "math-500", "published": "MATH500", "stand_in": "x", "evaluations": {"M": "x"}}],
    k=[1, 2],
    compare_with="a",
    compare_label="a",
    cells=[
        {"arm": arm, "published": published, "published_model": "M", "learning_rate": 1.0, "policies": policies}
        for arm, published, policies in [("a", "A", ["a1", "a2"]), ("b", None, ["b1", "b2"])]
    ],
)
