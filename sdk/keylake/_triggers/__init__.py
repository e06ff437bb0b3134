"""What runs for closed intervals of event time and for commits."""
