"""Conditions without a server on members of structs, which have the names of columns."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo

import keylake as kl
import keylake.local
from integration.twin import fresh_name

SCHEMA = pa.schema([("id", pa.int64()), ("st", pa.struct([("id", pa.int64()), ("x", pa.int64())]))])


def test_a_member_is_not_taken_for_the_column_of_its_name(lake: kl.Lake, warehouse: Path) -> None:
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("members"), key="id", buckets=1))
    table.upsert([{"id": 1, "st": {"id": 2, "x": 3}}, {"id": 2, "st": {"id": 9, "x": 9}}])
    assert table.to_arrow(["id"], where="st.id = 2")["id"].to_pylist() == [1]
    with keylake.local.open(warehouse) as local:
        here = local.table(table.name)
        for where in (
            "st.id = 2",
            "`st`.id = 2",
            "`st`.`id` = 2",
            "st.x IS NULL",
            kl.col("st.id") == 2,
            EqualTo("st.id", 2),
        ):
            with pytest.raises(kl.DefinitionError, match=r"member of a struct|cannot be parsed"):
                here.read(where=where)
