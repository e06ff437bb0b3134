"""What PostgreSQL's log leaves out, by its publication or by its types: told, set aside, or read once more."""

import pytest

import keylake as kl
from keylake_pipelines.pipeline.retyping import retype
from keylake_pipelines.runner.control import resume, states
from pipelines.checks.compared import ordered
from pipelines.postgres.shop import Shop

pytestmark = pytest.mark.slow


def test_a_publication_that_leaves_out_changes(shop: Shop) -> None:
    """Refused at the start; later all tables are set aside until it is mended and they are read once more."""
    shop.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 1), (2, 2)",
        "CREATE PUBLICATION ours FOR ALL TABLES WITH (publish = 'insert, update')",
        "CREATE TABLE parted (id INT PRIMARY KEY) PARTITION BY RANGE (id)",
    )
    named = "  publication.name: ours\n"
    both = r"does not publish delete, truncate.*, and gives rows of partitions.* SET \(publish = .*, publish_via"
    with pytest.raises(kl.DefinitionError, match=f"Publication ours {both}"):
        shop.follow(named)
    mended = "ALTER PUBLICATION ours SET (publish_via_partition_root, publish = 'insert, update, delete, truncate')"
    shop.run(mended)
    assert shop.follow(named) == ()
    shop.run("ALTER PUBLICATION ours SET (publish = 'insert')", "UPDATE t SET v = 3")
    assert shop.follow(named) == ("parted", "t")
    assert "does not publish update, delete, truncate" in shop.aside("t")
    shop.run(mended, "DELETE FROM t WHERE id = 1")
    assert shop.follow(named) == ("parted", "t"), "what was not published is not known"
    shop.resnapshot()
    assert shop.follow(named) == ()
    shop.check("t")


def test_parts_of_tables_that_are_published(shop: Shop) -> None:
    """Columns, rows, or nothing of a table: it is set aside, and the others go on."""
    for table in ("columns", "filtered", "gone", "whole"):
        shop.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, v INT)", f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
    shop.run(
        "CREATE PUBLICATION ours FOR TABLE columns (id), gone, filtered WHERE (id > 1), whole "
        "WITH (publish_via_partition_root)"
    )
    named = "  publication.name: ours\n"
    assert shop.follow(named) == ("columns", "filtered")
    assert "has the columns id alone of table public.columns" in shop.aside("columns")
    assert "has the rows WHERE (id > 1) alone of table public.filtered" in shop.aside("filtered")
    shop.run(
        *(f"ALTER PUBLICATION ours DROP TABLE {table}" for table in ("columns", "filtered", "gone")),
        "ALTER PUBLICATION ours ADD TABLE columns, filtered",
        *(f"UPDATE {table} SET v = 5 WHERE id = 1" for table in ("columns", "filtered", "gone", "whole")),
        "DELETE FROM gone WHERE id = 2",
    )
    for table in ("columns", "filtered"):
        shop.resnapshot(table)
    assert shop.follow(named) == ()
    shop.check("columns", "filtered", "gone", "whole")
    shop.run("ALTER PUBLICATION ours SET TABLE columns, filtered, gone, whole (id)", "UPDATE whole SET v = 7")
    assert shop.follow(named) == ("whole",)
    assert "keylake resnapshot" in shop.aside("whole")


def test_a_publication_that_is_gone(shop: Shop) -> None:
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1, 1), (2, 2)")
    assert shop.follow() == ()
    shop.run(f"DROP PUBLICATION {shop.name}", "DELETE FROM t WHERE id = 1", "UPDATE t SET v = 3")
    with pytest.raises(kl.SourceFailed, match=r"no publication .* pg_drop_replication_slot\(.* resnapshot"):
        shop.follow()
    shop.postgres.drop_slot(shop.name)
    shop.resnapshot()
    assert shop.follow() == ()
    shop.check("t")


