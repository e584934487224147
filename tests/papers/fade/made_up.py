"""Made-up statistics of this paper's kinds of figures (tests/support/figures_by_hand.py)."""

import numpy as np
from support.figures_by_hand import STEPS, heads_of, interval, over_steps, pairs, seeds_of

from rlvr.papers.fade.figures.entropy_by_ratio import AGAINST
from rlvr.papers.fade.figures.entropy_change import PREDICTIONS
from rlvr.papers.fade.figures.layers import MEASURES
from rlvr.papers.fade.scaling import LAWS, MIXTURES


def law_over_steps(of, generator):
    return [
        {**head, "measure": name, "step": step, "mse": 0.0, **seeds_of(0.5 + 0.05 * place + step / 80, generator)}
        for head, place in heads_of(of)
        for name in "abc"
        for step in range(0, STEPS + 1, 8)
    ]


def pass_at_k_over_steps(of, generator):
    return [
        {**head, "measure": "pass", "step": step, "k": k, **interval(0.3 + 0.1 * np.log2(k) + step / 200, 0.05)}
        for head, _ in heads_of(of)
        for step in range(0, STEPS + 1, 4)
        for k in (1, 2, 3, 4)
    ]


def entropy_by_ratio(of, generator):
    rows = [
        {**head, "measure": name, **interval(0.2 + place * 0.1 + 0.05 * (name == "ratio"), 0.1)}
        for head, place in heads_of(of)
        for name in ("entropy", *AGAINST)
    ]
    head = {**heads_of(of)[0][0], "arm": "", "label": "", "policies": ""}
    return [*rows, *({**head, "measure": f"rank_correlation of {name}", **interval(-0.5, 0.4)} for name in AGAINST)]


def entropy_change(of, generator):
    return [
        {**head, "measure": name, **interval(place / 10 - 0.4, 0.1)}
        for head, place in heads_of(of)
        for name in ("change", *PREDICTIONS)
    ]


def layers(of, generator):
    matrices = [f"self_attn.{name}_proj" for name in "qkvo"] + [f"mlp.{name}_proj" for name in ("gate", "up", "down")]
    return [
        {**head, "layer": layer, "matrix": matrix, "measure": name, **interval(generator.uniform(), 0.1)}
        for head, _ in heads_of(of)
        for layer in range(4)
        for matrix in matrices
        for name in MEASURES
    ]


def solve_rate_laws(of, generator):
    return [
        {**head, "step": step, "measure": name, "correct": c, "value": 1 / (c + 2), "mse": 0.0}
        for head, _ in heads_of(of)
        for step in (0, 20, 40)
        for name in ("observed", *MIXTURES)
        for c in range(5)
    ]


def laws(of, generator):
    rows = []
    levels = ["easy", "medium", "hard"] if of.by_level else [""]
    for head, place in heads_of(of):
        for panel in of.panels:
            for level in levels:
                common = {**head, "benchmark": panel.name, "level": level, "mse": 0.0}
                for k in of.k:
                    value = 0.9 * k / (k + 2 + place)
                    rows.append({**common, "law": "observed", "budget": 0, "parameter": "", "k": k, "value": value})
                for budget in of.budgets:
                    for law in of.laws:
                        for name in LAWS[law].names:
                            row = {**common, "law": law, "budget": budget, "parameter": name}
                            rows.append({**row, **interval(0.5, 0.1)})
    return rows


KINDS = {
    "law_over_steps": law_over_steps,
    "pass_at_k_over_steps": pass_at_k_over_steps,
    "entropy_by_ratio": entropy_by_ratio,
    "entropy_change": entropy_change,
    "layers": layers,
    "solve_rate_laws": solve_rate_laws,
    "pass_at_k_laws": laws,
    "weight_similarity": pairs,
    "weights_over_steps": over_steps,
}
