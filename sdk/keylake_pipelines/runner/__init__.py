"""The loop that runs a pipeline: rows of a source into keyed tables, changes of its tables, and where it goes on."""
