"""The definition of a pipeline, in Python and YAML, and the routes of the rows of its source."""
