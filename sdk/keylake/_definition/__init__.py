"""What a table is: columns, key, buckets and groups as a value, with its JSON, Arrow and Iceberg forms."""
