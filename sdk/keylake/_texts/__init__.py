"""Values as texts, for what JSON has no form of."""