def test_values_that_no_column_holds(shop: Shop) -> None:
    """They set their table aside, also from the log: no older row stays in silence. As text they are read."""
    values = {"day": "infinity", "at": "0044-03-15 12:00:00+00 BC", "n": "NaN"}
    types = {"day": "DATE", "at": "TIMESTAMPTZ", "n": "NUMERIC(9, 2)"}
    for name, type_ in types.items():
        shop.run(f"CREATE TABLE of_{name} (id INT PRIMARY KEY, {name} {type_})", f"INSERT INTO of_{name} VALUES (1)")
    shop.run("CREATE TABLE other (id INT PRIMARY KEY)")
    assert shop.follow() == ()
    for name, value in values.items():
        shop.run(f"UPDATE of_{name} SET {name} = '{value}'", f"INSERT INTO of_{name} VALUES (2)")
    shop.run("INSERT INTO other VALUES (7)")
    assert shop.follow() == ("of_at", "of_day", "of_n")
    assert "infinity lies outside of the years 1 to 9999. Change the value; or have" in shop.aside("of_day")
    shop.check("other")
    text = "  columns: {day: as_text, of_at.at: as_text, public.of_n.n: as_text}\n"
    for name in types:
        shop.lake.spark.sql(f"DROP TABLE lake.{shop.name}.of_{name}").collect()
        shop.resnapshot(f"of_{name}")
    assert shop.follow(text) == ()
    for name, value in values.items():
        rows = shop.lake.table(f"{shop.name}.of_{name}").read(columns=["id", name]).toArrow().to_pylist()
        assert ordered(rows) == [{"id": 1, name: value}, {"id": 2, name: None}]


def test_a_column_that_comes_back_with_another_type(shop: Shop) -> None:
    """Lenient leaves the column as it was, which cannot have the new values; the sentence names the way on."""
    shop.behaviour = "lenient"
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, a INT)", "INSERT INTO t VALUES (1, 5)")
    assert shop.follow() == ()
    shop.run("ALTER TABLE t DROP COLUMN a, ADD COLUMN a TEXT DEFAULT 'again'", "INSERT INTO t VALUES (2, 'new')")
    assert shop.follow() == ("t",)
    said, table = shop.aside("t"), f"{shop.name}.t"
    assert "cannot become string: Iceberg does not widen one to the other. Give it" in said
    assert f"keylake retype {table} a string, then resume" in said
    retype(shop.lake, table, "a", "string")
    resume(shop.lake, shop.name, table)
    assert shop.follow() == ()
    shop.check("t")


def test_a_generated_column_that_becomes_a_column_of_values(shop: Shop) -> None:
    """It was not published; now the rows from before have its values, too."""
    shop.run(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, g INT GENERATED ALWAYS AS (a * 2) STORED)",
        "INSERT INTO t SELECT i, i FROM generate_series(1, 5) i",
    )
    assert shop.follow() == ()
    shop.run("ALTER TABLE t ALTER g DROP EXPRESSION", "UPDATE t SET a = 9 WHERE id = 1")
    assert shop.follow() == ()
    shop.check("t")
    assert {row["g"] for row in shop.in_lake("t")} == {2, 4, 6, 8, 10}


def test_keys_that_the_source_names(shop: Shop) -> None:
    shop.run(
        "CREATE TABLE t (a INT NOT NULL, v TEXT)", "ALTER TABLE t REPLICA IDENTITY FULL", "INSERT INTO t VALUES (1)"
    )
    assert shop.follow() == ("t",)
    assert "keys: {public.t: column}" in shop.aside("t")
    shop.resnapshot("t")
    assert shop.follow("  keys: {public.t: a}\n") == ()
    shop.run("UPDATE t SET v = 'x'", "INSERT INTO t VALUES (2), (3)", "DELETE FROM t WHERE a = 2")
    assert shop.follow("  keys: {public.t: a, public.u: b}\n") == ()
    shop.check("t")
    [state] = [each for each in states(shop.lake) if each.name == shop.name]
    assert state.last_error == (
        "No table of the source is meant by source.keys 'public.u'. Check the names, or wait for such tables."
    )


