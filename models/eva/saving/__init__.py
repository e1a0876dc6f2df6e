"""Column generation for Eva's net saving, where the patterns are too many to list."""
