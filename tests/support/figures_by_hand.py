"""Statistics of every kind of figure, made up for the cells of its layout, and the figures that they give."""

from typing import Any

import numpy as np
import pandas as pd

from rlvr.config.layouts import CellsLayout, Layout
from rlvr.config.plan import Plan
from rlvr.figures.masses import SIDES
from rlvr.figures.solve_rates import IN_ORDER
from rlvr.items import FIGURE_KINDS, layout
from rlvr.papers.fade.figures.entropy_by_ratio import AGAINST
from rlvr.papers.fade.figures.entropy_change import PREDICTIONS
from rlvr.papers.fade.figures.layers import MEASURES
from rlvr.papers.fade.figures.solve_rate_laws import FITS
from rlvr.papers.fade.scaling import names as parameters_of
from rlvr.papers.methods.figures.performance_profile import RATES
from rlvr.statistics.run_rows import by_seed, cell_columns

PAPERS = ("ace", "lens", "agrae", "fade", "pacs", "methods")
SEEDS, STEPS = 3, 40


def laid_out(plan: Plan, paper: str, name: str) -> tuple[Layout, list[Layout]]:
    """The layout of a figure, and those of the items that it shows numbers of."""
    return layout.of(plan, paper, name), [layout.of(plan, paper, one) for one in plan.papers[paper].statistics_of(name)]


def of_figure(plan: Plan, paper: str, name: str) -> tuple[Layout, list[pd.DataFrame]]:
    """The layout and made-up statistics of a figure."""
    of, sources = laid_out(plan, paper, name)
    return of, [statistics(source) for source in sources]


def statistics(of: Layout) -> pd.DataFrame:
    """Numbers that differ by method and scatter by seed, with the columns that the kind of this layout has."""
    if of.kind == "analytic":
        return FIGURE_KINDS.load(of.kind).statistics(of)
    return pd.DataFrame(KINDS[of.kind](of, np.random.default_rng(0)))


def _heads(of: CellsLayout):
    return [({**cell_columns(cell), "seeds": SEEDS}, place) for place, cell in enumerate(of.cells)]


def _interval(value: float, half: float) -> dict[str, float]:
    return {"value": value, "value_low": value - half, "value_high": value + half}


def _seeds(level: float, generator) -> dict[str, Any]:
    values = level + generator.normal(0, 0.1 * abs(level) + 0.01, SEEDS)
    return {**_interval(values.mean(), 2.5 * values.std(ddof=1)), "by_seed": by_seed(values)}


def _over_steps(of, generator):
    steps_of = {"probe": range(0, STEPS + 1, 8), "metrics": range(1, STEPS + 1), "weights": range(8, STEPS + 1, 8)}
    measures = [(measure.written, steps_of[measure.rows]) for measure in of.measures]
    return [
        {**head, "measure": name, "step": step, **_seeds(0.2 + 0.03 * place + 0.4 * step / STEPS, generator)}
        for head, place in _heads(of)
        for name, steps in measures
        for step in steps
    ]


def _law_over_steps(of, generator):
    return [
        {**head, "measure": name, "step": step, "mse": 0.0, **_seeds(0.5 + 0.05 * place + step / 80, generator)}
        for head, place in _heads(of)
        for name in "abc"
        for step in range(0, STEPS + 1, 8)
    ]


def _pass_at_k_over_steps(of, generator):
    return [
        {**head, "measure": "pass", "step": step, "k": k, **_interval(0.3 + 0.1 * np.log2(k) + step / 200, 0.05)}
        for head, _ in _heads(of)
        for step in range(0, STEPS + 1, 4)
        for k in (1, 2, 3, 4)
    ]


def _frontier_over_steps(of, generator):
    rows = []
    for head, place in _heads(of):
        for step in range(0, STEPS + 1, 8):
            for k in (1, of.k):
                value = 20 + 10 * np.log2(k) + step / (2 + k) + place
                rows.append({**head, "measure": "pass", "step": step, "k": k, **_interval(value, 5)})
        if head["arm"] != of.compare_with:
            rows.append({**head, "measure": "gain at equal pass@1", "step": 9.5, "k": of.k, **_interval(-12.3, 10)})
    return rows


def _solve_rates(of, generator):
    rows = []
    for head, _ in _heads(of):
        for step in range(1, STEPS + 1):
            for name, share in zip(IN_ORDER, generator.dirichlet(np.ones(len(IN_ORDER))), strict=True):
                rows.append({**head, "measure": "solve_rates", "step": step, "bin": name, "value": share})
    return rows


def _masses(of, generator):
    rows = []
    for (head, place), weights in zip(_heads(of), of.weights, strict=True):
        for side in SIDES:
            for c in range(9):
                p, value = c / 8, (c / 8 * (1 - c / 8)) * (1 + place / 10)
                common = {**head, "measure": "masses", "side": side, "p": p}
                rows.append({**common, "form": "realised", **_interval(value, 0.02)})
                form = "grpo" if weights.estimator["name"] in ("ace", "lens") else "own"
                rows.append({**common, "form": form, **_interval(value, np.nan)})
    return rows


def _collapse(of, generator):
    rows = []
    for head, place in _heads(of):
        for seed in range(SEEDS):
            for step in range(1, STEPS + 1):
                value = 0.3 - 0.2 * step / STEPS + 0.4 * (seed == 0 and place == 0) * (step > 30)
                row = {**head, "policies": f"run{seed}", "measure": "unsolved", "step": step, "value": value}
                rows.append({**row, "running_mean": value, "collapsed": seed == 0 and place == 0})
    return rows


