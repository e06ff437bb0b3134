"""Arguments of a wrong type where no server is asked: each is refused in one sentence that says what it may be."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest

import keylake as kl

AT = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
NAIVE = AT.replace(tzinfo=None)


class Seen(kl.Table, name="a.seen", buckets=2):
    id: kl.Int64 = kl.key()
    at: datetime.datetime = kl.ordering()
    a: kl.Int64 | None = kl.column()


SPEC: Any = Seen.table_spec()
ANY_ROW: Any = Seen
ANY: Any = kl  # so that a checker of types lets wrong arguments pass

WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "a row with a naive time": (lambda: Seen(id=1, at=NAIVE), "'at' of Seen is .*has no time zone"),
    "a row with text for a number": (lambda: ANY_ROW(id="x", at=AT), "'id' of Seen is 'x'"),
    "a row without its key": (lambda: ANY_ROW(at=AT), "lacks 'id'"),
    "a row with a column too many": (lambda: ANY_ROW(id=1, at=AT, b=2), "no column 'b'.*There are: id"),
    "a row that is changed": (lambda: setattr(Seen(id=1, at=AT), "a", "x"), "'a' of Seen is 'x'"),
    "a column of a row": (lambda: Seen(id=1, at=AT)["zz"], "no column 'zz'"),
    "a row that is read": (lambda: Seen.from_row({"zz": 1}), "no column 'zz'"),
    "a column of a spec": (lambda: SPEC.column(5), "column is 5. Use text"),
    "differences": (lambda: SPEC.differences(5), "other is 5"),
    "JSON of a spec": (lambda: ANY.TableSpec.from_json(5), "text of a spec is 5"),
    "a decimal": (lambda: ANY.Decimal("a", 2), "precision is 'a'"),
    "a fixed": (lambda: ANY.Fixed("a"), "length is 'a'"),
    "kv_key": (lambda: ANY.kv_key(5, 1), "spec is 5"),
    "a naive watermark": (lambda: kl.watermark(NAIVE), "no time zone"),
    "null_rate of": (lambda: ANY.null_rate(5, below=1), r"column of null_rate\(\) is 5"),
    "null_rate below": (lambda: ANY.null_rate("a", below="x"), "below is 'x'"),
    "row_count_change": (lambda: ANY.row_count_change(at_least="x"), "at_least is 'x'"),
    "value_range": (lambda: ANY.value_range("a", at_least=[1]), r"at_least is \[1\]"),
    "condition": (lambda: ANY.condition(5), "condition is 5"),
    "unique": (lambda: ANY.unique(5), "is 5"),
    "references": (lambda: ANY.references("a", 5), "frame is 5"),
    "a policy that is no JSON": (lambda: kl.CompactionPolicy.from_json("{"), "is no JSON"),
    "a policy that is no object": (lambda: kl.RetentionPolicy.from_json("[]"), r"is \[\]. Use an object"),
    "a policy of days": (lambda: ANY.RetentionPolicy(days=datetime.timedelta(1)).to_json(), "days of a reten"),
    "columns of no table": (lambda: ANY.TableColumns(5, ("a",)), "table is 5"),
    "a join of one table": (lambda: ANY.join([], 5, on="id"), "tables is 5. Use a list"),
    "a join of no tables": (lambda: ANY.join([], [5], on="id"), "table to join is 5"),
    "explain_join": (lambda: ANY.explain_join(5), "frame is 5"),
    "assert_no_shuffle": (lambda: ANY.assert_no_shuffle(None), "frame is None"),
    "a url": (lambda: ANY.connect(5), "url is 5"),
    "a url of another scheme": (lambda: kl.connect("nosuch://"), "'nosuch://' is no address of a server"),
    "a catalog": (lambda: ANY.connect(catalog=5), "catalog is 5"),
    "a warehouse": (lambda: ANY.connect(warehouse=5), "warehouse is 5"),
    "a warehouse with a sign": (lambda: kl.connect(warehouse="a\0b"), r"has the sign '\\x00'"),
    "memory": (lambda: ANY.connect(memory=5), "memory is 5"),
    "settings": (lambda: ANY.connect(settings=["a"]), r"settings is \['a'\]"),
    "a setting": (lambda: ANY.connect(settings={"spark.x": None}), "setting spark.x is None"),
    "a session": (lambda: ANY.connect(spark=5), "spark is 5. Use a session"),
    "a session and a url": (lambda: ANY.connect("sc://a", spark=5), "spark= is one that is open"),
    "a writer": (lambda: ANY.connect(writer=5), "writer is 5"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_argument(what: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    do, words = WRONG[what]
    monkeypatch.chdir(tmp_path)  # the embedded server would keep its lake there
    with pytest.raises(kl.KeylakeError, match=words) as raised:
        do()
    assert "\n" not in str(raised.value)
    assert "Error" not in str(raised.value)


def test_a_default_that_does_not_fit() -> None:
    with pytest.raises(kl.DefinitionError, match=r"default does not fit: Column 'at' of Late.*no time zone"):

        class Late(kl.Table, name="a.late"):
            id: kl.Int64 = kl.key()
            at: datetime.datetime | None = NAIVE


def test_a_word_that_a_class_says_by_its_columns() -> None:
    words: Any = {"ordering": "at"}
    with pytest.raises(kl.DefinitionError, match="class of a table has no option 'ordering'"):

        class Sorted(kl.Table, name="a.sorted", **words):
            id: kl.Int64 = kl.key()
