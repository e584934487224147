"""The tutorial as a page: the cells of docs/tutorial.ipynb, run from top to bottom, each with what it prints.

`python docs/site/tutorial.py` stores what they print in the notebook, for those who only read it.
tests/site/test_site_pages.py fails where that is not what they print.
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


def with_outputs(notebook: Path) -> str:
    """The notebook's text with what each cell prints, and without anything of the machine."""
    content = json.loads(notebook.read_text())
    count = 0
    for cell, (kind, _, output) in zip(content["cells"], run(notebook), strict=True):
        if kind == "code":
            count += 1
            printed = {"name": "stdout", "output_type": "stream", "text": output.splitlines(keepends=True)}
            cell |= {"execution_count": count, "outputs": [printed] if output else []}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def page(notebook: Path) -> str:
    """The page in Markdown."""
    parts = []
    for kind, source, output in run(notebook):
        parts.append(source if kind == "markdown" else f"```python\n{source}\n```")
        parts += [f"```text\n{output.rstrip()}\n```"] if output else []
    return "\n\n".join([*parts, DOWNLOAD])


if __name__ == "__main__":
    tutorial = Path(__file__).parents[1] / "tutorial.ipynb"
    tutorial.write_text(with_outputs(tutorial))
