"""How results show themselves in terminals and notebooks."""
