"""Where the commands find config/, which is in the repository and not in the package."""

from __future__ import annotations

from pathlib import Path

from rlvr.commands.lines import fail


def config_folder(command: str, given: Path | None) -> Path:
    """The folder given, else ./config, that of a folder above, or of the repository; ends with one line without any."""
    from rlvr.config.load import find_folder

    folder = given or find_folder()
    if folder is None:
        fail(command, "no config/ here or in a folder above; go to a checkout, or give --config-folder")
    return folder.resolve()
