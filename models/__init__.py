"""Exact methods: each returns a solution, a bound and a proof of optimality.

`models.highs` passes arrays to HiGHS, and `models.literal` passes Pyomo models.
"""
