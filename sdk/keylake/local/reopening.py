"""Lakes and tables that another process opens again: what a pickle of them has, which is no secret.

A process opens each lake once, whatever number of tables is unpickled in it; they share its files and its memory.
"""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass
from functools import lru_cache

from pyiceberg.catalog import Catalog

from keylake.local.catalogs import is_secret, opened
from keylake.local.parquet import ParquetFiles

_AT_MOST = 8
_LOCK = threading.Lock()


@dataclass(frozen=True)
class Place:
    """The catalog of a lake without its secrets, and how its files are read."""

    catalog: str
    properties: tuple[tuple[str, str], ...]
    memory_bytes: int
    page_checksums: bool

    @classmethod
    def of(cls, catalog: Catalog, files: ParquetFiles) -> Place:
        """The place of an open lake.

        The environment of the other process has the secrets: PYICEBERG_CATALOG__LAKE__TOKEN for the token of the
        catalog `lake`, and what drivers of databases and stores look for by themselves.
        """
        texts = {name: value for name, value in catalog.properties.items() if isinstance(value, str)}
        if "uri" in texts:
            texts["uri"] = re.sub(r"//([^/@:]*):[^/@]*@", r"//\1@", texts["uri"])
        told = tuple(sorted((name, value) for name, value in texts.items() if not is_secret(name)))
        return cls(catalog.name, told, files.memory_bytes, files.page_checksums)

    def opened(self) -> tuple[Catalog, ParquetFiles]:
        """The lake of this process at that place."""
        with _LOCK:
            return _of_process(self, os.getpid())  # a fork has connections of its own


@lru_cache(_AT_MOST)
def _of_process(place: Place, _process: int) -> tuple[Catalog, ParquetFiles]:
    return opened(place.catalog, dict(place.properties)), ParquetFiles(place.memory_bytes, place.page_checksums)
