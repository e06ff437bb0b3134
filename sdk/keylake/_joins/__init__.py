"""Back-fill: columns of tables joined to samples, and why a query moves rows."""
