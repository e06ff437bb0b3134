"""What a pipeline is: its definition in Python and YAML, and where the rows of its source go."""
