"""Names in table properties, snapshot summaries and footers that reads and writes without a server know."""

from __future__ import annotations

from keylake._definition.names import LOG_PROPERTY, OFFSETS_PROPERTY, SPEC_PROPERTY

PREFIX = "keylake."
BUCKET_COUNTS = "keylake.bucket_counts"
EXPERIMENT = "keylake.experiment."
DROPPED_EXPERIMENT = "keylake.dropped_experiment."
PROMOTED_EXPERIMENT = "keylake.promoted_experiment."
SPEC_OF_SCHEMA = "keylake.spec_of_schema."
VERSIONS_DECIDE = "keylake.versions_decide"

VERB = "keylake.verb"
FOREIGN_COMMITS = "keylake.foreign_commits"
ADOPTED = "keylake.adopted"
REPLACES = "keylake.replaces"
COPIED_WHERE = "keylake.copied_where"
ROWS = "keylake.rows"
MIN_VERSION = "keylake.min_version"
MAX_VERSION = "keylake.max_version"
HIGHEST_VERSION = "keylake.highest_version"
COLUMNS = "keylake.columns"
STREAM = "keylake.stream"
WRITER = "keylake.writer"
WRITE_ID = "keylake.write_id"
IDEMPOTENCY_KEY = "keylake.idempotency_key"
UNDONE = "keylake.undone"
WATERMARKS = "keylake.watermarks"
LATENESS = "keylake.lateness"
LATE_ROWS = "keylake.late_rows"
HELD_ROWS = "keylake.held_rows"
PLAIN_READS = "keylake.plain_reads"
TAKEN_IN = "keylake.taken_in"
SAME_AS = "keylake.same_as"
SETTLED = ("keylake.settled_through", "keylake.unsettled_buckets", "keylake.unsettled_buckets_of")

OF_SUMMARIES = (
    *(VERB, FOREIGN_COMMITS, ADOPTED, REPLACES, COPIED_WHERE, ROWS, MIN_VERSION, MAX_VERSION, HIGHEST_VERSION, COLUMNS),
    *(STREAM, WRITER, WRITE_ID, IDEMPOTENCY_KEY, UNDONE, WATERMARKS, PLAIN_READS, TAKEN_IN, SAME_AS, *SETTLED),
)

# Properties that change no answer of a read, beside those that a read follows. Any other one is of a newer format.
HARMLESS = (
    LATENESS,
    "keylake.compaction",
    "keylake.retention",
    "keylake.watermarks",
    "keylake.equality-deletes",
    OFFSETS_PROPERTY,
    "keylake.adopts",
    "keylake.idempotency_keys.",
    "keylake.copied_files.",
    "keylake.consumer.",
    "keylake.trigger.",
    "keylake.replaced.",
    "keylake.copy.",
    "keylake.indexed_since",
    LOG_PROPERTY,
)
KNOWN = (
    SPEC_PROPERTY,
    BUCKET_COUNTS,
    EXPERIMENT,
    DROPPED_EXPERIMENT,
    PROMOTED_EXPERIMENT,
    SPEC_OF_SCHEMA,
    VERSIONS_DECIDE,
    *HARMLESS,
)

FILE = "keylake.file"  # the name of a data file in the metadata of its own footer
KEY_FILTERS = "keylake.key_filters"  # what that footer says of filters of keys
HISTORY_BRANCH = "history_%Y%m%dT%H%M%SZ"  # the branch of an archived state, by its business time in UTC
SETTLED_MARK = "-settle-"  # in the names of the deletes by which the server records superseded rows
EXPERIMENT_BRANCH = "experiment_"


def is_known(name: str) -> bool:
    """A property is one that a read may meet.

    >>> is_known("keylake.consumer.scores"), is_known("write.format.default"), is_known("keylake.spec2")
    (True, True, False)
    """
    if not name.startswith(PREFIX):
        return True
    return any(name.startswith(each) if each.endswith(".") else name == each for each in KNOWN)
