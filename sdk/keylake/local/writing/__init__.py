"""Small writes without a server: rows become files of their buckets, and one commit."""
