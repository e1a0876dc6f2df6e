"""Branch-and-price for Eva's packing: a tree over linear programs of patterns, with exact bounds."""
