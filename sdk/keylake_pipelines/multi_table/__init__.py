"""Rows of many tables, written by the driver or one Spark job and committed table by table."""
