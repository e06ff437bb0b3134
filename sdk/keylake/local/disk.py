"""Files of a disk, as pyiceberg asks for them.

pyiceberg's own class for them takes a third of a second to import, with pandas where that is installed: as long as all
else that a look-up from the command line does.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream

_SCHEME = "file:"


def is_on_disk(location: str) -> bool:
    """A location is a path or a URI of a file here."""
    return location.startswith(("/", _SCHEME))


def path_of(location: str) -> Path:
    """The path of a location: in that of Iceberg no character is escaped."""
    path = location.removeprefix(_SCHEME)
    return Path("/" + path.lstrip("/"))


class DiskFile(InputFile, OutputFile):
    """A file that is read and written by Arrow's own reader and writer of files."""

    def __init__(self, location: str) -> None:
        super().__init__(location=location)
        self._path = path_of(location)

    def __len__(self) -> int:
        return self._path.stat().st_size

    def exists(self) -> bool:
        return self._path.exists()

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002  # it is seekable
        stream: InputStream = pa.OSFile(str(self._path))
        return stream

    def create(self, overwrite: bool = False) -> OutputStream:
        """A new file, in folders that are made; FileExistsError where there is one that may not be replaced."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if not overwrite:
            self._path.touch(exist_ok=False)
        stream: OutputStream = pa.OSFile(str(self._path), "wb")
        return stream

    def to_input_file(self) -> InputFile:
        return self


class Disk(FileIO):
    """Files by their paths."""

    def new_input(self, location: str) -> InputFile:
        return DiskFile(location)

    def new_output(self, location: str) -> OutputFile:
        return DiskFile(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        path_of(location if isinstance(location, str) else location.location).unlink()
