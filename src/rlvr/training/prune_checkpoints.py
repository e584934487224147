"""What a published run frees: its optimizer's moments and all but its newest checkpoint.

The weights and rows of the newest checkpoint stay, so the run can be published again, but not trained further. A note
in the state folder says how much was freed. It needs no torch.
"""

from collections.abc import Iterable
from pathlib import Path

from rlvr.files import publish_json, read_json, remove

FREED = "freed.json"


def drop(state: Path, paths: Iterable[Path], more: int = 0) -> None:
    """Remove files and folders of a state folder, and note their bytes and `more`."""
    freed = more
    for path in paths:
        freed += sum(file.lstat().st_size for file in (path, *path.rglob("*")) if file.is_file())
        remove(path)
    if freed:
        publish_json(state / FREED, {"bytes": bytes_freed(state) + freed})


def bytes_freed(state: Path) -> int:
    note = state / FREED
    return read_json(note)["bytes"] if note.exists() else 0
