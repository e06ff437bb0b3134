"""The first commit of a table, which makes it: sent again where its answer is lost, and found by the table's id.

The id is chosen before anything is sent, and the catalog takes the commit only where there is no table of that name. So
at most one of the attempts makes the table, and after a failure the catalog is asked, and its answer not believed:

    the name has a table with the id                  made
    the name has a table with another id              taken by somebody else
    the name has no table, and the commit is refused  the refusal
    the name has no table                             the same commit is sent again
"""

from __future__ import annotations

import time

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import BadRequestError, ForbiddenError, NoSuchNamespaceError, NoSuchTableError
from pyiceberg.table import CreateTableTransaction

from keylake._definition.table_names import table_name
from keylake.errors import OutcomeUnknown, ServerUnreachable, StoreFailed, Unavailable
from keylake.local.catalogs import asking, scrubbed
from keylake.local.writing import attempts

_REFUSALS = (BadRequestError, ForbiddenError, NotImplementedError, StoreFailed)
MOST_UNANSWERED = 5


def is_made(catalog: Catalog, parts: tuple[str, ...], creation: CreateTableTransaction) -> bool:
    """Makes the table; False where the name has another one. Raises what the catalog says where it refuses."""
    wanted, number = creation.table_metadata.table_uuid, 1
    while True:
        try:
            creation.commit_transaction()
        except Exception as error:  # whatever it was, the catalog is asked
            if (found := _id(catalog, parts)) is not None:
                return found == wanted
            if number == 1 and isinstance(error, _REFUSALS):  # later, an attempt before it may still come
                raise
            if number == MOST_UNANSWERED:
                said = scrubbed(error, catalog.properties)
                why = f"the catalog did not say that it made it: {said}; when it was asked, it was not there yet"
                raise _unknown(parts, why) from None
        else:
            return True
        attempts.pause(number)
        number += 1


def _id(catalog: Catalog, parts: tuple[str, ...]) -> object:
    """The id of the table of that name; None: there is none."""
    until = time.monotonic() + attempts.PATIENCE_SECONDS
    number = 0
    while True:
        try:
            with asking(catalog.name, catalog.properties):
                return catalog.load_table(parts).metadata.table_uuid
        except (NoSuchTableError, NoSuchNamespaceError):
            return None
        except (ServerUnreachable, StoreFailed) as error:
            may_pass = isinstance(error, ServerUnreachable | Unavailable)
            if not may_pass or time.monotonic() > until:
                raise _unknown(parts, f"the catalog cannot be asked: {error}") from None
        attempts.pause(number)
        number += 1


def _unknown(parts: tuple[str, ...], why: str) -> OutcomeUnknown:
    name = table_name(parts)
    return OutcomeUnknown(
        f"Whether {name} was made is not known, because {why.rstrip('.')}. lake.tables() has it if it was; "
        "create(..., if_exists='match') opens it then, and makes it if not."
    )
