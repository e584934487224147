"""`rlvr export`: runs and evaluations as a folder for a hub or an archive."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from rlvr.commands.lines import fail
from rlvr.stage_options import Results


def export(
    out: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to write; it must not exist.")],
    run: Annotated[
        list[str] | None,
        typer.Option(help="A run, the beginning of its name, or a pattern such as '*-ace_grpo-*'; all without."),
    ] = None,
    policies: Annotated[bool, typer.Option(help="The trained policies too, each with a model card.")] = False,
    title: Annotated[str, typer.Option(help="The title of the data set.")] = "RLVR runs",
    creator: Annotated[list[str] | None, typer.Option(help="An author, as 'Family, Given'; may be repeated.")] = None,
    licence: Annotated[str, typer.Option(help="The licence, by its SPDX name.")] = "apache-2.0",
    results: Results = Path("results"),
) -> None:
    """Write finished runs, their metrics, and their policies' completions, verdicts and scores as parquet files.

    The folder has a card for a hub, CITATION.cff, .zenodo.json for an archive that gives a DOI, croissant.json for
    data set libraries, and SHA256SUMS.
    `--policies` adds each trained policy as a transformers folder with a model card.

    Example: rlvr export FOLDER --run '*-ace_grpo-*' --policies
    """
    from rich.console import Console
    from rich.progress import Progress

    from rlvr.export.folder import About, choose
    from rlvr.export.folder import export as write

    if out.exists():
        fail(f"{out} exists; name a folder that does not")
    chosen = choose(results, run or [])
    about = About(title, licence, creator or ["The maintainers of the RLVR reproduction pipeline"])
    with Progress(transient=True, console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task("completions", total=len(chosen.evaluations))
        write(results, chosen, out, about, policies=policies, done=lambda _: progress.advance(task))
    typer.echo(f"{out}: {len(chosen.runs)} runs, {len(chosen.evaluations)} evaluations")
