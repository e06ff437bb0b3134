"""What sources of a pipeline give: tables, changes of rows, changes of tables, as values."""