def test_labels_that_are_renamed(shop: Shop) -> None:
    """Of enums, also in arrays and below domains, while a pipeline runs and while it does not."""
    shop.run(
        "CREATE TYPE mood AS ENUM ('glad', 'sad')",
        "CREATE DOMAIN humour AS mood",
        "CREATE TABLE t (id INT PRIMARY KEY, m mood)",
        "CREATE TABLE u (id INT PRIMARY KEY, m humour, ms mood[])",
        "INSERT INTO t VALUES (1, 'glad'), (2, 'sad')",
        "INSERT INTO u VALUES (1, 'glad', '{sad,glad}')",
    )
    assert shop.follow() == ()
    shop.run(
        "UPDATE t SET m = 'glad' WHERE id = 2",
        "ALTER TYPE mood RENAME VALUE 'glad' TO 'happy'",
        "ALTER TYPE mood ADD VALUE 'angry'",
        "INSERT INTO t VALUES (3, 'happy')",
    )
    assert shop.follow() == ()
    shop.check("t")
    rows = shop.lake.table(f"{shop.name}.u").read(columns=["m", "ms"]).toArrow().to_pylist()
    assert rows == [{"m": "happy", "ms": ["sad", "happy"]}]


def test_composite_types_that_change(shop: Shop) -> None:
    """Attributes come and go, and labels of an enum inside of one, and of the bounds of a range."""
    shop.run(
        "CREATE TYPE mood AS ENUM ('glad', 'sad')",
        "CREATE TYPE pair AS (x INT, m mood)",
        "CREATE TYPE moods AS RANGE (subtype = mood)",
        "CREATE TABLE t (id INT PRIMARY KEY, p pair)",
        "CREATE TABLE u (id INT PRIMARY KEY, r moods)",
        "INSERT INTO t VALUES (1, '(1,glad)')",
        "INSERT INTO u VALUES (1, '[glad,sad]')",
    )
    assert shop.follow() == ()
    for change in (
        "ALTER TYPE mood RENAME VALUE 'glad' TO 'happy'",
        "ALTER TYPE pair ADD ATTRIBUTE y INT CASCADE",
        "ALTER TYPE pair DROP ATTRIBUTE x CASCADE",
    ):
        shop.run(change)
        assert shop.follow() == ()
        shop.check("t", "u")


def test_partitions_of_postgres_that_go(shop: Shop) -> None:
    """Their rows are gone without a word in the log: the table is read once more."""
    tables = ("detached", "dropped", "emptied", "back")
    for table in tables:
        shop.run(f"CREATE TABLE {table} (id INT, y INT, PRIMARY KEY (id, y)) PARTITION BY RANGE (y)")
        for number in (1, 2):
            bounds = f"FROM ({number * 10}) TO ({number * 10 + 10})"
            shop.run(f"CREATE TABLE {table}_{number} PARTITION OF {table} FOR VALUES {bounds}")
        shop.run(f"INSERT INTO {table} VALUES (1, 11), (2, 12), (3, 23)")
    assert shop.follow() == ()
    detach = "ALTER TABLE {0} DETACH PARTITION {0}_1"
    shop.run(
        detach.format("detached"),
        "DROP TABLE dropped_1",
        "TRUNCATE emptied_1",
        "INSERT INTO emptied VALUES (9, 19)",
        detach.format("back"),
    )
    assert shop.follow() == ()
    shop.check(*tables, "back_1")
    shop.run("DELETE FROM back_1 WHERE id = 1", "ALTER TABLE back ATTACH PARTITION back_1 FOR VALUES FROM (10) TO (20)")
    assert shop.follow() == ()
    shop.check(*tables)
    with shop.connection.transaction():  # no look sees it detached, nor with its columns of before
        shop.run(
            "ALTER TABLE emptied ADD COLUMN z INT",
            detach.format("emptied"),
            "DELETE FROM emptied_1",
            "ALTER TABLE emptied ATTACH PARTITION emptied_1 FOR VALUES FROM (10) TO (20)",
        )
    assert shop.follow() == ()
    shop.check("emptied")


