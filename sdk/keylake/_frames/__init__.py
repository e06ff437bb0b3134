"""Definitions of tables as classes of libraries that check frames."""
