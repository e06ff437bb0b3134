"""Tables whose columns change, as tests ask them: statements, rows, and the same rows by every way of reading."""

import keylake as kl
from integration.twin import fresh_name

Rows = list[tuple[object, ...]]


class Evolving:
    """A table of SQL, with its name put into each statement for `{t}`."""

    def __init__(self, lake: kl.Lake, columns: str, properties: str = "'versions' = 'commit'", rest: str = "") -> None:
        self.lake = lake
        self.name = fresh_name("evolving")
        self.sql = f"{lake.catalog}.{self.name}"
        self.run(f"CREATE TABLE {{t}} ({columns}) USING keylake {rest} TBLPROPERTIES ({properties})")

    @property
    def table(self) -> kl.KeyedTable:
        """A handle that knows the columns of this moment."""
        return self.lake.table(self.name)

    @property
    def columns(self) -> list[str]:
        return [field.name for field in self.lake.spark.table(self.sql).schema]

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.lake.spark.sql(statement.replace("{t}", self.sql)).collect()

    def rows(self, statement: str = "SELECT * FROM {t}") -> Rows:
        found = self.lake.spark.sql(statement.replace("{t}", self.sql)).collect()
        return sorted((tuple(row) for row in found), key=repr)

    @property
    def head(self) -> int:
        """The newest commit."""
        return self.table.history(at_most=1)[0].snapshot_id

    def same_after_compaction(self, *statements: str) -> None:
        """Compacts the table; the answers stay as they are."""
        before = [self.rows(each) for each in statements or ("SELECT * FROM {t}",)]
        self.table.compact("full")
        assert [self.rows(each) for each in statements or ("SELECT * FROM {t}",)] == before
