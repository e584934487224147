"""Pictures of a set that stand in a zip file beside its rows, which name them."""

import zipfile
import zlib
from pathlib import Path

from rlvr.data.adapters import LeftOut
from rlvr.data.adapters._pictures import ending
from rlvr.data.rows import DataError

LARGEST = 50_000_000  # bytes of a picture, unpacked


def opened(path: Path) -> zipfile.ZipFile:
    """The zip file at a path. Raises DataError if it is none."""
    try:
        return zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: must be the zip file with the set's pictures ({error})") from error


def picture(archive: zipfile.ZipFile, name: str) -> bytes:
    """The content of a picture. Raises LeftOut if it is missing, damaged, locked, too large or no picture."""
    try:
        entry = archive.getinfo(name)
        data = b"" if entry.file_size > LARGEST else archive.read(entry)
    except (KeyError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError):
        data = b""
    if ending(data) is None:
        raise LeftOut("no picture")
    return data
