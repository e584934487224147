"""`rlvr recompute`: the numbers of a snapshot again, from its counts."""

from pathlib import Path
from typing import Annotated

import typer

from rlvr.commands.checkout import ConfigFolder, folder_of


def recompute(
    folder: Annotated[Path, typer.Argument(help="A snapshot, such as docs/results.", show_default=False)],
    out: Annotated[
        Path | None,
        typer.Option(help="Also write all numbers, tables, pictures and pages here; a snapshot lacks most of them."),
    ] = None,
    config_folder: ConfigFolder = None,
) -> None:
    """Compute every interval, verdict and table of a snapshot again from its counts, and compare.

    Prints a line for each file that differs, and then exits with 1. It trains and samples nothing.

    Example: rlvr recompute docs/results
    """
    import tempfile

    from rlvr.commands.lines import fail
    from rlvr.report.readme import CONTENTS
    from rlvr.report.recompute import recompute, render_others

    root = folder_of(config_folder).parent
    if out is not None and out.resolve() == folder.resolve():
        fail(f"--out: {out} is the snapshot itself; name another folder")
    if out is not None and out.exists() and not (out / CONTENTS).is_file() and (out.is_file() or any(out.iterdir())):
        fail(f"--out: {out} has other files; name a new folder, or one that this command wrote")
    both = [place / CONTENTS for place in (folder, out) if place is not None and (place / CONTENTS).is_file()]
    if len({file.read_bytes() for file in both}) > 1:
        fail(f"--out: {out} has another snapshot; remove it, or name a new folder")
    with tempfile.TemporaryDirectory() as scratch:
        into = out or Path(scratch)
        different = list(recompute(folder, root, into))
        if out is not None:
            render_others(out, root)
    for line in different:
        typer.echo(line)
    if different:
        raise typer.Exit(1)
    typer.echo(f"{folder}: all numbers are those of its counts")
