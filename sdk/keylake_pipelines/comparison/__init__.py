"""Rows of source tables compared with rows of keyed tables."""
