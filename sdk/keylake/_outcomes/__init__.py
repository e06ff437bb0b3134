"""What errors and results have in common: commits, intervals and findings as values."""
