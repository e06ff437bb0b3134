"""What a server's things show in a notebook: a lake, a table and its branches, rows with markup in them."""

from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
import keylake.local
from integration.twin import fresh_name

EVIL = "<script>alert(1)</script>"
ODD = "<b>odd</b>"
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), (ODD, pa.string())])


def test_a_lake_and_a_table_show_and_complete_their_names(lake: kl.Lake) -> None:
    name = fresh_name("displays")
    table = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=name, key=["id"], versions="explicit"))
    assert f"<td>{name}</td><td>explicit</td>" in lake._repr_html_()
    assert name in lake._ipython_key_completions_()
    assert repr(lake[name]) == repr(table)
    assert table._ipython_key_completions_() == [ODD]
    assert f"<caption>{name}: explicit" in table._repr_html_()
    assert "&lt;b&gt;odd" in table._repr_html_()
    table.update([{"id": 1, ODD: "a"}], version=1)
    draft = table.branch("tmp_try")
    assert f"<caption>{name}, branch &#x27;tmp_try&#x27;: explicit" in draft._repr_html_()
    assert (repr(draft), len(draft._repr_html_())) < (f"KeyedTable({name!r}, branch 'tmp_u')", 2000)


def test_markup_in_rows_is_text(lake: kl.Lake) -> None:
    spec = kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("displays"), key=["id"], versions="explicit")
    table = lake.create(spec)
    first = table.update([{"id": 1, ODD: "before"}], version=1, stream="web")
    table.update([{"id": 1, ODD: EVIL}], version=2, stream=EVIL)
    lake.spark.conf.set("spark.sql.repl.eagerEval.enabled", "true")  # as in a session of a notebook
    try:
        changes = table.changes(after=first)._repr_html_()  # type: ignore[operator]
    finally:
        lake.spark.conf.unset("spark.sql.repl.eagerEval.enabled")
    for shown in (changes, table.explain_row(id=1)._repr_html_(), table.history()._repr_html_()):
        assert "&lt;script&gt;" in shown
        assert "<script" not in shown


@pytest.mark.slow
def test_a_lake_without_a_server_shows_itself(lake: kl.Lake, warehouse: Path) -> None:
    name = fresh_name("displays")
    lake.create(kl.TableSpec.from_arrow(SCHEMA, name=name, key=["id"])).upsert([{"id": 1, ODD: EVIL}])
    with keylake.local.open(warehouse) as local:
        assert name in local._ipython_key_completions_()
        assert f"<td>{local.tables()[0]}</td>" in local._repr_html_()  # the first ones, of many
        table = local[name]
        assert repr(table) == f"LocalTable({name!r})"
        assert str(table) == str(table.spec)
        assert f"<caption>{name}: commit" in table._repr_html_()
        shown = table.read()._repr_html_()
        assert "MergedRows(1 rows of id, &lt;b&gt;odd" in shown
        assert "<td>&lt;script&gt;" in shown
