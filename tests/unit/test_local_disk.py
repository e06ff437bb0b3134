"""Files of a disk behave as those of pyiceberg's own class for them."""

from pathlib import Path

import pytest
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

from keylake.local.disk import Disk, is_on_disk

EITHER = pytest.mark.parametrize("files", [Disk(), PyArrowFileIO()], ids=["ours", "pyiceberg's"])


@EITHER
@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}"])
def test_a_file_is_written_read_and_deleted(files: FileIO, form: str, tmp_path: Path) -> None:
    """Folders are made; no character of a path is escaped."""
    path = tmp_path / "made" / "city=New%20York é" / "a b.parquet"
    location = form.format(path)
    assert not files.new_input(location).exists()
    with files.new_output(location).create() as stream:
        stream.write(b"0123456789")
    assert path.read_bytes() == b"0123456789"

    there = files.new_input(location)
    assert (there.exists(), len(there), there.location) == (True, 10, location)
    with there.open() as stream:
        stream.seek(-3, 2)
        assert (stream.tell(), stream.read(2), stream.read()) == (7, b"78", b"9")
    files.delete(there)
    assert not path.exists()


@EITHER
def test_a_file_is_replaced_only_where_that_is_said(files: FileIO, tmp_path: Path) -> None:
    location = str(tmp_path / "a")
    for text in (b"long", b"new"):
        with files.new_output(location).create(overwrite=True) as stream:
            stream.write(text)
    with pytest.raises(FileExistsError):
        files.new_output(location).create()
    assert Path(location).read_bytes() == b"new"


@EITHER
def test_a_file_that_is_not_there_is_told(files: FileIO, tmp_path: Path) -> None:
    location = str(tmp_path / "nowhere")
    for asked in (
        files.new_input(location).open,
        lambda: len(files.new_input(location)),
        lambda: files.delete(location),
    ):
        with pytest.raises(FileNotFoundError):
            asked()


@pytest.mark.parametrize(
    ("location", "is_here"),
    [("/lake/a", True), ("file:/lake/a", True), ("s3://lake/a", False), ("hdfs://h/a", False), ("relative/a", False)],
)
def test_locations_of_a_disk_and_of_stores(location: str, is_here: bool) -> None:
    assert is_on_disk(location) == is_here
