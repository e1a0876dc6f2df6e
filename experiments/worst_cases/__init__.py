"""Worst cases of a heuristic: spaces of instances, searches over them, and what is left of one that is made smaller."""
