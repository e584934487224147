"""Stage: report. The page with links to each scale's overview; a single overview opens directly."""

from pathlib import Path
from typing import Annotated

import jinja2
import typer

from rlvr.files import publish

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{% if scales|length == 1 %}<meta http-equiv="refresh" content="0; url={{ scales[0] }}/index.html">
{% endif %}<title>RLVR papers: results by scale</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 3rem auto; max-width: 40rem; padding: 0 1rem; }
</style>
</head>
<body>
<h1>Results by scale</h1>
<ul>
{% for scale in scales %}<li><a href="{{ scale }}/index.html">{{ scale }}</a></li>
{% endfor %}</ul>
</body>
</html>
"""


def render(scales: list[str]) -> str:
    return jinja2.Environment(autoescape=True).from_string(PAGE).render(scales=scales)


def main(
    scales: Annotated[list[str], typer.Argument(help="Scales with an overview.")],
    out: Annotated[Path, typer.Option(help="HTML file to write.")],
) -> None:
    """Write the page."""
    publish(out, render(scales))


if __name__ == "__main__":
    typer.run(main)
