"""`keylake check`: rows of databases compared with those of keyed tables, at rest and while both change."""

import datetime
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import keylake as kl
from integration.commands import invoked
from integration.twin import fresh_name
from keylake_pipelines.runner.control import forget, resnapshot, states, stop
from pipelines.defined import defined, tables_of
from pipelines.mariadb.server import MariaDb
from pipelines.postgres_server import PASSWORD, Postgres
from pipelines.running import running

pytestmark = pytest.mark.slow

SOON = datetime.timedelta(seconds=3)
VALUES = "'Bodø', {n}.25, '2024-02-29 23:59:59.5', 0.1, 1e300, X'00ff', 18446744073709551615, NULL"


@pytest.fixture
def name(mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(os.environ, "DB_PASSWORD", MariaDb.PASSWORD)
    name = fresh_name("checked").replace(".", "_")
    mariadb.run(f"CREATE DATABASE {name}")
    return name


def counts(check: kl.TableCheck) -> tuple[int, int, int, int, int]:
    return check.rows_in_source, check.missing, check.extra, check.different, check.undecided


def named(check: kl.TableCheck) -> list[tuple[str, dict[str, object], tuple[str, ...]]]:
    return sorted(((row.kind, dict(row.key), row.columns) for row in check.rows), key=str)


def test_rows_that_were_changed_by_hand(lake: kl.Lake, mariadb: MariaDb, name: str, tmp_path: Path) -> None:
    mariadb.run(
        f"USE {name}",
        "CREATE TABLE orders (id INT PRIMARY KEY, city VARCHAR(20), price DECIMAL(9, 4), at DATETIME(3), f FLOAT,"
        " d DOUBLE, b VARBINARY(9), u BIGINT UNSIGNED, n INT)",
        *(f"INSERT INTO orders VALUES ({n}, {VALUES.format(n=n)})" for n in range(-40, 260, 3)),
        "CREATE TABLE words (word VARCHAR(20), day DATE, n INT, PRIMARY KEY (word, day))",
        "INSERT INTO words VALUES ('b', '2024-01-01', 1), ('Z', '2024-01-02', 2), ('ä', '2024-01-03', 3)",
        "CREATE TABLE days (day DATETIME(6), word CHAR(5), PRIMARY KEY (day, word))",
        "INSERT INTO days SELECT '1999-12-31 23:59:59.999999' + INTERVAL seq DAY, seq MOD 7 FROM seq_1_to_100",
        "CREATE TABLE sums (id BIGINT UNSIGNED PRIMARY KEY, n INT)",
        "INSERT INTO sums VALUES (18446744073709551615, 1), (18446744073709551614, 2), (3, 4)",
        "CREATE TABLE bad (id INT)",
    )
    definition = defined(tmp_path, name, tables_of(mariadb, name))
    with pytest.raises(kl.NothingToDo, match="has not run in this lake"):
        kl.check_pipeline(definition, lake)
    kl.run_pipeline(definition, lake, once=True)
    check = kl.check_pipeline(definition, lake, rows_at_once=40)
    assert {each.table: counts(each) for each in check.tables} == {
        f"{name}.bad": (0, 0, 0, 0, 0),
        f"{name}.days": (100, 0, 0, 0, 0),
        f"{name}.orders": (100, 0, 0, 0, 0),
        f"{name}.sums": (3, 0, 0, 0, 0),
        f"{name}.words": (3, 0, 0, 0, 0),
    }
    assert [each.table for each in check.tables if not each.is_equal] == [f"{name}.bad"], str(check)
    assert "has no primary key" in check.tables[0].reason

    orders, words = lake.table(f"{name}.orders"), lake.table(f"{name}.words")
    orders.update([{"id": 5, "city": "Oslo", "f": 0.5}], version=2**62)
    orders.delete([{"id": 8}], version=2**62)
    words.upsert([{"word": "c", "day": words.read().toArrow()["day"][0].as_py(), "n": 1}], version=2**62)
    mariadb.run(
        "SET sql_log_bin = 0",
        f"USE {name}",
        "UPDATE orders SET u = 17 WHERE id = -40",
        "DELETE FROM orders WHERE id = 11",
        f"INSERT INTO orders VALUES (1000, {VALUES.format(n=1)})",
        "DELETE FROM words WHERE word = 'Z'",
        "UPDATE days SET word = 'new' WHERE day = '2000-01-10 23:59:59.999999'",
    )
    _, days, found, _, text = kl.check_pipeline(definition, lake, rows_at_once=40).tables
    assert counts(found) == (100, 2, 1, 2, 0)
    assert named(found) == [
        ("different", {"id": -40}, ("u",)),
        ("different", {"id": 5}, ("city", "f")),
        ("extra", {"id": 11}, ()),
        ("missing", {"id": 1000}, ()),
        ("missing", {"id": 8}, ()),
    ]
    assert (counts(text)[1:], counts(days)[1:]) == ((0, 2, 0, 0), (1, 1, 0, 0))
    assert found.command == f"keylake resnapshot {name} {name}.orders"
    mariadb.run(f"CREATE TABLE {name}.later (id INT PRIMARY KEY)")  # rows of one place in the log are of one age
    resnapshot(lake, name, f"{name}.days")
    kl.run_pipeline(definition, lake, once=True)
    assert kl.check_pipeline(definition, lake, f"{name}.days").is_equal

    shown = command(lake, "check", str(tmp_path / "pipeline.yaml"), f"{name}.orders")
    assert "orders: 100 rows in the source, 99 in the lake; 2 missing, 1 extra, 2 different" in shown
    assert "id=5 different: city, f" in shown


def command(lake: kl.Lake, *words: str, status: int = 1) -> str:
    result = invoked(lake, *words)
    assert result.exit_code == status, result.output
    return result.output


def test_rows_that_went_through_routes_and_transforms(
    lake: kl.Lake, mariadb: MariaDb, name: str, tmp_path: Path
) -> None:
    mariadb.run(
        f"USE {name}",
        *(
            f"CREATE TABLE {table} (id INT PRIMARY KEY, city VARCHAR(20), n INT)"
            for table in ("orders_1", "orders_2", "kept")
        ),
        "INSERT INTO orders_1 SELECT seq * 2, 'oslo', seq MOD 5 FROM seq_1_to_50",
        "INSERT INTO orders_2 SELECT seq * 2 + 1, 'bodø', seq MOD 5 FROM seq_1_to_50",
        "INSERT INTO kept VALUES (1, 'x', 1)",
    )
    file = tmp_path / "pipeline.yaml"
    file.write_text(
        f"source:\n{tables_of(mariadb, name)}sink:\n  type: keylake\n  namespace: {name}\n"
        f"route:\n  - source-table: {name}.orders_\\d+\n    sink-table: {name}.orders\n"
        f"transform:\n  - source-table: {name}.orders_\\d+\n"
        "    projection: id AS number, upper(city) AS city, n, op_ts AS came\n    filter: n > 0\n"
        "    primary-keys: number\n"
        f"  - source-table: {name}.kept\n    projection: \\*\n    converter-after-transform: SOFT_DELETE\n"
        f"pipeline:\n  name: {name}\n"
    )
    definition = kl.Pipeline.load(file)
    kl.run_pipeline(definition, lake, once=True)
    kept, orders = kl.check_pipeline(definition, lake, rows_at_once=30).tables
    assert "SOFT_DELETE" in kept.reason
    assert (counts(orders), orders.rows_in_lake) == ((80, 0, 0, 0, 0), 80)
    assert orders.not_compared == ("column came, whose values depend on when a row came",)
    mariadb.run(
        "SET sql_log_bin = 0",
        f"UPDATE {name}.orders_1 SET n = 0 WHERE id = 4",
        f"UPDATE {name}.orders_2 SET city = 'Oslo', n = 9 WHERE id = 5",
    )
    [found] = kl.check_pipeline(definition, lake, f"{name}.orders_2", rows_at_once=30).tables
    assert named(found) == [("different", {"number": 5}, ("city", "n")), ("extra", {"number": 4}, ())]

    # A table that is forgotten is read as a new one, and one whose source is gone is not known any more.
    mariadb.run(f"DROP TABLE {name}.kept")
    for each in ("orders", "kept"):
        assert f"{name} is asked to forget" in command(lake, "forget", name, f"{name}.{each}", status=0)
    assert kl.run_pipeline(definition, lake, once=True).rows == 100
    assert kl.check_pipeline(definition, lake).is_equal
    with pytest.raises(kl.NothingToDo, match=rf"knows no keyed table '{name}.kept'. It knows: {name}.orders\."):
        forget(lake, name, f"{name}.kept")


@contextmanager
def repeated(work: Callable[[int], None]) -> Iterator[None]:
    """Something is done again and again in a thread."""
    ending = threading.Event()
    failed: list[BaseException] = []

    def run() -> None:
        number = 0
        try:
            while not ending.is_set():
                work(number)
                number += 1
        except BaseException as error:  # noqa: BLE001 - raised below
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
        if failed:
            raise failed[0]


def test_rows_that_change_meanwhile(lake: kl.Lake, mariadb: MariaDb, name: str, tmp_path: Path) -> None:
    mariadb.run(
        f"USE {name}",
        "CREATE TABLE busy (id INT PRIMARY KEY, n INT)",
        "INSERT INTO busy SELECT seq, 0 FROM seq_1_to_1000",
    )
    definition = defined(tmp_path, name, tables_of(mariadb, name))
    definition = definition.model_copy(
        update={"pipeline": definition.pipeline.model_copy(update={"load_control": False, "check_every": SOON})}
    )
    kl.run_pipeline(definition, lake, once=True)
    with mariadb.connect(name) as connection, running(definition, lake):

        def work(number: int) -> None:
            with connection.cursor() as cursor:
                cursor.execute(f"UPDATE busy SET n = n + 1 WHERE id % 100 = {number % 50}")
                cursor.execute(f"DELETE FROM busy WHERE id % 100 = {50 + number % 20}")
                cursor.execute(
                    f"INSERT INTO busy SELECT seq, {number} FROM seq_1_to_1000 WHERE seq % 100 = {50 + number % 20}"
                )
            time.sleep(0.1)

        with repeated(work):
            for _ in range(2):
                [found] = kl.check_pipeline(definition, lake, rows_at_once=300).tables
                assert not found.differs, str(found)
            mariadb.run("SET sql_log_bin = 0", f"UPDATE {name}.busy SET n = -1 WHERE id = 99")
            [found] = kl.check_pipeline(definition, lake, rows_at_once=300).tables
            assert named(found) == [("different", {"id": 99}, ("n",))]
        deadline = time.monotonic() + 90
        while counts(found) != (1000, 0, 0, 1, 0) and time.monotonic() < deadline:
            [found] = kl.check_pipeline(definition, lake, rows_at_once=300).tables
        assert counts(found) == (1000, 0, 0, 1, 0)
        while not (told := difference(lake, name)) and time.monotonic() < deadline:
            time.sleep(0.2)
        assert "id=99 different: n" in told
        assert "id=99 different: n" in command(lake, "status", name, status=0)
        stop(lake, name)


def difference(lake: kl.Lake, name: str) -> str:
    """What the check of a pipeline that runs has told."""
    [found] = [state.differences for state in states(lake) if state.name == name]
    return found.get(f"{name}.busy", "")


def test_a_check_of_postgres(
    lake: kl.Lake, postgres: Postgres, postgres_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = fresh_name("checked").replace(".", "_")
    monkeypatch.setitem(os.environ, "DB_PASSWORD", PASSWORD)
    source = (
        f"  type: postgres\n  hostname: 127.0.0.1\n  port: {postgres.port}\n  username: postgres\n"
        f"  password: ${{DB_PASSWORD}}\n  tables: {postgres_database}.public.\\.*\n  slot.name: {name}\n"
    )
    with postgres.connect(postgres_database) as connection:
        connection.execute(
            "CREATE TABLE orders (id INT PRIMARY KEY, city TEXT, price NUMERIC(9, 4), at TIMESTAMPTZ, f REAL,"
            " d DOUBLE PRECISION, b BYTEA, l INT[], u UUID, j JSONB, day DATE)"
        )
        connection.execute(
            "INSERT INTO orders SELECT n, 'Bodø', n / 7.0, '2024-02-29 23:59:59.5+05', 0.1, 'NaN', '\\x00ff',"
            " '{1,NULL}', md5(n::text)::uuid, '{\"a\": 1}', '2024-02-29' FROM generate_series(-20, 79) n"
        )
        connection.execute(
            "CREATE TABLE parts (day DATE, word TEXT, n INT, PRIMARY KEY (day, word)) PARTITION BY RANGE (day)"
        )
        connection.execute("CREATE TABLE old PARTITION OF parts FOR VALUES FROM (MINVALUE) TO ('2024-01-15')")
        connection.execute("CREATE TABLE new PARTITION OF parts FOR VALUES FROM ('2024-01-15') TO (MAXVALUE)")
        connection.execute(
            "INSERT INTO parts SELECT '2024-01-01'::date + n % 30, n::text, n FROM generate_series(1, 90) n"
        )
        connection.execute("CREATE TABLE words (word TEXT PRIMARY KEY, n INT)")
        connection.execute("INSERT INTO words VALUES ('b', 1), ('Z', 2), ('ä', 3)")
        definition = defined(tmp_path, name, source)
        kl.run_pipeline(definition, lake, once=True)
        check = kl.check_pipeline(definition, lake, rows_at_once=40)
        assert check.is_equal, str(check)
        assert [each.rows_in_lake for each in check.tables] == [100, 90, 3]

        lake.table(f"{name}.orders").update([{"id": 5, "city": "Oslo", "u": None}], version=2**62)
        lake.table(f"{name}.words").delete([{"word": "ä"}], version=2**62)
        lake.table(f"{name}.words").upsert([{"word": "c", "n": 1}], version=2**62)
        orders, parts, words = kl.check_pipeline(definition, lake, rows_at_once=40).tables
        assert (named(orders), parts.is_equal) == ([("different", {"id": 5}, ("city", "u"))], True)
        assert named(words) == [("extra", {"word": "c"}, ()), ("missing", {"word": "ä"}, ())]

        # What the pipeline has not read yet is no difference that could be told.
        connection.execute("UPDATE parts SET n = -1 WHERE word = '7'")
        [behind] = kl.check_pipeline(definition, lake, f"{name}.parts").tables
        assert (behind.differs, behind.undecided, behind.is_equal) == (False, 1, False)

        definition = definition.model_copy(
            update={"pipeline": definition.pipeline.model_copy(update={"load_control": False})}
        )
        with running(definition, lake), postgres.connect(postgres_database) as other:

            def work(number: int) -> None:
                other.execute("UPDATE parts SET n = n + 1 WHERE n %% 10 = %s", (number % 10,))
                time.sleep(0.1)

            with repeated(work):
                [found] = kl.check_pipeline(definition, lake, f"{name}.parts", rows_at_once=20).tables
                assert not found.differs, str(found)
            stop(lake, name)
