"""What classes of dbt-tests-adapter expect of PostgreSQL, as Spark has it: mixins in front of these classes."""

import os

import pytest
from dbt.tests.util import check_relations_equal, run_dbt

KEYED = os.environ["DBT_KEYED"] == "1"


class Hooks:
    """Hooks know another database, and another type and threads of it."""

    def check_hooks(self, state, project, host, count=1):
        rows = project.run_sql(
            f"select * from {project.test_schema}.{self.written} where test_state = '{state}'", fetch="all"
        )
        expected = (state, "", host, "default", project.test_schema, "spark")
        assert [tuple(row[:6]) for row in rows] == [expected] * count, rows
        assert all(all(row[9:]) for row in rows), rows  # times and names of runs and threads


class ModelHooks(Hooks):
    written = "on_model_hook"


class RunHooks(Hooks):
    written = "on_run_hook"

    def assert_used_schemas(self, project):
        """dbt has no name of a database here."""
        rows = project.run_sql(f"select * from {project.test_schema}.db_schemas", fetch="all")
        assert [row[1] for row in rows] == [project.test_schema]


class Merged:
    """Spark appends unless a model says how it is incremental."""

    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "merge"}}


class Microbatch:
    """Spark replaces partitions."""

    @pytest.fixture(scope="class")
    def microbatch_model_sql(self):
        return """
            {{ config(
                materialized='incremental', incremental_strategy='microbatch', unique_key='id', event_time='event_time',
                batch_size='day', begin=modules.datetime.datetime(2020, 1, 1, 0, 0, 0), partition_by='day',
            ) }}
            select *, cast(event_time as date) as day from {{ ref('input_model') }}
        """


class Contracts:
    """Names of types that a key can have: in SQL, and in errors of dbt."""

    @pytest.fixture
    def string_type(self):
        return "STRING_TYPE"

    @pytest.fixture
    def int_type(self):
        return "INT_TYPE"

    @pytest.fixture
    def schema_string_type(self):
        return "string"

    @pytest.fixture
    def schema_int_type(self):
        return "int"

    @pytest.fixture
    def data_types(self):
        return [
            ["1", "int", "INT_TYPE"],
            ["'1'", "string", "STRING_TYPE"],
            ["true", "boolean", "BOOLEAN_TYPE"],
            ["date '2013-11-03'", "date", "DATE_TYPE"],
            ["timestamp '2013-11-03 00:00:00'", "timestamp", "TIMESTAMP_TYPE"],
            ["1.5", "decimal(2, 1)", "DECIMAL_TYPE"],
        ]


class Statement:
    """dbt-spark writes no constraints into statements on tables of Iceberg."""

    before = "-- depends_on: <foreign_key_model_identifier>"
    color = "color"

    @pytest.fixture(scope="class")
    def expected_sql(self):
        kind = "using keylake tblproperties ('key' = 'id')" if KEYED else "using iceberg"
        return (
            f"create or replace table <model_identifier> {kind} as select id, {self.color}, date_day from ("
            f"{self.before} select 'blue' as {self.color}, 1 as id, '2019-01-01' as date_day) as model_subq"
        )


class QuotedColumn(Statement):
    before = ""
    color = "`from`"


class Ephemeral:
    """The statement that makes a view, as Spark has it, is not compared."""

    def test_ephemeral_multi(self, project):
        run_dbt(["seed"])
        assert len(run_dbt(["run"])) == 3
        check_relations_equal(project.adapter, ["seed", "dependent", "double_dependent", "super_dependent"])


class EphemeralNested:
    """The statement that makes a view, as Spark has it, is not compared."""

    def test_ephemeral_nested(self, project):
        assert len(run_dbt(["run"])) == 2
        rows = project.run_sql(f"select id from {project.test_schema}.root_view order by id", fetch="all")
        assert [tuple(row) for row in rows] == [(None,), (1,)]


class Nulls:
    """A key takes no null. dbt-spark passes over not_null of a plain table of Iceberg."""

    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        return ["id", "null"]


MIXINS = {
    "constraints_ConstraintQuotedColumn": QuotedColumn,
    "constraints_ConstraintsColumnsEqual": Contracts,
    "constraints_ConstraintsRollback": Nulls,
    "constraints_ConstraintsRuntimeDdlEnforcement": Statement,
    "constraints_IncrementalConstraintsColumnsEqual": Contracts,
    "constraints_IncrementalConstraintsRollback": Nulls,
    "constraints_IncrementalConstraintsRuntimeDdlEnforcement": Statement,
    "constraints_ModelConstraintsRuntimeEnforcement": Statement,
    "constraints_TableConstraintsColumnsEqual": Contracts,
    "constraints_ViewConstraintsColumnsEqual": Contracts,
    "ephemeral_EphemeralMulti": Ephemeral,
    "ephemeral_EphemeralNested": EphemeralNested,
    "hooks_DuplicateHooksInConfigs": ModelHooks,
    "hooks_HookRefs": ModelHooks,
    "hooks_PrePostModelHooks": ModelHooks,
    "hooks_PrePostModelHooksInConfig": ModelHooks,
    "hooks_PrePostModelHooksInConfigKwargs": ModelHooks,
    "hooks_PrePostModelHooksInConfigWithCount": ModelHooks,
    "hooks_PrePostRunHooks": RunHooks,
    "incremental_IncrementalOnSchemaChange": Merged,
    "incremental_IncrementalUniqueKey": Merged,
    "incremental_Microbatch": Microbatch,
}
