"""`rlvr data`: lists the data sets, and prepares one from the hub or from local files."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr.commands.checkout import ConfigFolder, folder_of
from rlvr.commands.lines import fail

app = typer.Typer(no_args_is_help=True, help="List the data sets of the papers, and prepare one of them.")

HOME = Path("data")
OURS = "made by this project, not read from files"


@app.command("list")
def show(config_folder: ConfigFolder = None) -> None:
    """List every set: source, licence, published number, revision, the papers that use it, and what is in data/.

    `pinned`: the entry names a commit. `main`: the newest commit, which `prepare` writes into the card.

    Example: rlvr data list
    """
    from tabulate import tabulate

    sets = _sets(config_folder)
    rows = [_row(data) for data in sets.values()]
    typer.echo(tabulate(rows, headers=["name", "source", "licence", "problems", "revision", "papers", "here"]))


@app.command()
def prepare(
    name: Annotated[str, typer.Argument(help="The set, as in `rlvr data list`.", show_default=False)],
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="A file of the set in its own published format (JSON lines, JSON, CSV, parquet); repeat for several.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder to write.", show_default="data/NAME")
    ] = None,
    compare: Annotated[
        bool, typer.Option(help="Count the overlap with other prepared sets in the same folder.")
    ] = True,
    any_count: Annotated[
        bool,
        typer.Option(
            "--any-count", help="Accept a file with fewer or more problems than published; runs reject such a set."
        ),
    ] = False,
    config_folder: ConfigFolder = None,
) -> None:
    """Write problems.jsonl, card.json and card.md of a set, and its pictures and demonstrations where it has any.

    The set's files are those of --from, else those in data/NAME/, else the hub's. Without a network and without files
    this says which files to put where. It writes nothing before all rows are read, nor if the number of problems
    differs from the published one.

    Example: rlvr data prepare aime-2025
    """
    from rlvr.config.load import look_up
    from rlvr.config.schema.models_and_data import Mixture, Published, Synthetic
    from rlvr.data import card
    from rlvr.data.prepare import make, overlap_with_siblings
    from rlvr.data.rows import DataError
    from rlvr.files import RecordError

    data = look_up(_sets(config_folder), name, "data set", "NAME")
    if files and not isinstance(data, Published):
        fail(f"--from: {name} is {'mixed of other sets' if isinstance(data, Mixture) else OURS}")
    if any_count and isinstance(data, Synthetic):
        fail(f"--any-count: {name} is {OURS}")
    folder = out or HOME / name
    try:
        content = make(data, folder, files, any_count=any_count)
        if compare and isinstance(data, Published):
            content["overlap"] = overlap_with_siblings(folder)
        card.write(folder, content)
    except (DataError, RecordError, OSError) as error:
        fail(f"{name}: {error}")
    typer.echo(_summary(content, folder))


def _summary(content: dict[str, Any], folder: Path) -> str:
    text = f"{content['name']}: {content['problems']} problems"
    if "rows" in content:
        left_out = sum(content["left_out"].values())
        text += f" from {content['rows']} rows, {left_out} left out, {content['repeated']} repeated"
    if content.get("differs"):
        text += f"; published are {content['expected']}"
    return f"{text}; see {folder / 'card.md'}"


def _sets(folder: Path | None) -> dict[str, Any]:
    from rlvr.config.load import read_data

    path = folder_of(folder)
    return read_data(path, path.parent)


def _row(data: Any) -> list[Any]:
    from rlvr.config.schema.models_and_data import Mixture, Synthetic
    from rlvr.data import card

    if isinstance(data, Synthetic):
        return [data.name, "made here", card.licence_of(data), data.problems, "", "stand-in", _here(data)]
    sets = [share.data for share in data.shares] if isinstance(data, Mixture) else [data]
    left_out = len(getattr(data, "special_judges", ()))  # problems
    licences = (card.licence_of(one).split(";")[0] for one in sets)  # the card has the rest
    return [
        data.name,
        _each(one.repo for one in sets),
        _each(licences),
        f"{data.problems or 'not stated'}{f', {left_out} left out' if left_out else ''}",
        _each("pinned" if one.pinned else one.revision for one in sets),
        ", ".join(dict.fromkeys(paper for one in sets for paper in one.about.papers)),
        _here(data),
    ]


def _each(values: Iterable[str]) -> str:
    """The distinct values of a mixture's sets."""
    return " + ".join(dict.fromkeys(values))


def _here(data: Any) -> str:
    """The state of a set in data/NAME/."""
    from rlvr.config.schema.models_and_data import Published
    from rlvr.data import card
    from rlvr.data.rows import DataError
    from rlvr.data.sources import DataUnavailable, brought

    home = HOME / data.name
    try:
        prepared = card.read(home)
        if prepared is not None and (home / "problems.jsonl").is_file():
            return f"prepared ({prepared['problems']})"
        files = brought(data, home) if isinstance(data, Published) else []
    except DataUnavailable:
        return "some files"
    except DataError:
        return "a damaged card"
    return f"brought ({len(files)} file{'s' if len(files) > 1 else ''})" if files else ""
