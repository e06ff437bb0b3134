"""A pipeline at work: its source is opened, its rows are transformed, it is run, checked and mended."""
