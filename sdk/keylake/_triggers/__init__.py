"""Triggers, which run for closed intervals of event time and for commits."""