def _entropy_by_ratio(of, generator):
    rows = [
        {**head, "measure": name, **_interval(0.2 + place * 0.1 + 0.05 * (name == "ratio"), 0.1)}
        for head, place in _heads(of)
        for name in ("entropy", *AGAINST)
    ]
    head = {**_heads(of)[0][0], "arm": "", "label": "", "policies": ""}
    return [*rows, *({**head, "measure": f"rank_correlation of {name}", **_interval(-0.5, 0.4)} for name in AGAINST)]


def _entropy_change(of, generator):
    return [
        {**head, "measure": name, **_interval(place / 10 - 0.4, 0.1)}
        for head, place in _heads(of)
        for name in ("change", *PREDICTIONS)
    ]


def _layers(of, generator):
    matrices = [f"self_attn.{name}_proj" for name in "qkvo"] + [f"mlp.{name}_proj" for name in ("gate", "up", "down")]
    return [
        {**head, "layer": layer, "matrix": matrix, "measure": name, **_interval(generator.uniform(), 0.1)}
        for head, _ in _heads(of)
        for layer in range(4)
        for matrix in matrices
        for name in MEASURES
    ]


def _pairs(of, generator):
    heads = _heads(of)
    return [
        {**head, "other": other["arm"], "other_label": other["label"], "benchmark": "x", "measure": "cosine"}
        | {**_interval(generator.uniform(-0.99, 0.99), 0.1), "p": 0.2, "q": generator.uniform(), "detectable": 3.0}
        for head, place in heads
        for other, later in heads
        if later > place and other["model"] == head["model"]
    ]


def _solution_map(of, generator):
    return [
        {**head, "problem": f"a-problem-with-a-long-name-{problem}", "count": int(generator.integers(1, 9))}
        | dict(zip("xy", generator.normal(0, 1, 2), strict=True))
        for head, _ in _heads(of)
        for problem in range(of.problems)
        for _ in range(12)
    ]


def _solve_rate_laws(of, generator):
    return [
        {**head, "step": step, "measure": name, "correct": c, "value": 1 / (c + 2), "mse": 0.0}
        for head, _ in _heads(of)
        for step in (0, 20, 40)
        for name in ("observed", *(words for words, _ in FITS.values()))
        for c in range(5)
    ]


def _performance_profile(of, generator):
    return [
        {**head, "benchmark": "x", "tau": tau, **_interval(60 * (1 - tau), 8)}
        | {f"gain{end}": None if head["arm"] == of.compare_with else value for end, value in
           zip(("", "_low", "_high"), (3 - 6 * tau, -5, 9), strict=True)}
        for head, _ in _heads(of)
        for tau in RATES
    ]  # fmt: skip


def _laws(of, generator):
    rows = []
    levels = ["easy", "medium", "hard"] if of.by_level else [""]
    for head, place in _heads(of):
        for panel in of.panels:
            for level in levels:
                common = {**head, "benchmark": panel.name, "level": level, "mse": 0.0}
                for k in of.k:
                    value = 0.9 * k / (k + 2 + place)
                    rows.append({**common, "law": "observed", "budget": 0, "parameter": "", "k": k, "value": value})
                for budget in of.budgets:
                    for law in of.laws:
                        for name in parameters_of(law):
                            row = {**common, "law": law, "budget": budget, "parameter": name}
                            rows.append({**row, **_interval(0.5, 0.1)})
    return rows


def _answers(of, generator):
    return [
        {**head, "benchmark": panel.name, "problem": f"p{i}", "prompt": "how long is the side ? " * 9, "gold": "12"}
        | {"picture": "", "response": "a = 3 + 4 = 7 " * 30, "status": "wrong"}
        for panel in of.panels
        for i in range(2)
        for head, _ in _heads(of)
    ]


def _scores(of, generator):
    rows = []
    for (head, place), cell in zip(_heads(of), of.cells, strict=True):
        for panel in of.panels:
            for k in of.k:
                value = 30 + 12 * np.log2(k) + 2 * place % 9 + 4e4 * (cell.learning_rate or 0)
                row = {**head, "benchmark": panel.name, "score": "pass", "k": k, **_interval(value, 4)}
                theirs = 60 + 5 * np.log2(k) + place if cell.published else None
                rows.append({**row, "learning_rate": cell.learning_rate, "published": theirs})
    return rows


KINDS = {
    **{"over_steps": _over_steps, "weights_over_steps": _over_steps, "law_over_steps": _law_over_steps},
    **{"pass_at_k_over_steps": _pass_at_k_over_steps, "frontier_over_steps": _frontier_over_steps},
    **{"solve_rates": _solve_rates, "masses": _masses, "collapse": _collapse, "layers": _layers},
    **{"entropy_by_ratio": _entropy_by_ratio, "entropy_change": _entropy_change},
    **{"weight_similarity": _pairs, "league_tree": _pairs, "solution_map": _solution_map},
    **{"solve_rate_laws": _solve_rate_laws, "performance_profile": _performance_profile},
    **{"pass_at_k_laws": _laws, "answers": _answers},
    **{"frontier": _scores, "pass_at_k_curves": _scores, "pass_at_k": _scores},
}
