"""Stage: figures. Draws one figure."""

from functools import partial
from pathlib import Path
from textwrap import wrap
from typing import Annotated

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
import typer
from matplotlib.figure import Figure
from matplotlib.text import Text

from rlvr import items, stage_options
from rlvr.config.layouts import Layout
from rlvr.files import read_json, whole
from rlvr.items import FIGURE_KINDS

STYLE = Path(items.__file__).parents[1] / "figures" / "rlvr.mplstyle"


def draw(layout: Layout, frames: list[pd.DataFrame]) -> Figure:
    """The figure as it is published: without its title (the page prints it above or below), with what it is of."""
    kind = FIGURE_KINDS.load(layout.kind)
    figure = kind.draw(layout, frames)
    if not kind.every_scale:
        figure.suptitle(_of(layout, frames), x=0.995, ha="right", color="0.4")
    unbroken: dict[Text, str] = {}
    while _break_long_labels(figure, unbroken):  # a broken label takes room from its panel
        pass
    figure.set_layout_engine("none")  # files of any resolution have this layout
    return figure


def _of(layout: Layout, frames: list[pd.DataFrame]) -> str:
    """The scale, and the model where all panels have the same."""
    models = {str(model) for frame in frames if "stand_in" in frame for model in frame["stand_in"]}
    return ", ".join([*(models if len(models) == 1 else ()), f"{layout.scale} scale"])


def _break_long_labels(figure: Figure, unbroken: dict[Text, str]) -> bool:
    """Breaks titles and axis labels between words where they are longer than their panel; whether there was one.

    `unbroken` keeps their texts, so that a label to break once more is broken as a whole. The panels are laid out and
    not drawn, so none may have a fixed aspect.
    """
    engine = figure.get_layout_engine()
    assert engine is not None, "the style has one"
    engine.execute(figure)
    broken = False
    for axes in figure.axes:
        room = axes.get_window_extent()
        for text, length in ((axes.title, room.width), (axes.xaxis.label, room.width), (axes.yaxis.label, room.height)):
            unbroken.setdefault(text, text.get_text())
            broken |= axes.get_visible() and _break(text, length, unbroken[text])
    return broken


def _break(text: Text, length: float, unbroken: str) -> bool:
    box, before = text.get_window_extent(), text.get_text()
    along = box.height if text.get_rotation() else box.width
    if along > length:
        letters = max(8, int(max(map(len, before.splitlines())) * length / along))
        text.set_text("\n".join(_even(line, letters) for line in unbroken.splitlines()))
    return text.get_text() != before


def _even(line: str, letters: int) -> str:
    """A line as the fewest of at most so many letters, as even as they can be.

    A longer word has a line of its own, or one for each part of it between hyphens.
    """
    hyphens = max(map(len, line.split()), default=0) > letters
    of_words = partial(wrap, line, break_long_words=False, break_on_hyphens=hyphens)
    fewest = len(of_words(letters))
    widths = (width for width in range(1, letters + 1) if len(of_words(width)) == fewest)
    return "\n".join(of_words(next(widths, letters)))


def main(
    spec: stage_options.Spec,
    statistics: Annotated[list[Path], typer.Argument(help="CSV files of rlvr.items.statistics.")],
    out: Annotated[list[Path], typer.Option(help="Files to write: .pdf, .png.")],
) -> None:
    """Draw a figure."""
    content = read_json(spec)
    layout = FIGURE_KINDS.load(content["kind"]).read(content)
    with plt.style.context(STYLE):
        figure = draw(layout, [pd.read_csv(path) for path in statistics])
        for path in out:
            # The title, for a file without its page. No dates and versions, so equal data give equal files.
            none = {"CreationDate": None, "Producer": None} if path.suffix == ".pdf" else {"Software": None}
            with whole(path) as partial:
                figure.savefig(partial, format=path.suffix[1:], metadata={"Title": layout.title, **none})
        plt.close(figure)


if __name__ == "__main__":
    typer.run(main)
