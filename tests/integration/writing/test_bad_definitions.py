"""Definitions that cannot work are refused: by the SDK before anything is sent, and by the server whoever asks it."""

import json
from collections.abc import Mapping

import pyarrow as pa
import pytest

import keylake as kl
from integration.refusals import refused_in_sql
from integration.twin import fresh_name

COLUMNS: dict[str, pa.DataType] = {"k": pa.int64(), "day": pa.date32(), "x": pa.float64(), "a": pa.int64()}


def define(columns: Mapping[str, pa.DataType] = COLUMNS, **words: object) -> kl.TableSpec:
    schema = pa.schema([pa.field(name, type_) for name, type_ in columns.items()])
    given = {"name": "definitions.t", "key": ["k"], "buckets": 2, **words}
    return kl.TableSpec.from_arrow(schema, **given)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"key": ["x"]}, ("'x'", "double")),
        ({"key": ["k", "x"]}, ("'x'", "double")),
        ({"columns": COLUMNS | {"k": pa.float32()}}, ("'k'", "float")),
        ({"columns": COLUMNS | {"k": pa.list_(pa.int64())}}, ("'k'", "list")),
        ({"key": []}, ("key",)),
        ({"key": ["user"]}, ("'user'",)),
        ({"key": ["k", "k"]}, ("'k'", "twice")),
        ({"buckets": 0}, ("buckets", "0")),
        ({"buckets": -3}, ("buckets", "-3")),
        ({"bucket_by": ["a"]}, ("bucket_by", "'a'")),
        ({"bucket_by": []}, ("bucket_by",)),
        ({"partition_by": ["day"]}, ("partition_by", "'day'")),
        ({"ordering": "k"}, ("'k'", "key")),
        ({"ordering": "x"}, ("'x'", "double")),
        ({"ordering": "when"}, ("'when'",)),
        ({"ordering": "a", "versions": "commit"}, ("'a'", "commit")),
        ({"versions": "ordering"}, ("ordering",)),
        ({"versions": "sometimes"}, ("'sometimes'",)),
        ({"reducers": {"a": kl.BoolOr()}}, ("'a'", "BoolOr", "long", "boolean")),
        ({"reducers": {"clicks": kl.LatestNotNull()}}, ("'clicks'",)),
        ({"reducers": {"k": kl.LatestNotNull()}}, ("'k'", "key")),
        ({"column_groups": {"g": []}}, ("'g'", "no column")),
        ({"column_groups": {"g": ["clicks"]}}, ("'clicks'",)),
        ({"column_groups": {"g": ["k"]}}, ("'k'", "key")),
        ({"column_groups": {"g": ["a"], "h": ["a"]}}, ("'a'", "'g'", "'h'")),
        ({"column_groups": {"a": ["x"]}}, ("'a'",)),
        ({"columns": COLUMNS | {"A": pa.int64()}}, ("'A'", "'a'", "case")),
        ({"columns": COLUMNS | {"_bucket": pa.int64()}}, ("'_bucket'",)),
        ({"columns": COLUMNS | {"_merge_information": pa.int64()}}, ("'_merge_information'",)),
        ({"columns": COLUMNS | {"_GROUP": pa.int64()}}, ("'_GROUP'",)),
        ({"columns": COLUMNS | {"_pos": pa.int64()}}, ("'_pos'",)),
        ({"columns": COLUMNS | {"": pa.int64()}}, ("''",)),
        ({"name": "t"}, ("'t'", "namespace")),
        ({"name": "a..t"}, ("'a..t'",)),
    ],
    ids=str,
)
def test_a_definition_that_cannot_work(words: dict[str, object], said: tuple[str, ...]) -> None:
    with pytest.raises(kl.DefinitionError) as raised:
        define(**words)
    assert not [word for word in said if word not in str(raised.value)], str(raised.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"spec_version": 2}, ("2", "newer")),
        ({"colour": "red"}, ("colour",)),
        ({"key": []}, ("key",)),
        ({"key": ["user"], "bucket_by": ["user"]}, ("'user'",)),
        ({"key": ["x"], "bucket_by": ["x"]}, ("'x'", "double")),
        ({"buckets": 0}, ("buckets", "0")),
        ({"bucket_by": ["a"]}, ("bucket_by", "'a'")),
        ({"partition_by": ["a"]}, ("partition_by", "'a'")),
        ({"versions": "ordering"}, ("ordering",)),
        ({"versions": "sometimes"}, ("sometimes",)),
        ({"versions": "ordering", "ordering": "x"}, ("'x'", "double")),
        ({"reducers": {"a": {"type": "BoolOr"}}}, ("'a'", "BoolOr", "long", "boolean")),
        ({"reducers": {"a": {"type": "Sum", "limit": 3}}}, ("'a'", "limit", "Sum")),
        ({"reducers": {"a": {"type": "Magic"}}}, ("'a'", "Magic")),
        ({"reducers": {"a": {"type": "Latest", "limit": 3}}}, ("'a'", "limit")),
        ({"column_groups": {"g": {"columns": [], "doc": ""}}}, ("'g'",)),
        ({"column_groups": {"g": {"columns": ["clicks"], "doc": ""}}}, ("'clicks'",)),
        ({"column_groups": {"g": {"columns": ["a"], "doc": "", "colour": "red"}}}, ("colour",)),
    ],
    ids=str,
)
def test_the_server_checks_a_definition_itself(lake: kl.Lake, change: dict[str, object], said: tuple[str, ...]) -> None:
    """A client of another make may send anything."""
    name = fresh_name("definitions")
    form = json.loads(define(name=name).to_json()) | change
    if form["key"] == ["x"]:
        form["schema"]["fields"][2]["required"] = True
    text = json.dumps(form).replace("'", "''")
    with refused_in_sql(lake, name, "DEFINITION", *said):
        lake.spark.sql(f"CALL {lake.catalog}.system.create_table(table => '{name}', spec => '{text}')").collect()
    assert not lake.spark.catalog.tableExists(f"{lake.catalog}.{name}")
