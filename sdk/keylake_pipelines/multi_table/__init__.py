"""Rows of many tables, written by one Spark job and committed table by table."""
