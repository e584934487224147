"""Where the correct solutions of some problems lie in the plane of two principal components (PACS, Figure 5b)."""

from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from rlvr.config.layers import ConfigError
from rlvr.config.plan import Item, Plan
from rlvr.figures import _scored
from rlvr.figures._looks import looks
from rlvr.figures._panels import Axes, Figure, grid, legend, nothing, starts_line
from rlvr.items.inputs import Solutions
from rlvr.items.layout import filled
from rlvr.items.scope import Scope
from rlvr.statistics.run_rows import cell_columns

CAPTION = "Correct solutions of the first training seed; larger dots are solutions drawn more often."
LEVELS = (0.25, 0.5, 0.75)  # shares of the solutions that lie outside a contour
FEWEST = 3  # different correct solutions of each method
COLUMNS = ["model", "stand_in", "arm", "label", "policies", "benchmark", "problem", "x", "y", "count", "seeds"]


class Config(_scored.ScoredFigure):
    problems: int = Field(default=4, ge=1)


def expand(name: str, config: Config, scope: Scope) -> Item:
    if len(config.over()) != 1 or not config.models or not config.arms:
        raise ConfigError(f"{scope.place}: a map of solutions needs models, arms and one benchmark")
    return _scored.expand(name, config.model_copy(update={"k": [1]}), scope)


class MapLayout(_scored.ScoredLayout):
    embedding: str
    problems: int


def lay_out(item: Item, plan: Plan, paper: str) -> MapLayout:
    return filled(MapLayout, item, plan, paper, embedding=plan.diversity.embedding)


def statistics(layout: MapLayout, solutions: Solutions) -> pd.DataFrame:
    """One row per problem, method and different correct solution: its coordinates, and how often it was drawn.

    The problems are those with the most different correct solutions of the method with fewest. Each method's
    embeddings are centred at its own mean, as in the paper; the components are those of all methods together.
    """
    from rlvr.scoring.diversity import encoder_of

    encoder, rows = encoder_of(layout.embedding), []
    (panel,) = layout.panels
    for model, cells in layout.by_model().items():
        found = [solutions[cell.policies[0], panel.evaluations[model]] for cell in cells]
        fewest = {p: min(len(of.get(p, {})) for of in found) for p in found[0]}
        chosen = [p for p in sorted(fewest, key=lambda p: (-fewest[p], p)) if fewest[p] >= FEWEST]
        for problem in chosen[: layout.problems]:
            texts = [list(of[problem]) for of in found]
            counts = [np.array(list(of[problem].values())) for of in found]
            vectors = [encoder.encode(part)[0] for part in texts]
            places = _components(vectors, counts)
            for cell, points_N2, count_N in zip(cells, places, counts, strict=True):
                columns = {**cell_columns(cell, cell.policies[:1]), "benchmark": panel.name}
                rows += [
                    {**columns, "problem": problem, "x": x, "y": y, "count": int(n), "seeds": 1}
                    for (x, y), n in zip(points_N2, count_N, strict=True)
                ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _components(vectors: list[NDArray[Any]], counts: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """The first two principal coordinates of each method's vectors, weighted by counts and centred at its own mean."""
    centred = [v - np.average(v, axis=0, weights=n) for v, n in zip(vectors, counts, strict=True)]
    weighted = np.concatenate([v * np.sqrt(n)[:, None] for v, n in zip(centred, counts, strict=True)])
    axes_2D = np.linalg.svd(weighted, full_matrices=False)[2][:2]
    largest = np.take_along_axis(axes_2D, np.abs(axes_2D).argmax(1)[:, None], axis=1)
    axes_2D = axes_2D * np.sign(largest)  # a sign that repeats
    places = [v @ axes_2D.T for v in centred]
    return [np.pad(p, ((0, 0), (0, 2 - p.shape[1]))) for p in places]


def draw(layout: MapLayout, frames: list[pd.DataFrame]) -> Figure:
    """The figure: a row per model, a panel per problem with each method's solutions and contours of their density."""
    from matplotlib.markers import MarkerStyle

    frame = frames[0]
    if frame.empty:
        return nothing(f"No problem has {FEWEST} different correct solutions of each method.")
    models, styles = frame.groupby("model", sort=False), looks(frame["arm"], layout)
    figure, blocks = grid(models["problem"].nunique().tolist(), height=2.3)
    parts = (part for _, of in models for part in of.groupby("problem", sort=False))
    for axes, (problem, points) in zip(chain.from_iterable(blocks), parts, strict=True):
        for arm, of_arm in points.groupby("arm", sort=False):
            look, sizes = styles[str(arm)], 8 + 3 * of_arm["count"]
            style = {"marker": MarkerStyle(look.marker), "color": look.color, "alpha": 0.55, "lw": 0}
            axes.scatter(of_arm["x"], of_arm["y"], sizes, label=of_arm["label"].iloc[0], **style)
            _contours(axes, of_arm, look.color)
        short = str(problem) if len(str(problem)) < 28 else f"{str(problem)[:26]}…"
        axes.set_title(f"{points['stand_in'].iloc[0]}\n{short}" if len(models) > 1 else short)
        axes.margins(0.15)
        axes.set(xlabel="first component", ylabel="second" if starts_line(axes) else None)
    legend(figure)
    return figure


def _contours(axes: Axes, points: pd.DataFrame, color: str) -> None:
    """Contours of a Gaussian density estimate, by shares of the points; none where points span no plane."""
    from scipy import stats

    if len(points) < 3 or np.linalg.matrix_rank(points[["x", "y"]] - points[["x", "y"]].mean(), tol=1e-9) < 2:
        return
    density = stats.gaussian_kde(points[["x", "y"]].T, weights=points["count"])
    reach = 1.5 * points[["x", "y"]].abs().max().max()
    xs, ys = np.meshgrid(np.linspace(-reach, reach, 80), np.linspace(-reach, reach, 80))
    heights = density(np.stack([xs.ravel(), ys.ravel()])).reshape(xs.shape)
    at_points = np.repeat(density(points[["x", "y"]].T), points["count"])
    axes.contour(xs, ys, heights, levels=np.unique(np.quantile(at_points, LEVELS)), colors=color, linewidths=0.9)


FIGURE = _scored.ScoredKind(
    config=Config,
    layout=MapLayout,
    expand=expand,
    lay_out=lay_out,
    statistics=statistics,
    reads=("solutions",),
    draw=draw,
    caption=CAPTION,
)
