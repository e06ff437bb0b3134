"""The values that sources of a pipeline give: tables, changes of rows, changes of tables."""
