"""The papers' formulations, each solved unchanged by a general solver: `literal`.

Pyomo and cvxpy take about a second to import, so they are imported inside functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from instances import Answer, InputError, Options, Report, Result, Solution
from instances.boa import BoaAllocation, width_arrays
from instances.method import method
from models.boa.curves import TABLE, curves

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel


@method("exact")
def literal(data: BoaAllocation, options: Options, report: Report, start: Solution | None = None) -> Answer:
    """Solve the paper's formulation with a general solver.

    - Convex problem: a cone program in cvxpy, solved by Clarabel. If all speedups are tables or widths are integer, a
      linear program, solved by HiGHS.
    - Problem with rescaling (Lemma 4.8): a mixed-integer program in Pyomo, solved by HiGHS.

    The answer is never worse than `start`. Raises InputError for real widths with rescaling times.
    """
    if data.reason_for_exact_only:
        raise InputError(f"data.widths: {data.reason_for_exact_only}")
    if not data.convex:
        from models.boa.milp import solve_milp as solve
    elif data.widths == "integer" or (curves(data).kind == TABLE).all():
        from models.boa.share_program import literal_lp as solve
    else:
        from models.boa.cone_program import literal_cone as solve
    return solve(data, options, report)


def build_literal(data: BoaAllocation) -> ConcreteModel:
    """Build the Pyomo model of Lemma 4.8; raises InputError if the instance asks for another problem."""
    from models.boa.milp import build_milp

    return build_milp(data)


def read_literal(data: BoaAllocation, model: ConcreteModel) -> Result:
    """Return the result for the values of a `model` from `build_literal(data)` that any solver has solved.

    The model may have additional constraints. The checker judges the solution; if it is infeasible, the status is
    `violates`. Raises InputError if the model has no values, or they do not form a solution.
    """
    from models.boa.milp import read_policy
    from models.core.pyomo_model import read_model

    return read_model(data, model, read_policy)


def literal_names(data: BoaAllocation) -> Mapping[str, Callable[..., Mapping[str, Any]]]:
    """Return a description of the indices of each variable of `build_literal(data)`."""
    a = width_arrays(data)

    def describe(i: int, j: int, s: int) -> dict[str, Any]:
        gpus = {"type": data.gpu_types[int(a.type[s])].name, "width": int(a.width[s])}
        return {"class": data.classes[i].name, "epoch": j} | gpus

    return {"width": describe, "change": describe}
