"""The log of a table: writes that are durable before they are in files, which several processes append and read."""
