"""Heuristics of the papers and of practice: fast methods without a proof of optimality."""
