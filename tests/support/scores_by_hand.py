"""Scores of policies, and the layout of a table of them, by hand."""

import pandas as pd


def scores(policy, correct):
    return pd.DataFrame(
        {"policy": policy, "problem": [f"p{i}" for i in range(len(correct))], "n": 4, "correct": correct}
    )


def on_x(counts):
    """Score frames of policies on the evaluation of LAYOUT, by policy and evaluation."""
    return {(policy, "x"): scores(policy, correct) for policy, correct in counts.items()}


LAYOUT = {
    "panels": [
        {"name": "math-500", "published": "MATH500", "stand_in": "x", "evaluations": {"M": "x"}, "levels": None},
    ],
    "k": [1, 2],
    "compare_with": "a",
    "statistics": {"resamples": 200, "confidence": 0.95, "seed": 0},
    "cells": [
        {
            **{"model": "M", "stand_in": "m", "arm": a, "label": a, "published": p, "published_model": "M"},
            **{"learning_rate": 1.0, "policies": q},
        }
        for a, p, q in [("a", "A", ["a1", "a2"]), ("b", None, ["b1", "b2"])]
    ],
}
