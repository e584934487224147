"""Stage: figures. Draws one figure."""

import textwrap
from pathlib import Path
from typing import Annotated

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
import typer

from rlvr import items, stages
from rlvr.files import read_json, whole
from rlvr.items import FIGURES

STYLE = Path(items.__file__).parents[1] / "figures" / "rlvr.mplstyle"


def main(
    spec: stages.Spec,
    statistics: Annotated[list[Path], typer.Argument(help="CSV files of rlvr.items.statistics.")],
    out: Annotated[list[Path], typer.Option(help="Files to write: .pdf, .png.")],
) -> None:
    """Draw a figure."""
    layout = read_json(spec)
    kind = items.load(FIGURES, layout["kind"])
    with plt.style.context(STYLE):
        figure = kind.draw(layout, [pd.read_csv(path) for path in statistics])
        every_scale = items.hook(kind, "EVERY_SCALE", False)
        title = layout["title"] if every_scale else f"{layout['title']} · {layout['scale']} scale"
        figure.suptitle(textwrap.fill(title, int(11 * figure.get_figwidth())), fontsize=11)
        for path in out:
            # No dates and versions, so equal data give equal files.
            metadata = {"CreationDate": None, "Producer": None} if path.suffix == ".pdf" else {"Software": None}
            with whole(path) as partial:
                figure.savefig(partial, format=path.suffix[1:], metadata=metadata)


if __name__ == "__main__":
    typer.run(main)
