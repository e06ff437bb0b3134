"""Streams into tables and out of them: queries of Structured Streaming that write, and merged rows as they change."""
