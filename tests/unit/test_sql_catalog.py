"""The catalog that keeps metadata, beside the one of pyiceberg that it stands on: both make the same of an append."""

from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from keylake.local.sql_catalog import KeptSqlCatalog


def test_an_append_makes_the_metadata_that_pyiceberg_makes(tmp_path: Path) -> None:
    properties = {"uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": str(tmp_path)}
    kept, plain = KeptSqlCatalog("lake", **properties), SqlCatalog("lake", **properties)
    kept.create_namespace("a")
    table: Any = kept.create_table("a.b", Schema(NestedField(1, "k", LongType(), required=True)))
    refused: Any = None
    for branch in ("main", "main", "tmp_x", "main", "tmp_x"):
        if branch not in table.metadata.refs and branch != "main":
            table.manage_snapshots().create_branch(table.metadata.current_snapshot_id, branch).commit()
        update = table.transaction().update_snapshot(branch=branch).fast_append()
        updates, requirements = update._commit()
        made, expected = (
            each._update_and_stage_table(table, table.name(), requirements, updates).metadata for each in (kept, plain)
        )
        assert made == expected
        assert table.metadata != made
        table._do_commit(updates, requirements)
        assert plain.load_table("a.b").metadata == kept.load_table("a.b").metadata == table.metadata
        if refused is not None:
            with pytest.raises(CommitFailedException):
                kept.commit_table(table, *refused)
        refused = requirements, updates
    assert len(table.metadata.snapshots) == 5
    kept.close()
    plain.close()
