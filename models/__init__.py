"""Exact methods: each returns a solution, a bound and a proof of optimality.

`models.core.highs` passes arrays to HiGHS, and `models.core.pyomo_model` passes Pyomo models.
"""
