"""The papers' formulations, each given unchanged to a general solver: `literal`.

Pyomo and cvxpy take a second to import, which nobody but a caller of these functions should wait for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from instances import Answer, InputError, Options, Report, Result, Solution
from instances.boa import BoaAllocation, width_arrays
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


def read_literal(data: BoaAllocation, model: ConcreteModel) -> Result:
    """What a solver of your own has found for `build_literal(data)`, with rows of your own or without.

    It has passed the checker, or is `violates` with what it breaks. Raises InputError for a model without values, and
    for values that are no solution.
    """
    from models.boa.rescaling.milp import read_policy
    from models.literal import read_model

    return read_model(data, model, read_policy)


def literal_names(data: BoaAllocation) -> Mapping[str, Callable[..., Mapping[str, Any]]]:
    """What the indices of each variable of `build_literal(data)` stand for."""
    a = width_arrays(data)

    def run(i: int, j: int, s: int) -> dict[str, Any]:
        gpus = {"type": data.gpu_types[int(a.type[s])].name, "width": int(a.width[s])}
        return {"class": data.classes[i].name, "epoch": j} | gpus

    return {"width": run, "change": run}
