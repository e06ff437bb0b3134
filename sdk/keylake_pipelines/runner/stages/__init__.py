"""The stages of a round, and what they hand on: steps that are read, rows that wait, tables that are written."""
