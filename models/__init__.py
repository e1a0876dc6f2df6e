"""Exact formulations: each solve gives a bound and a proof.

`models.highs` hands arrays to HiGHS, `models.literal` hands it Pyomo models.
"""
