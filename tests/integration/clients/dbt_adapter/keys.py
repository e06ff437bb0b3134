"""The keys of the tables of dbt's tests, as the configuration of a project; tables whose rows have none stay plain."""

from typing import Any

ID = {"models": "id", "seeds": "id", "snapshots": "dbt_scd_id"}

OF_TESTS: dict[str, dict[str, str | None]] = {
    "aliases_Aliases": {"models": "tablename"},
    "aliases_SameAliasDifferentDatabases": {"models": "tablename"},
    "aliases_SameAliasDifferentSchemas": {"models": "tablename"},
    "basic_IncrementalNotSchemaChange": {"models": "user_id_current_time"},
    "hooks_PrePostModelHooksOnSeeds": {"seeds": "a"},
    "hooks_PrePostModelHooksOnSeedsPlusPrefixed": {"seeds": "a"},
    "hooks_PrePostModelHooksOnSeedsPlusPrefixedWhitespace": {"seeds": "a"},
    "hooks_PrePostModelHooksOnSnapshots": {"seeds": "a"},
    "hooks_PrePostSnapshotHooksInConfigKwargs": {"seeds": "a"},
    "hooks_PrePostRunHooks": {"seeds": "a"},
    # A city is null, and the test inserts a row twice into the seed.
    "incremental_IncrementalUniqueKey": {"models": "state, county", "seeds": None},
    "relations_ChangeRelationTypeValidator": {"models": "materialization"},
    "simple_snapshot_SnapshotColumnNames": {"snapshots": "test_scd_id"},
    "simple_snapshot_SnapshotColumnNamesFromDbtProject": {"snapshots": "test_scd_id"},
    "simple_snapshot_SnapshotDbtValidToCurrent": {"snapshots": "test_scd_id"},
    "simple_snapshot_SnapshotInvalidColumnNames": {"snapshots": "test_scd_id"},
    "simple_snapshot_SnapshotMultiUniqueKey": {"snapshots": "test_scd_id"},
}

OF_TABLES: dict[str, dict[str, str | None]] = {
    "models": {
        "ephemeral_summary": "first_name",
        "microbatch_model": "day, id",
        "my_model_data_type": "wrong_data_type_column_name",
        "raw_numbers": "n",
        "source_table": None,  # an id is null
        "stg_numbers": "n",
    },
    "seeds": {
        "data_any_value_expected": "key_name",
        "data_bool_or": None,
        "data_bool_or_expected": "key_column",
        "data_cast": None,
        "data_concat": "output",
        "data_date_trunc": None,
        "data_dateadd": None,
        "data_datediff": None,
        "data_equals": "key_name",
        "data_hash": "output",
        "data_last_day": None,
        "data_length": "expression",
        "data_listagg": None,
        "data_listagg_output": "expected",
        "data_position": "substring_text, string_text",
        "data_replace": "string_text",
        "data_right": "length_expression",
        "data_safe_cast": None,
        "data_split_part": None,
        "expected_delete_insert_incremental_predicates": "msg",
    },
}


def of_tables(test: str, project: str) -> dict[str, Any]:
    """The part of a project that gives its tables their keys."""
    keys = ID | OF_TESTS.get(test.removeprefix("Test_"), {})
    return {
        kind: {
            "+tblproperties": properties(key),
            project: {name: {"+tblproperties": properties(of)} for name, of in OF_TABLES.get(kind, {}).items()},
        }
        for kind, key in keys.items()
    }


def properties(key: str | None) -> dict[str, str] | None:
    return {"key": key} if key else None
