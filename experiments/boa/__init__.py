"""BOA's allocation: methods, reference sets, benchmark and what else is the paper's own."""
