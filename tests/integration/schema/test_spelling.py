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
    "spark.keylake.write.idempotencykey": "spark.keylake.write.idempotency-key",
    "spark.keylake.write.versions": "spark.keylake.write.version",
    "spark.keylake.write.ofsets": "spark.keylake.write.offsets",
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