def test_names_that_go_to_other_tables(shop: Shop) -> None:
    """While no pipeline runs: rows of the table that had the name before are gone, also of one that had it twice."""
    for table in ("swapped", "anew"):
        shop.run(f"CREATE TABLE {table} (id INT PRIMARY KEY)", f"INSERT INTO {table} VALUES (1), (2)")
    parted = "CREATE TABLE parted (id INT PRIMARY KEY) PARTITION BY RANGE (id)"
    part = "CREATE TABLE parted_1 PARTITION OF parted DEFAULT"
    shop.run(parted, part, "INSERT INTO parted VALUES (1), (2)")
    shop.run(
        parted.replace("parted", "old"), "CREATE TABLE old_1 PARTITION OF old DEFAULT", "INSERT INTO old VALUES (5)"
    )
    for table, row in (("blue", 1), ("green", 2)):
        shop.run(
            parted.replace("parted", table),
            f"CREATE TABLE {table}_1 PARTITION OF {table} DEFAULT",
            f"INSERT INTO {table} VALUES ({row})",
        )
    assert shop.follow() == ()
    shop.run(
        "CREATE TABLE other (LIKE swapped INCLUDING ALL)",
        "INSERT INTO other VALUES (2), (3)",
        "ALTER TABLE swapped RENAME TO between",
        "ALTER TABLE other RENAME TO swapped",
        "DROP TABLE anew, parted",
        "CREATE TABLE anew (id INT PRIMARY KEY)",
        "INSERT INTO anew VALUES (2)",
        parted,
        part,
        "INSERT INTO parted VALUES (2)",
        "ALTER TABLE old RENAME TO new",
        "ALTER TABLE new ADD COLUMN more INT",
        "ALTER TABLE blue RENAME TO middle",
        "ALTER TABLE green RENAME TO blue",
        "ALTER TABLE middle RENAME TO green",
    )
    assert shop.follow() == ()
    shop.check("swapped", "between", "anew", "parted", "new", "blue", "green")
    shop.run(
        "ALTER TABLE swapped RENAME TO other", "ALTER TABLE between RENAME TO swapped", "INSERT INTO swapped VALUES (7)"
    )
    assert shop.follow() == ()
    shop.check("swapped", "other", "anew", "parted")


def test_what_was_not_published_is_read_once_more(shop: Shop) -> None:
    """To resume is not enough: rows of which a part was published would stay as they are."""
    shop.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, secret TEXT)",
        "INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b')",
        "CREATE PUBLICATION ours FOR TABLE t WITH (publish_via_partition_root)",
    )
    named = "  publication.name: ours\n"
    assert shop.follow(named) == ()
    shop.run("ALTER PUBLICATION ours SET TABLE t (id, v)", "UPDATE t SET v = 77, secret = 'lost' WHERE id = 2")
    assert shop.follow(named) == ("t",)
    shop.run("ALTER PUBLICATION ours DROP TABLE t", "ALTER PUBLICATION ours ADD TABLE t")
    resume(shop.lake, shop.name, f"{shop.name}.t")
    assert shop.follow(named) == ("t",)
    assert "have it read once more" in shop.aside("t")
    shop.resnapshot("t")
    assert shop.follow(named) == ()
    shop.check("t")


def test_a_table_whose_rows_cannot_be_read(shop: Shop) -> None:
    """It is set aside, and the others go on; so it is where it is read once more before it is mended."""
    shop.run(
        "CREATE TYPE word AS ENUM ('here', 'gone')",
        "CREATE TABLE damaged (id INT PRIMARY KEY, w word)",
        "CREATE TABLE whole (id INT PRIMARY KEY, w word)",
        "INSERT INTO damaged VALUES (1, 'here'), (2, 'gone')",
        "INSERT INTO whole VALUES (1, 'here')",
        "DELETE FROM pg_enum WHERE enumlabel = 'gone'",
    )
    assert shop.follow() == ("damaged",)
    assert "failed at reading public.damaged: invalid internal value for enum" in shop.aside("damaged")
    shop.run("INSERT INTO whole VALUES (2, 'here')", "INSERT INTO damaged VALUES (3, 'here')")
    assert shop.follow() == ("damaged",)
    shop.resnapshot("damaged")
    assert shop.follow() == ("damaged",)
    shop.check("whole")
    shop.run("DELETE FROM damaged WHERE id = 2")
    shop.resnapshot("damaged")
    assert shop.follow() == ()
    shop.check("whole", "damaged")
