"""How the rows of a table differ between two commits, told without a server."""
