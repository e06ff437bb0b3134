"""The change feed of a table, without a server."""
