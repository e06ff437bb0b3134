"""Words of ours that are misspelt: each is refused with what was meant, and nothing is passed over in silence."""

import pytest

import keylake as kl
from integration.refusals import refused_in_sql
from integration.twin import fresh_name

PROPERTIES = {
    "orderin": "ordering",
    "version": "versions",
    "reducer.n": "reduce.n",
    "column_groups.a": "column_group.a",
}
SETTINGS = {
    "spark.keylake.write.idempotency_key": "spark.keylake.write.idempotency-key",
    "spark.keylake.write.versions": "spark.keylake.write.version",
    "spark.keylake.write.ofsets": "spark.keylake.write.offsets",
    "spark.keylake.wirte.version": "spark.keylake.write.version",
}


@pytest.mark.parametrize(("word", "meant"), PROPERTIES.items())
def test_a_misspelt_word_of_a_definition(lake: kl.Lake, word: str, meant: str) -> None:
    name = fresh_name("spelling")
    columns = f"CREATE TABLE {lake.catalog}.{name} (id BIGINT, n BIGINT, PRIMARY KEY (id)) USING keylake"
    with refused_in_sql(lake, name, "DEFINITION", f"'{word}'", f"Did you mean '{meant}'?"):
        lake.spark.sql(f"{columns} TBLPROPERTIES ('{word}' = 'n')")
    lake.spark.sql(f"{columns} TBLPROPERTIES ('versions' = 'commit', 'team' = 'ads', 'team.reduce' = 'x')")
    with refused_in_sql(lake, name, "DEFINITION", f"'{word}'", f"Did you mean '{meant}'?"):
        lake.spark.sql(f"ALTER TABLE {lake.catalog}.{name} SET TBLPROPERTIES ('{word}' = 'n')")
    plain = fresh_name("spelling")
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{plain} (id BIGINT) USING iceberg TBLPROPERTIES ('{word}' = 'n')")


@pytest.mark.parametrize(("setting", "meant"), SETTINGS.items())
def test_a_misspelt_setting(lake: kl.Lake, setting: str, meant: str) -> None:
    """It is told by the next statement on a keyed table, whoever set it and how."""
    name, plain = fresh_name("spelling"), fresh_name("spelling")
    of_sql = f"{lake.catalog}.{name}"
    lake.spark.sql(f"CREATE TABLE {of_sql} (id BIGINT, n BIGINT, PRIMARY KEY (id)) USING keylake")
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{plain} (id BIGINT) USING iceberg")
    statements = (
        f"INSERT INTO {of_sql} VALUES (1, 1)",
        f"UPDATE {of_sql} SET n = 2 WHERE id = 1",
        f"SELECT * FROM {of_sql}",
        f"TRUNCATE TABLE {of_sql}",
    )
    lake.spark.conf.set(setting, "once")
    try:
        for statement in statements:
            with refused_in_sql(lake, name, "DEFINITION", setting, f"Did you mean {meant}?", f"RESET `{setting}`"):
                lake.spark.sql(statement).collect()
        lake.spark.sql(f"INSERT INTO {lake.catalog}.{plain} VALUES (1)")
        assert lake.spark.table(f"{lake.catalog}.{plain}").count() == 1
    finally:
        lake.spark.sql(f"RESET `{setting}`")
    for statement in statements:
        lake.spark.sql(statement).collect()


@pytest.mark.parametrize(
    ("option", "meant"), [("idempotency-key", "idempotency_key"), ("verion", "version"), ("ofsets", "offsets")]
)
def test_a_misspelt_option_of_a_write(lake: kl.Lake, option: str, meant: str) -> None:
    name = fresh_name("spelling")
    lake.spark.sql(f"CREATE TABLE {lake.catalog}.{name} (id BIGINT, n BIGINT, PRIMARY KEY (id)) USING keylake")
    frame = lake.spark.createDataFrame([(1, 1)], "id long, n long")
    with refused_in_sql(lake, name, "DEFINITION", f"'{option}'", f"Did you mean '{meant}'?"):
        frame.writeTo(f"{lake.catalog}.{name}").option(option, "7").append()
    frame.writeTo(f"{lake.catalog}.{name}").option("check-nullability", "false").append()
    assert lake.table(name).read().count() == 1


def test_the_case_of_a_policy(lake: kl.Lake) -> None:
    name = fresh_name("spelling")
    of_sql = f"{lake.catalog}.{name}"
    columns = f"CREATE TABLE {of_sql} (id BIGINT, n BIGINT, PRIMARY KEY (id)) USING keylake"
    with refused_in_sql(lake, name, "DEFINITION", "'Keylake.compaction'", "lower case"):
        lake.spark.sql(f"{columns} TBLPROPERTIES ('Keylake.compaction' = '{{}}')")
    lake.spark.sql(columns)
    with refused_in_sql(lake, name, "DEFINITION", "recent_seconds 1.5", "a whole number"):
        lake.spark.sql(
            f"""ALTER TABLE {of_sql} SET TBLPROPERTIES ('keylake.compaction' = '{{"recent_seconds": 1.5}}')"""
        )
    with refused_in_sql(lake, name, "DEFINITION", "no compaction policy 'maintain'", "'maintenance'"):
        lake.spark.sql(f"CALL {lake.catalog}.system.compact(table => '{name}', policy => 'maintain')").collect()
    table = lake.table(name)
    table.set_compaction_policy(kl.CompactionPolicy(recent_seconds=2**63 - 1, tombstone_seconds=2**63 - 1))
    table.upsert([{"id": 1, "n": 1}])
    table.delete([{"id": 1}])
    assert not table.compact("maintenance")
    assert table.compact()


def test_a_setting_has_a_spelling_without_hyphens(lake: kl.Lake) -> None:
    """SQL takes it without backticks; two values of one setting are refused."""
    name = fresh_name("spelling")
    lake.sql(f"CREATE TABLE {lake.catalog}.{name} (id BIGINT, n BIGINT, PRIMARY KEY (id)) USING keylake")
    try:
        lake.sql("SET spark.keylake.write.idempotencykey = first")
        for number in (1, 2):
            lake.sql(f"INSERT INTO {lake.catalog}.{name} VALUES (1, {number})")
        assert lake.table(name).get(id=1)["n"] == 1  # type: ignore[index]  # pyright: ignore[reportOptionalSubscript]
        lake.spark.conf.set("spark.keylake.write.idempotency-key", "second")
        with pytest.raises(kl.DefinitionError, match=r"are one, with two values\. RESET"):
            lake.sql(f"INSERT INTO {lake.catalog}.{name} VALUES (1, 3)")
    finally:
        lake.sql("RESET spark.keylake.write.idempotencykey")
        lake.sql("RESET `spark.keylake.write.idempotency-key`")
    lake.sql(f"INSERT INTO {lake.catalog}.{name} VALUES (1, 4)")
    assert len(lake.table(name).history()) == 2
