"""Problems (1), (6) and (7) of BOA: convex, because there are no rescaling times."""
