"""Files that arrive in a folder, as a source of a pipeline."""
