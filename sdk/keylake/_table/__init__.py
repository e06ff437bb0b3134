"""The verbs of a table, one file per family."""
