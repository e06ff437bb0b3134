"""Databases of MariaDB and MySQL as a source: their tables in chunks, and their binary log."""
