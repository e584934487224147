"""Stage: report. The page with links to each scale's overview; a single overview opens directly."""

from pathlib import Path
from typing import Annotated

import typer

from rlvr.files import publish
from rlvr.report import html


def render(scales: list[str]) -> str:
    links = "\n".join(f"- [{scale}]({scale}/index.html)" for scale in scales)
    at_once = f'<meta http-equiv="refresh" content="0; url={scales[0]}/index.html">' if len(scales) == 1 else ""
    return html.page(f"# Results by scale\n\n{links}\n", head=at_once)


def main(
    scales: Annotated[list[str], typer.Argument(help="Scales with an overview.")],
    out: Annotated[Path, typer.Option(help="HTML file to write.")],
) -> None:
    """Write the page."""
    publish(out, render(scales))


if __name__ == "__main__":
    typer.run(main)
