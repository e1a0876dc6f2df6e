"""What proves a bound of `eva-packing`: a tree with whole-number duals, or a derivation."""
