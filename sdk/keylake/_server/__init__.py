"""The way to Spark: addresses, the embedded server, statements as values, and the session that runs them."""
