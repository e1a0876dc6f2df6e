"""Column generation for what Eva saves, by a packing or in a round, where the contents of an instance are too many."""
