"""Stage: figures. One function a kind; `layout["kind"]` picks it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
import typer
from matplotlib.figure import Figure

from rlvr.figures.closed_forms import analytic
from rlvr.figures.scored import frontier, pass_at_k_curves
from rlvr.figures.training import collapse, masses, over_steps, solve_rates
from rlvr.files import whole

KINDS: dict[str, Callable[[dict[str, Any], list[pd.DataFrame]], Figure]] = {
    function.__name__: function
    for function in (pass_at_k_curves, frontier, analytic, over_steps, solve_rates, masses, collapse)
}


def main(
    layout: Annotated[str, typer.Option(help="Kind, title and scale, as JSON.")],
    statistics: Annotated[list[Path], typer.Argument(help="CSV files of the statistics stage.")],
    out: Annotated[list[Path], typer.Option(help="Files to write: .pdf, .png.")],
) -> None:
    """Draw a figure."""
    content = json.loads(layout)
    plt.style.use(Path(__file__).with_name("rlvr.mplstyle"))
    figure = KINDS[content["kind"]](content, [pd.read_csv(path) for path in statistics])
    title = content["title"] if content["kind"] == "analytic" else f"{content['title']} · {content['scale']} scale"
    figure.suptitle(textwrap.fill(title, int(11 * figure.get_figwidth())), fontsize=11)
    for path in out:
        # Without dates and versions, so that equal data give equal files.
        metadata = {"CreationDate": None, "Producer": None} if path.suffix == ".pdf" else {"Software": None}
        with whole(path) as partial:
            figure.savefig(partial, format=path.suffix[1:], metadata=metadata)


if __name__ == "__main__":
    typer.run(main)
