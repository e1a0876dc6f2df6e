"""Problems (1), (6) and (7) of BOA: no rescaling times, so that the problem is convex."""
