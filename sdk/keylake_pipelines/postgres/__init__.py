"""PostgreSQL as a source of pipelines: rows in its tables, then its log, by logical replication."""

from keylake.errors import DefinitionError

try:
    import psycopg as psycopg
except ImportError as error:
    raise DefinitionError(
        "PostgreSQL is read with the package psycopg, which is not installed. Run pip install 'keylake[pipelines]'."
    ) from error
