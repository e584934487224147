"""Writes the source of the site: the repository's pages as they are, and pages made from its data.

The source mirrors the repository, so that a link that works there works on the site.
"""

import shutil
from pathlib import Path
from typing import Annotated

import mirror
import typer
import yaml

ROOT = Path(__file__).resolve().parents[2]


def main(out: Annotated[Path, typer.Argument(help="Folder to write; replaced.")]) -> None:
    """Write the pages that sphinx-build reads."""
    shutil.rmtree(out, ignore_errors=True)
    nav = yaml.safe_load((ROOT / "docs/site/nav.yaml").read_text())
    mirror.write(ROOT, out, nav)


if __name__ == "__main__":
    typer.run(main)
