"""Results as they show themselves in terminals and notebooks."""
