"""Finds config/ for the commands: it is in the repository, not in the package."""

import re
from pathlib import Path
from typing import Annotated

import typer

from rlvr.commands.lines import fail

ConfigFolder = Annotated[
    Path | None,
    typer.Option(help="The folder config/. Default: ./config, that of a folder above, or of the repository."),
]
NewName = Annotated[str, typer.Argument(help="Its name in configuration: small letters, digits, underscores.")]


def folder_of(option: Path | None) -> Path:
    """`option`, else ./config, that of a folder above, or of the repository; exits with a message without any."""
    from rlvr.config.load import find_folder

    folder = option or find_folder()
    if folder is None:
        fail("no config/ here or in a folder above; go to a checkout, or give --config-folder")
    return folder.resolve()


def check_name(name: str) -> None:
    """Exits where a text cannot be a name in configuration."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        fail(f"{name!r}: use small letters, digits and underscores, a letter first")
