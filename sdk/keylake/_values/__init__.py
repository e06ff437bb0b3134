"""Values: Arrow data and Python objects that fit the type of a column exactly, or an error about the first misfit."""
