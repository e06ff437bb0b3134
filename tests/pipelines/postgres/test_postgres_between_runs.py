"""Statements of between two runs: tables that go or get other names, and keys that do."""

import pytest

import keylake as kl
from keylake_pipelines.runner.control import forget
from pipelines.postgres.shop import Shop

pytestmark = pytest.mark.slow


@pytest.fixture
def shop(shop: Shop) -> Shop:
    """With tables that are followed from the first run on."""
    for table in ("dropped", "renamed", "empty", "stays"):
        shop.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, v INT)")
    shop.run(*(f"INSERT INTO {table} VALUES (1, 1), (2, 2)" for table in ("dropped", "renamed", "stays")))
    return shop


def test_tables_that_go_are_set_aside(shop: Shop) -> None:
    shop.behaviour = "lenient"
    assert shop.follow() == ()
    shop.run("DROP TABLE dropped", "ALTER TABLE renamed RENAME TO new", "ALTER TABLE empty RENAME TO filled")
    shop.run("INSERT INTO new VALUES (3, 3)")
    gone = ("dropped", "empty", "renamed")
    assert shop.follow() == gone
    shop.check("new", "filled", "stays")
    for table in gone:
        said = shop.aside(table)
        assert f"public.{table} was dropped in the source, or has another name. Its rows stay in" in said
        assert f"keylake forget {shop.name} {shop.name}.{table}." in said
    shop.resnapshot("dropped")
    assert shop.follow() == gone
    assert "The source has no table for it. Its rows stay" in shop.aside("dropped")
    shop.run("ALTER TABLE new RENAME TO renamed", "ALTER TABLE filled RENAME TO empty")
    shop.run("DELETE FROM renamed WHERE id = 1")
    assert shop.follow() == ("dropped", "filled", "new")
    shop.check("renamed", "empty", "stays")
    for table in ("filled", "new"):
        forget(shop.lake, shop.name, f"{shop.name}.{table}")
    shop.run("CREATE TABLE dropped (id INT PRIMARY KEY, v INT)", "INSERT INTO dropped VALUES (2, 7)")
    assert shop.follow() == ()
    shop.check("dropped", "renamed", "empty", "stays")


def test_tables_of_postgres_that_go_are_emptied(shop: Shop) -> None:
    assert shop.follow() == ()
    shop.run("DROP TABLE dropped", "ALTER TABLE renamed RENAME TO new")
    assert shop.follow() == ()
    shop.check("new", "empty", "stays")
    for table in ("dropped", "renamed"):
        assert shop.lake.table(f"{shop.name}.{table}").read().count() == 0


@pytest.mark.parametrize("name", ["dropped", "stays"])
def test_tables_that_nobody_selects_any_more(shop: Shop, name: str) -> None:
    """What is not selected is not said to be gone."""
    assert shop.follow() == ()
    shop.run("DROP TABLE dropped")
    assert shop.follow(f"  tables.exclude: \\.*.public.{name}\n") == ()
    assert shop.lake.table(f"{shop.name}.{name}").read().count() == 2


@pytest.mark.parametrize("behaviour", ["evolve", "lenient"])
def test_columns_of_the_key_that_are_renamed(shop: Shop, behaviour: str) -> None:
    shop.behaviour = behaviour
    shop.run("CREATE TABLE pair (a INT, b INT, v INT, PRIMARY KEY (a, b))", "INSERT INTO pair VALUES (1, 2, 3)")
    assert shop.follow() == ()
    shop.run(
        "ALTER TABLE stays RENAME id TO number",
        "UPDATE stays SET v = 7 WHERE number = 2",
        "ALTER TABLE pair ADD w INT",
        "ALTER TABLE pair RENAME a TO c",
        "ALTER TABLE pair RENAME b TO d",
        "ALTER TABLE pair DROP v",
        "INSERT INTO pair VALUES (5, 6, 7)",
        "DELETE FROM stays WHERE number = 1",
    )
    assert shop.follow() == ()
    shop.check("stays", "pair")


def test_a_key_that_may_be_another_column(shop: Shop) -> None:
    """A column was dropped and one came, or one was renamed: it is told, and what the sentence names works."""
    shop.run("CREATE TABLE one (id INT PRIMARY KEY)", "INSERT INTO one VALUES (1), (2)")
    assert shop.follow() == ()
    shop.run("TRUNCATE one", "ALTER TABLE one ADD n INT, DROP id")
    shop.run("ALTER TABLE one ADD PRIMARY KEY (n)", "INSERT INTO one VALUES (5)")
    assert shop.follow() == ("one",)
    assert "has the key n now, and keyed table" in shop.aside("one")
    assert f"Drop or rename {shop.name}.one, and let keylake resnapshot make it anew" in shop.aside("one")
    shop.lake.spark.sql(f"DROP TABLE lake.{shop.name}.one").collect()
    shop.resnapshot("one")
    assert shop.follow() == ()
    shop.check("one", "stays")


def test_columns_of_postgres_that_are_dropped_between_runs(shop: Shop) -> None:
    """A later column of the name is another one, whether it comes by ADD or by RENAME."""
    shop.run("CREATE TABLE more (id INT PRIMARY KEY, v INT, w INT)", "INSERT INTO more VALUES (1, 10, 5), (2, 20, 6)")
    assert shop.follow() == ()
    shop.run("ALTER TABLE stays DROP v", "ALTER TABLE more DROP v")
    assert shop.follow() == ()
    assert shop.lake.table(f"{shop.name}.stays").spec.column_names == ("id",)
    shop.run("ALTER TABLE stays ADD v INT", "INSERT INTO stays VALUES (3, 3)", "ALTER TABLE more RENAME w TO v")
    assert shop.follow() == ()
    shop.check("stays", "more")


def test_a_column_that_was_dropped_between_runs_ends_a_pipeline(shop: Shop) -> None:
    """A pipeline that was told to end at changes of tables."""
    shop.behaviour = "exception"
    assert shop.follow() == ()
    shop.run("ALTER TABLE stays DROP v")
    with pytest.raises(kl.SchemaMismatch, match=r"column 'v' of .* was dropped"):
        shop.follow()


def test_labels_of_a_key_that_are_renamed_between_runs(shop: Shop) -> None:
    shop.run("CREATE TYPE mood AS ENUM ('glad', 'sad')", "CREATE TABLE moods (m mood PRIMARY KEY, v INT)")
    shop.run("INSERT INTO moods VALUES ('glad', 1), ('sad', 2)")
    assert shop.follow() == ()
    shop.run("ALTER TYPE mood RENAME VALUE 'glad' TO 'happy'")
    assert shop.follow() == ()
    shop.check("moods")
