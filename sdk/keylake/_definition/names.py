"""Names that Python and the server share: the property of a table, options of relations, and settings of a session.

Keys of snapshot summaries are read on the server only; Python gets what they say from procedures.
"""

from __future__ import annotations

SPEC_PROPERTY = "keylake.spec"
LOG_PROPERTY = "keylake.log"
OFFSETS_PROPERTY = "keylake.offsets"
# The property of a REST catalog by which pyiceberg sends the header that says: this client merges keyed tables itself.
MERGING_CLIENT = {"header.X-Keylake-Client": "merges"}


class RelationOption:
    """A word behind a table's name, `WITH ('after' = '17')`, or is an option of a stream."""

    AFTER = "after"
    UNTIL = "until"
    EVERY_COMMIT = "every-commit"
    MAX_COMMITS_PER_BATCH = "max-commits-per-batch"
    CONSUMER = "consumer"


class Setting:
    """Settings of the server and of its sessions."""

    IDEMPOTENCY_KEY = "spark.keylake.write.idempotency-key"
    OFFSETS = "spark.keylake.write.offsets"
    COMMITTED = "spark.keylake.write.committed"  # the server's: what the last write of a session has committed
    OWNER_PID = "spark.keylake.owner.pid"
    OWNER_SCRATCH = "spark.keylake.owner.scratch"
    PORT_FILE = "spark.keylake.port-file"
    CATALOG_PORT = "spark.keylake.catalog.port"
    CATALOG_PORT_FILE = "spark.keylake.catalog.port-file"
    ACCESS_POLICY = "spark.keylake.access.policy"
    MAINTENANCE_ENABLED = "spark.keylake.maintenance.enabled"
