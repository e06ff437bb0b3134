"""How much a pipeline takes at once, how often, and with how many executors, from what its last rounds showed."""
