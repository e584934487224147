"""Statistics of every kind of figure, made up for the cells of its layout, and the figures that they give."""

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rlvr.config.layouts import CellsLayout, Layout
from rlvr.config.plan import Plan
from rlvr.figures.masses import SIDES
from rlvr.figures.solve_rates import IN_ORDER
from rlvr.items import FIGURE_KINDS, layout
from rlvr.registry import papers
from rlvr.statistics.run_rows import by_seed, cell_columns

PAPERS = papers()
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
    return pd.DataFrame(kinds_made_up()[of.kind](of, np.random.default_rng(0)))


def heads_of(of: CellsLayout):
    return [({**cell_columns(cell), "seeds": SEEDS}, place) for place, cell in enumerate(of.cells)]


def interval(value: float, half: float) -> dict[str, float]:
    return {"value": value, "value_low": value - half, "value_high": value + half}


def seeds_of(level: float, generator) -> dict[str, Any]:
    values = level + generator.normal(0, 0.1 * abs(level) + 0.01, SEEDS)
    return {**interval(values.mean(), 2.5 * values.std(ddof=1)), "by_seed": by_seed(values)}


def over_steps(of, generator):
    steps_of = {"probe": range(0, STEPS + 1, 8), "metrics": range(1, STEPS + 1), "weights": range(8, STEPS + 1, 8)}
    measures = [(measure.written, steps_of[measure.rows]) for measure in of.measures]
    return [
        {**head, "measure": name, "step": step, **seeds_of(0.2 + 0.03 * place + 0.4 * step / STEPS, generator)}
        for head, place in heads_of(of)
        for name, steps in measures
        for step in steps
    ]


def _frontier_over_steps(of, generator):
    rows = []
    for head, place in heads_of(of):
        for step in range(0, STEPS + 1, 8):
            for k in (1, of.k):
                value = 20 + 10 * np.log2(k) + step / (2 + k) + place
                rows.append({**head, "measure": "pass", "step": step, "k": k, **interval(value, 5)})
        if head["arm"] != of.compare_with:
            rows.append({**head, "measure": "gain at equal pass@1", "step": 9.5, "k": of.k, **interval(-12.3, 10)})
    return rows


def _solve_rates(of, generator):
    rows = []
    for head, _ in heads_of(of):
        for step in range(1, STEPS + 1):
            for name, share in zip(IN_ORDER, generator.dirichlet(np.ones(len(IN_ORDER))), strict=True):
                rows.append({**head, "measure": "solve_rates", "step": step, "bin": name, "value": share})
    return rows


def _masses(of, generator):
    rows = []
    for (head, place), weights in zip(heads_of(of), of.weights, strict=True):
        for side in SIDES:
            for c in range(9):
                p, value = c / 8, (c / 8 * (1 - c / 8)) * (1 + place / 10)
                common = {**head, "measure": "masses", "side": side, "p": p}
                rows.append({**common, "form": "realised", **interval(value, 0.02)})
                form = "grpo" if weights.estimator["name"] in ("ace", "lens") else "own"
                rows.append({**common, "form": form, **interval(value, np.nan)})
    return rows


def _collapse(of, generator):
    rows = []
    for head, place in heads_of(of):
        for seed in range(SEEDS):
            for step in range(1, STEPS + 1):
                value = 0.3 - 0.2 * step / STEPS + 0.4 * (seed == 0 and place == 0) * (step > 30)
                row = {**head, "policies": f"run{seed}", "measure": "unsolved", "step": step, "value": value}
                rows.append({**row, "running_mean": value, "collapsed": seed == 0 and place == 0})
    return rows


def pairs(of, generator):
    heads = heads_of(of)
    return [
        {**head, "other": other["arm"], "other_label": other["label"], "benchmark": "x", "measure": "cosine"}
        | {**interval(generator.uniform(-0.99, 0.99), 0.1), "p": 0.2, "q": generator.uniform(), "detectable": 3.0}
        for head, place in heads
        for other, later in heads
        if later > place and other["model"] == head["model"]
    ]


def _scores(of, generator):
    rows = []
    for (head, place), cell in zip(heads_of(of), of.cells, strict=True):
        for panel in of.panels:
            for k in of.k:
                value = 30 + 12 * np.log2(k) + 2 * place % 9 + 4e4 * (cell.learning_rate or 0)
                row = {**head, "benchmark": panel.name, "score": "pass", "k": k, **interval(value, 4)}
                theirs = 60 + 5 * np.log2(k) + place if cell.published else None
                rows.append({**row, "learning_rate": cell.learning_rate, "published": theirs})
    return rows


KINDS = {
    **{"over_steps": over_steps, "frontier_over_steps": _frontier_over_steps, "solve_rates": _solve_rates},
    **{"masses": _masses, "collapse": _collapse},
    **{"frontier": _scores, "pass_at_k_curves": _scores, "pass_at_k": _scores},
}


@cache
def kinds_made_up() -> dict[str, Any]:
    """By kind, the function that makes up its statistics: those here, then those in `made_up` of each paper's tests."""
    found = dict(KINDS)
    for path in sorted(Path(__file__).parents[1].glob("papers/*/made_up.py")):
        spec = importlib.util.spec_from_file_location(f"made_up_{path.parent.name}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found |= module.KINDS
    return found
