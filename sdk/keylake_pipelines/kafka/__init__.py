"""Topics of Kafka as a source of changes."""
