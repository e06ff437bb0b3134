"""The definition of a table: columns, key, buckets and groups as a value, with its JSON, Arrow and Iceberg forms."""
