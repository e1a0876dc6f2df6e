"""Solve exported models with SCIP: `python tests/attacks/scip.py FILE...` prints the optimum of each.

A program of its own, since SCIP's and HiGHS's libraries should not share a process.
"""

from __future__ import annotations

import sys

from pyscipopt import Model


def optimum(path: str) -> float:
    """Solve the .lp or .mps file at `path` to proven optimality, in the direction that the file states."""
    model = Model()
    model.hideOutput()
    model.setParam("limits/gap", 0.0)
    model.setParam("limits/absgap", 0.0)
    model.setParam("numerics/feastol", 1e-9)
    model.readProblem(path)
    model.optimize()
    if model.getStatus() != "optimal":
        raise SystemExit(f"{path}: {model.getStatus()}")
    return model.getObjVal()


if __name__ == "__main__":
    for file in sys.argv[1:]:
        print(repr(optimum(file)))
