"""Payloads of JSON, maps and VARIANT, whose fields become updates of columns."""
