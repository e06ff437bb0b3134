"""The values that errors and results share: commits, intervals and findings."""
