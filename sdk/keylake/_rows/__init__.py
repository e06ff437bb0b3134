"""Local rows become Arrow data that fits the table exactly, or an error about the first value that does not."""
