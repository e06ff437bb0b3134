"""Checks of rows: of those that a branch has changed, before it is published, and of those of a write."""
