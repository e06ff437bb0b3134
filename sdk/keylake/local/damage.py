"""Files that cannot be read, as errors that name them: damaged, cut short, gone, or in a store that does not answer."""

from __future__ import annotations

import errno
import re
from collections.abc import Generator
from contextlib import contextmanager

import pyarrow as pa
from pyiceberg.io import FileIO

from keylake.errors import KeylakeError, StoreFailed, Unavailable

_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)  # a person has to mend that
# What Arrow's client of S3 says of keys that a store does not take.
_REFUSED_KEYS = re.compile(
    r"AWS Error (ACCESS_DENIED|INVALID_ACCESS_KEY_ID|INVALID_CLIENT_TOKEN_ID|MISSING_AUTHENTICATION_TOKEN"
    r"|SIGNATURE_DOES_NOT_MATCH|UNRECOGNIZED_CLIENT|UNKNOWN \(HTTP status 40[13]\))"
)
_NEXT = "Restore the file, or roll the table back to a commit before it: kl.connect()"


@contextmanager
def reading(what: str, path: str, io: FileIO, size: int | None = None) -> Generator[None]:
    """Whatever is raised in the block, which reads a file, comes out as an error that names it.

    That a file is not there is for the caller to say: it may have expired.
    """
    try:
        yield
    except (KeylakeError, FileNotFoundError):
        raise
    except Exception as error:  # noqa: BLE001  # what decoders of garbled bytes raise is of many kinds
        raise failure(what, path, io, error, size) from None


@contextmanager
def writing(what: str) -> Generator[None]:
    """Whatever a store raises in the block, which writes files, comes out as an error of the store."""
    try:
        yield
    except (KeylakeError, ValueError, TypeError):
        raise
    except Exception as error:  # noqa: BLE001  # stores raise of many kinds
        kind = StoreFailed if _is_refusal(error) else Unavailable
        raise kind(f"The store does not take {what}: {first_line(error)}. Nothing was written.") from None


@contextmanager
def decoding(name: str) -> Generator[None]:
    """Values that cannot be decoded, of files without checksums, come out as an error of the table."""
    try:
        yield
    except (UnicodeDecodeError, pa.ArrowException) as error:
        raise StoreFailed(f"A file of {name} has values that are damaged: {first_line(error)}. {_NEXT}.") from None


@contextmanager
def facts(name: str) -> Generator[None]:
    """Properties and summaries that cannot be read come out as an error of the table."""
    try:
        yield
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError) as error:
        raise damaged_definition(name, f"what it says cannot be read: {first_line(error)}") from None


def failure(what: str, path: str, io: FileIO, error: Exception, size: int | None = None) -> StoreFailed:
    """The error of a file that could not be read: its bytes are asked for once more, to tell damage from the store's.

    `size` is the one that the table says. Raises FileNotFoundError where the file is not there.
    """
    try:
        there = size_in_store(path, io)
    except StoreFailed as away:
        return away
    if size is not None and there != size:
        return StoreFailed(f"{what} {path} has {there:,} bytes, and the table says {size:,}: it is damaged. {_NEXT}.")
    return damaged(what, path, first_line(error))


def size_in_store(path: str, io: FileIO) -> int:
    """The size of a file of which the store gives the first and the last byte.

    Raises FileNotFoundError, and the store's error where it refuses or does not answer.
    """
    try:
        with io.new_input(path).open() as stream:
            there = len(io.new_input(path))
            stream.read(1)
            stream.seek(max(there - 1, 0))
            stream.read(1)
            return there
    except FileNotFoundError:
        raise
    except Exception as away:  # noqa: BLE001  # stores raise of many kinds
        if _is_refusal(away):
            raise StoreFailed(
                f"The store refuses {path}: {first_line(away)}. Give this process the permission to read it, or the "
                "right keys, and try again."
            ) from None
        raise Unavailable(
            f"The store does not give {path}: {first_line(away)}. Look at the store, and try again."
        ) from None


def _is_refusal(error: Exception) -> bool:
    return getattr(error, "errno", None) in _REFUSED or _REFUSED_KEYS.search(str(error)) is not None


def damaged(what: str, path: str, why: str) -> StoreFailed:
    """The error of a file whose content is wrong."""
    return StoreFailed(f"{what} {path} is damaged: {why}. {_NEXT}.")


def damaged_definition(name: str, why: str) -> StoreFailed:
    """The error of a table whose metadata does not have what keylake gives each table."""
    return StoreFailed(f"The metadata of {name} is damaged: {why.rstrip('.')}. {_NEXT}.")


def first_line(error: Exception) -> str:
    """The text of an error, in one line; its kind, where it says nothing or only a value."""
    said = (str(error).strip().splitlines() or [""])[0].rstrip(".")
    return said if isinstance(error, OSError | ValueError) and said else f"{type(error).__name__} {said}".strip()
