"""Pictures of a set that stand in a zip file beside its rows, which name them."""

import zipfile
import zlib
from functools import cached_property
from pathlib import Path

from rlvr.data.adapters import LeftOut
from rlvr.data.adapters._pictures import ending
from rlvr.data.rows import DataError

LARGEST = 50_000_000  # bytes of a picture, unpacked


class Archive:
    """The zip file `name` beside a set's file."""

    def __init__(self, file: Path, name: str):
        self.path = file.with_name(name)

    @cached_property
    def _zip(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except (OSError, zipfile.BadZipFile) as error:
            raise DataError(f"{self.path}: must be the zip file with the set's pictures ({error})") from error

    def picture(self, name: str) -> bytes:
        """The content of a picture. Raises LeftOut if it is missing, damaged, locked, too large or no picture."""
        archive = self._zip
        try:
            entry = archive.getinfo(name)
            data = b"" if entry.file_size > LARGEST else archive.read(entry)
        except (KeyError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError):
            data = b""
        if ending(data) is None:
            raise LeftOut("no picture")
        return data
