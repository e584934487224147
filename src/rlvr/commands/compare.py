"""`rlvr compare`: how two runs, or two evaluations, differ."""

from pathlib import Path
from typing import Annotated

import typer

from rlvr.commands.lines import to_write
from rlvr.files import publish
from rlvr.stage_options import Results


def compare(
    a: Annotated[
        str, typer.Argument(metavar="A", help="A run, or an evaluation: <policy>/<evaluation>; or the beginning.")
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="Another of the same kind.")],
    html: Annotated[Path | None, typer.Option(help="Write one HTML file instead.")] = None,
    results: Results = Path("results"),
) -> None:
    """Print the settings that differ, pass@k with intervals, the problems that flipped, and paired curves.

    Of two runs, pass@k is that of the evaluations that both have. Intervals are over problems, at 95 %: they say
    nothing about other training seeds (docs/statistics.md).

    Example: rlvr compare RUN OTHER --html compare.html
    """
    from rlvr.show.comparison import compare as comparison
    from rlvr.show.lookup import find

    to_write("--html", html)
    of = comparison(results, find(results, a), find(results, b))
    if html:
        from rlvr.show import page

        publish(html, page.comparison_page(of))
        typer.echo(f"{html}: {len(of.settings)} settings, {len(of.scores)} evaluations, {len(of.curves)} curves")
    else:
        from rlvr.show import terminal

        terminal.show_comparison(of)
