"""The size, interval and executors of a pipeline's next batches, from what its last rounds showed."""
