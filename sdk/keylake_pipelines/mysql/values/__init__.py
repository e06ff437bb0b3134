"""Values of rows: from the bytes of a log, and of answers, to JSON in the types of columns."""
