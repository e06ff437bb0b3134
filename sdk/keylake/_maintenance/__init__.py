"""Policies for compaction and retention, and what plans, compactions and the maintenance report."""
