"""The REST catalog of pyiceberg, which parses no metadata again that has not moved."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from pyiceberg.catalog.rest import (
    SNAPSHOT_LOADING_MODE,
    Capability,
    Endpoints,
    LoadCredentialsResponse,
    RestCatalog,
    TableResponse,
)
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import Identifier

from keylake.local.newest import Newest


@dataclass(frozen=True)
class _Answer:
    """The last answer of the catalog about a table.

    The tag of an answer with settings or credentials for the store is not used: an answer that repeats them may be
    needed although the table has not changed, as credentials expire.
    """

    table: TableResponse
    tag: str | None = None
    digest: bytes | None = None

    @classmethod
    def of(cls, table: TableResponse, tag: str | None, digest: bytes) -> _Answer:
        return cls(table, None if table.config or table.storage_credentials else tag, digest)


class KeptRestCatalog(RestCatalog):
    """Keeps the newest metadata of the tables that were asked for last: what lies at a location never changes.

    1. A catalog that gives answers a tag (ETag) is asked for what has changed, and says "not modified".
    2. The same bytes are the same answer.
    3. Of an answer with the same location only what is beside the metadata is read.
    """

    def __init__(self, name: str, **properties: str) -> None:
        super().__init__(name, **properties)
        self._newest: Newest[_Answer] = Newest()

    def load_table(self, identifier: str | Identifier) -> Table:
        """The table as it is now."""
        if SNAPSHOT_LOADING_MODE in self.properties:  # metadata of one location in several forms
            return self._loaded_anew(identifier)
        names = self.identifier_to_tuple(identifier)
        kept = self._newest.get(names)
        self._check_endpoint(Capability.V1_LOAD_TABLE)
        response = self._session.get(
            self.url(Endpoints.load_table, prefixed=True, **self._split_identifier_for_path(identifier)),
            headers={"If-None-Match": kept.tag} if kept and kept.tag else {},
        )
        if response.status_code == 200:
            kept = _answer(kept, response.content, response.headers.get("ETag"))
            self._newest.keep(names, kept)
        elif response.status_code != 304 or kept is None:
            return self._loaded_anew(identifier)  # asks again with a new token, or says what is wrong
        return self._response_to_table(names, kept.table)

    def _loaded_anew(self, identifier: str | Identifier) -> Table:
        found: Table = super().load_table(identifier)
        return found

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commits, and keeps the metadata that was written."""
        response: Any = super().commit_table(table, requirements, updates)
        made = TableResponse.model_construct(
            metadata_location=response.metadata_location,
            metadata=response.metadata,
            config={},
            storage_credentials=[],
        )
        self._newest.keep(table.name(), _Answer(made))
        return response  # type: ignore[no-any-return]


def _answer(kept: _Answer | None, content: bytes, tag: str | None) -> _Answer:
    digest = blake2b(content).digest()
    if kept is None:
        return _Answer.of(TableResponse.model_validate_json(content), tag, digest)
    if kept.digest == digest:
        return _Answer.of(kept.table, tag, digest)
    said = json.loads(content)
    if said.get("metadata-location") is None or said["metadata-location"] != kept.table.metadata_location:
        return _Answer.of(TableResponse.model_validate(said), tag, digest)
    beside = LoadCredentialsResponse.model_validate({"storage-credentials": said.get("storage-credentials") or []})
    table = kept.table.model_copy(
        update={"config": said.get("config") or {}, "storage_credentials": beside.storage_credentials}
    )
    return _Answer.of(table, tag, digest)
