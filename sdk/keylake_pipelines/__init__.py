"""Pipelines: sources such as databases and topics into keyed tables, always. An extension of keylake."""
