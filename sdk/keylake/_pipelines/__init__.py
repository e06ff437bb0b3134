"""What a pipeline is: its definition in Python and YAML, where tables go, and what is done to their rows on the way."""
