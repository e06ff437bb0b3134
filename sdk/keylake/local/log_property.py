"""The property that gives a table a log, set or taken away by who has seen how it was."""

from __future__ import annotations

from typing import Any

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table as IcebergTable
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    AssertTableUUID,
    RemovePropertiesUpdate,
    SetPropertiesUpdate,
    ValidatableTableRequirement,
)

from keylake._definition.names import LOG_PROPERTY
from keylake.errors import CommitConflict, KeylakeError, OutcomeUnknown
from keylake.local.catalogs import is_rest, loaded


class _LogIs(ValidatableTableRequirement):
    """The property is what it was: catalogs apply a change of properties to a table that has moved, too."""

    type: str = "assert-keylake-log"
    text: str | None

    def validate(self, base_metadata: TableMetadata | None) -> None:  # type: ignore[override]
        """Raises CommitFailedException where somebody else has given the table a log, or taken it away."""
        if base_metadata is not None and base_metadata.properties.get(LOG_PROPERTY) != self.text:
            raise CommitFailedException("the log of the table is another one by now")


def change_log(name: str, table: IcebergTable, text: str | None) -> None:
    """Set the property of a table as it was loaded, or take it away with None.

    A catalog behind REST knows no such condition: there, of two who begin at the same moment, the later one counts.

    Raises `CommitConflict` where somebody was faster, and `OutcomeUnknown` where the catalog does not say what it did.
    """
    before = table.metadata.properties.get(LOG_PROPERTY)
    requirements: list[Any] = [AssertTableUUID(uuid=table.metadata.table_uuid)]
    if not is_rest(table.catalog):
        requirements.append(_LogIs(text=before))
    update: Any = (
        RemovePropertiesUpdate(removals=[LOG_PROPERTY])
        if text is None
        else SetPropertiesUpdate(updates={LOG_PROPERTY: text})
    )
    try:
        table.catalog.commit_table(table, tuple(requirements), (update,))
    except CommitFailedException:
        raise CommitConflict(
            f"{name} was changed while its log was to begin or to end. Nothing was changed; look at table.log.state(), "
            "and call again."
        ) from None
    except Exception as error:  # clients of catalogs raise of many kinds
        try:
            found = loaded(table, name).metadata.properties.get(LOG_PROPERTY)
        except Exception:  # noqa: BLE001
            raise OutcomeUnknown(
                f"The catalog did not say whether the log of {name} was changed, and cannot be asked: "
                f"{type(error).__name__}. Look at table.log.state() when it answers."
            ) from None
        if found == text:
            return
        if isinstance(error, KeylakeError):
            raise
        raise CommitConflict(
            f"The catalog has not changed the log of {name}: {type(error).__name__}. Call again."
        ) from None
