"""Rows in the hands of people, on their way to a table: what a write is to do, and Arrow data that fits."""
