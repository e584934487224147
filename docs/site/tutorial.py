"""The tutorial as a page: the cells of docs/tutorial.ipynb, run from top to bottom, each with what it prints.

The notebook has no outputs of its own, so none of them can be out of date.
"""

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

DOWNLOAD = "This page is {download}`a notebook <tutorial.ipynb>` too."


def run(notebook: Path) -> list[tuple[str, str, str]]:
    """Each cell's kind, source and output. A cell that fails raises its error."""
    variables: dict[str, Any] = {"__name__": "__main__"}
    cells = []
    for cell in json.loads(notebook.read_text())["cells"]:
        source, output = "".join(cell["source"]), StringIO()
        if cell["cell_type"] == "code":
            with redirect_stdout(output):
                exec(compile(source, str(notebook), "exec"), variables)
        cells.append((cell["cell_type"], source, output.getvalue()))
    return cells


def page(notebook: Path) -> str:
    """The page in Markdown."""
    parts = []
    for kind, source, output in run(notebook):
        parts.append(source if kind == "markdown" else f"```python\n{source}\n```")
        parts += [f"```text\n{output.rstrip()}\n```"] if output else []
    return "\n\n".join([*parts, DOWNLOAD])
