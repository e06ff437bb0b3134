"""Reads of a directory do not wait for pandas, which pyarrow imports with the first array that it makes of objects."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager


class _Refusal:
    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is not needed here", name=name)


@contextmanager
def without_pandas() -> Generator[None]:
    """A context in which pandas is not imported, so that Arrow does without it.

    No value of pandas comes from the command line or from a file. Whoever needs pandas after the block imports it.
    """
    sys.meta_path.insert(0, _Refusal)  # pyright: ignore[reportArgumentType]
    try:
        yield
    finally:
        sys.meta_path.remove(_Refusal)  # pyright: ignore[reportArgumentType]
