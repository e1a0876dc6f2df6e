"""The papers' formulations, each given unchanged to a general solver: `literal`.

Pyomo and cvxpy take a second to import, which nobody but a caller of these functions should wait for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from instances import Answer, InputError, Options, Report, Solution
from instances.boa import BoaAllocation
from instances.method import method
from models.boa.convex.curves import TABLE, curves

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel


@method("exact")
def literal(data: BoaAllocation, options: Options, report: Report, start: Solution | None = None) -> Answer:
    """Solve the paper's formulation with a general solver. Nothing worse than `start` is returned.

    The convex problem as a cone program in cvxpy by Clarabel, or as a linear program by HiGHS where every speedup is a
    table or widths are whole; the problem with rescaling (Lemma 4.8) in Pyomo by HiGHS.
    """
    if data.only_exact:
        raise InputError(f"data.widths: {data.only_exact}")
    if not data.convex:
        from models.boa.rescaling.milp import solve_milp as solve
    elif data.widths == "integer" or (curves(data).kind == TABLE).all():
        from models.boa.convex.linear_program import literal_lp as solve
    else:
        from models.boa.convex.cone_program import literal_cone as solve
    return solve(data, options, report)


def build_literal(data: BoaAllocation) -> ConcreteModel:
    """The Pyomo model of Lemma 4.8. Raises InputError where the instance asks for another problem."""
    from models.boa.rescaling.milp import build_milp

    return build_milp(data)
