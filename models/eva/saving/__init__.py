"""Column generation for the saving of a packing or of a round, if an instance has too many patterns to list."""
