"""README's picture: each method beside its baseline, its placebos and its published gain, from a snapshot."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from rlvr.claims.contrasts import PAPER
from rlvr.claims.mechanisms import NO
from rlvr.config.colors import COLORS
from rlvr.files import whole
from rlvr.report import rerender
from rlvr.statistics.shown import records

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:  # a snapshot without comparisons needs no matplotlib
    Axes = Any

COMPARISONS = "comparisons"  # a kind of table
PICTURES = {"findings.png": False, "findings-dark.png": True}  # by whether the background is dark
BETWEEN = ["difference", "difference_low", "difference_high"]
WIDTH, ROW, AROUND, DPI = 5.2, 0.44, 0.95, 150  # inches, and dots per inch
DARK = {
    "figure.facecolor": "#0d1117",
    "axes.facecolor": "#0d1117",
    "text.color": "#e6edf3",
    "axes.edgecolor": "#8b949e",
}
DARK |= {"xtick.color": "#e6edf3", "ytick.color": "#e6edf3", "axes.labelcolor": "#e6edf3", "grid.color": "#30363d"}


def compared(folder: Path) -> list[rerender.KeptItem]:
    """The tables of comparisons in a paper's folder of a snapshot."""
    every = rerender.items_of(folder)
    return [every[name] for name in sorted(every) if every[name].layout.kind == COMPARISONS]


def rows(folder: Path, papers: Sequence[str]) -> pd.DataFrame:
    """The rows of each table of comparisons of a snapshot's papers (`of_paper`)."""
    found = []
    for paper in papers:
        for item in compared(folder / paper):
            scores = [pd.read_csv(file) for file in sorted((folder / paper / rerender.DATA).glob("*.csv*"))]
            found.append(of_paper(paper, item.statistics()[item.name], scores))
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def of_paper(paper: str, comparisons: pd.DataFrame, scores: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """A row per benchmark, method with a placebo and arm that it is compared with, at the largest k.

    Of `rlvr.tables.comparisons`, at the papers' setting; `published` is the published difference to the baseline in
    percent points, where statistics in `scores` have both for this model, benchmark and k.
    """
    baseline, told = comparisons["against"].iloc[0], _published(scores)
    with_placebo = comparisons[comparisons["against"] != baseline]["arm"]
    at = (comparisons["k"] == comparisons["k"].max()) & (comparisons["effort"] == PAPER)
    found = []
    for row in records(comparisons[at & comparisons["arm"].isin(with_placebo)]):
        arm, other = (told.get((row["model"], row["benchmark"], row["k"], a)) for a in (row["arm"], row["against"]))
        gain = None if arm is None or other is None else arm - other
        found.append({**row, "paper": paper, "placebo": row["against"] != baseline, "published": gain})
    return pd.DataFrame(found)


def _published(scores: Iterable[pd.DataFrame]) -> Mapping[tuple[Any, ...], float]:
    """The published pass@k of a paper in percent, by model, benchmark, k and arm."""
    values = {}
    for frame in scores:
        if {"published", "score", "arm", "benchmark", "k", "model"} <= set(frame):
            told = frame[frame["published"].notna() & (frame["score"] == "pass")]
            values |= {(row.model, row.benchmark, row.k, row.arm): row.published for row in told.itertuples()}
    return values


def publish(folder: Path, papers: Sequence[str]) -> None:
    """Draws both pictures into a snapshot; nothing where it has no comparisons. Equal files give equal pictures."""
    found = rows(folder, papers)
    for name, dark in PICTURES.items():
        if len(found):
            draw(found, folder / name, dark=dark)


def draw(found: pd.DataFrame, path: Path, *, dark: bool) -> None:
    """One line per method and benchmark: baseline, placebos and published gain on one axis of percent points."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    lines = [of for _, of in found.groupby(["paper", "benchmark", "arm"], sort=False)]
    look: Any = {"font.size": 9} | (DARK if dark else {})
    with plt.rc_context(look):
        figure, axes = plt.subplots(figsize=(WIDTH, ROW * len(lines) + AROUND), layout="constrained")
        for y, of in enumerate(lines):
            _line(axes, y, of, dark)
        axes.axvline(0, color=plt.rcParams["axes.edgecolor"], linewidth=1)
        axes.set_yticks(range(len(lines)), [_label(of.iloc[0]) for of in lines], linespacing=1.0)
        axes.set(ylim=(len(lines) - 0.5, -0.6), xlabel="points of pass@k, with 95 % intervals")
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", linewidth=0.5, alpha=0.5)
        axes.spines[["top", "right", "left"]].set_visible(False)
        figure.legend(handles=list(_legend(dark)), loc="outside upper center", ncols=2, frameon=False, fontsize=8.5)
        with whole(path) as partial:
            figure.savefig(partial, format="png", dpi=DPI, metadata={"Software": None})
        plt.close(figure)
    rerender.copy(path, path)


def _line(axes: Axes, y: int, of: pd.DataFrame, dark: bool) -> None:
    beside = of[of["placebo"]]
    for offset, row in zip(
        [-0.22, *_spread(len(beside))], [*records(of[~of["placebo"]]), *records(beside)], strict=True
    ):
        difference, low, high = (row[name] for name in BETWEEN)
        look = _look("orange" if row["placebo"] else "blue", hollow=row["acts"] == NO, dark=dark)
        axes.plot([low, high], [y + offset] * 2, color=look["color"], linewidth=1.6)
        axes.plot(difference, y + offset, **{**look, "marker": "s" if row["placebo"] else "o"})
        if not row["placebo"] and pd.notna(row["published"]):
            axes.plot(row["published"], y + offset, **_diamond(dark))


def _spread(count: int) -> list[float]:
    """Heights below a line's middle for the placebos."""
    return [0.02] if count == 1 else [0.02 + 0.2 * i for i in range(count)]


def _label(row: Any) -> str:
    where = row["benchmark"] if row["data"] == row["benchmark"] else f"{row['benchmark']} → {row['data']}"
    return f"{row['label']}, @{row['k']}\n{where}"


def _look(color: str, *, hollow: bool, dark: bool) -> dict[str, Any]:
    face = (DARK["figure.facecolor"] if dark else "white") if hollow else COLORS[color]
    return {"marker": "o", "color": COLORS[color], "markerfacecolor": face, "markersize": 5.5, "linestyle": ""}


def _diamond(dark: bool) -> dict[str, Any]:
    color = DARK["text.color"] if dark else "0.2"
    return {"marker": "D", "color": color, "markerfacecolor": "none", "markersize": 6, "linestyle": ""}


def _legend(dark: bool) -> Iterator[Any]:
    from matplotlib.lines import Line2D

    yield Line2D([], [], label="method − baseline, here", **_look("blue", hollow=False, dark=dark))
    yield Line2D([], [], label="method − placebo, here", **{**_look("orange", hollow=False, dark=dark), "marker": "s"})
    yield Line2D([], [], label="hollow: its mechanism does not act", **_look("blue", hollow=True, dark=dark))
    yield Line2D([], [], label="method − baseline, published", **_diamond(dark))
