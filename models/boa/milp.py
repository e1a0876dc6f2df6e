"""The mixed-integer problem of Lemma 4.8 in Pyomo, to be compared with the paper constraint by constraint.

Sets: classes i, epochs j of class i, choices s = (GPU type, width k). Variables: `width[i, j, s]` is 1 if epoch j of
class i runs at s. `change[i, j, s]` is 1 if epoch j begins a run at s. This splits the indicator 1_ij of the lemma by
the new width, which makes the products k_ij 1_ij linear.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyomo.environ import Binary, ConcreteModel, Constraint, NonNegativeReals, Objective, Set, Var, minimize, quicksum
from scipy import sparse

from instances import Answer, InputError, Options, Report, Solution, Stopwatch, check
from instances.boa import BoaAllocation, WidthArrays, allow_rounding, proven, width_arrays
from instances.options import ignore
from models.core.fine_units import FineUnits
from models.core.highs import TIGHT, solve_arrays
from models.core.pyomo_model import Values, compile_model
from models.core.safe_bounds import REAL, real_bound

MAX_BINARIES = 200_000  # such a model takes a minute to build; larger ones are rejected


def build_milp(data: BoaAllocation) -> ConcreteModel:
    """Build the program that minimises equation (2) while (3), without the factor 1/λ, is within the budget.

    Raises InputError if the instance asks for the convex problem, which is not linear, or for continuous widths with
    rescaling times, or if the model has too many binaries.
    """
    if data.reason_for_exact_only:
        raise InputError(f"data.widths: {data.reason_for_exact_only}")
    if data.convex:
        raise InputError("the convex problem is stated in cvxpy; only the one with rescaling times is a linear model")
    a = width_arrays(data)
    binaries = int(a.epochs.sum()) * len(a.width)
    if binaries > MAX_BINARIES:
        raise InputError(
            f"max_width: must be given, or smaller: the literal model has {binaries:,} binaries, over {MAX_BINARIES:,}"
        )
    model = ConcreteModel(name="boa-allocation")
    classes = range(len(data.classes))
    model.EPOCHS = Set(dimen=2, initialize=[(i, j) for i in classes for j in range(int(a.epochs[i]))])
    model.CHOICES = Set(initialize=range(len(a.width)))
    with np.errstate(invalid="ignore"):
        payable = a.hours * a.rate * a.arrivals[:, None] <= proven(data.budget)  # false beyond the end of a table
    runs = [(i, j, s) for i, j in model.EPOCHS for s in model.CHOICES if payable[j, i, s]]
    model.RUNS = Set(dimen=3, initialize=runs)
    model.width = Var(model.RUNS, domain=Binary)
    model.change = Var(model.RUNS, domain=NonNegativeReals, bounds=(0, 1))
    model.mean_jct = Objective(expr=_mean_jct(model, a), sense=minimize)
    model.budget = Constraint(expr=_cost(model, a, data.budget) <= allow_rounding(data.budget) / data.budget)
    model.one_width = Constraint(model.EPOCHS, rule=_width_rule)
    model.changed = Constraint(model.RUNS, rule=_change_rule)
    return model


def _mean_jct(model: Any, a: WidthArrays) -> Any:
    """Return equation (2): (1/λ) Σ_i λ_i Σ_j (E[X_ij] / s_ij(k_ij) + r_i 1_ij), with weights."""
    hours, rescale = a.share[:, None] * a.hours, (a.share * a.rescale).tolist()
    return quicksum(
        float(hours[j, i, s]) * model.width[i, j, s] + rescale[i] * model.change[i, j, s] for i, j, s in model.RUNS
    )


def _cost(model: Any, a: WidthArrays, budget: float) -> Any:
    """Return equation (3), without the factor 1/λ, in units of the budget."""
    price = (a.arrivals[:, None] * a.rate / budget).tolist()
    rescale = a.rescale.tolist()
    return quicksum(
        price[i][s] * (float(a.hours[j, i, s]) * model.width[i, j, s] + rescale[i] * model.change[i, j, s])
        for i, j, s in model.RUNS
    )


def _width_rule(model: Any, i: int, j: int) -> Any:
    """State that every epoch has exactly one width (Definition 4.4)."""
    return quicksum(model.width[i, j, s] for s in model.CHOICES if (i, j, s) in model.RUNS) == 1


def _change_rule(model: Any, i: int, j: int, s: int) -> Any:
    """State that 1_ij = 1 if the width differs from that of the epoch before, and in the first epoch."""
    before = model.width[i, j - 1, s] if (i, j - 1, s) in model.RUNS else 0
    return model.change[i, j, s] >= model.width[i, j, s] - before


def read_policy(data: BoaAllocation, values: Values) -> Solution:
    """Return the solution in JSON form for the values of the variables."""
    a = width_arrays(data)
    chosen: dict[str, list[Any]] = {c.name: [None] * len(c.epochs) for c in data.classes}
    for (name, index), value in values.items():
        if name == "width" and value > 0.5:
            i, j, s = index
            run = {"type": data.gpu_types[int(a.type[s])].name, "width": int(a.width[s]), "fraction": 1.0}
            chosen[data.classes[i].name][j] = [run] if data.heterogeneous else run["width"]
    return {"assignment" if data.heterogeneous else "widths": chosen}


def solve_milp(data: BoaAllocation, options: Options, report: Report = ignore) -> Answer:
    """Solve the model with HiGHS, and return a policy that the checker accepts.

    If HiGHS returns a policy that exceeds the budget within its tolerance, a cut excludes it, and HiGHS continues.

    - `options`: time limit, gap, threads and seed.
    - `report`: called with every improvement.
    """
    with Stopwatch() as building:
        standard = compile_model(build_milp(data))
        a = width_arrays(data)
        trivial = float((a.share * a.hours.min(-1)).sum()) * (1 - REAL)  # a lower bound on every policy
        fine = FineUnits.of(standard.model)
        model = fine.model
    bounds: list[float] = []
    policy: Solution | None = None
    extra: dict[str, Any] = TIGHT

    def read(x: NDArray[np.float64]) -> Solution:
        return read_policy(data, standard.values(x))

    def make_safe(bound: float | None) -> float | None:
        return None if bound is None else real_bound(fine.proven(bound), trivial=trivial)

    def report_incumbent(x: NDArray[np.float64] | None, bound: float | None) -> None:
        solution = None if x is None else read(x)
        is_feasible = solution is not None and not check(data, solution).violations
        report(solution if is_feasible else None, make_safe(bound))

    with Stopwatch(options.time_limit) as clock:
        while True:
            left = clock.limit_left_s
            solved = solve_arrays(
                model,
                replace(options, time_limit=left),
                watch=None if report is ignore else report_incumbent,
                extra=extra,
            )
            if (
                solved.termination == "infeasible" and extra == TIGHT
            ):  # valid instances are feasible: presolve is too strict
                extra = TIGHT | {"presolve": "off"}
                continue
            if (safe_bound := make_safe(solved.bound)) is not None:
                bounds.append(safe_bound)
            if solved.x is None:
                break
            if not check(data, read(solved.x)).violations:
                policy = read(solved.x)
                break
            if solved.termination != "finished":
                break
            chosen = np.array([v.is_binary() for v in standard.variables]) & (solved.x > 0.5)
            model = replace(
                model,
                matrix=sparse.vstack([model.matrix, sparse.csr_array(chosen[None, :].astype(float))]),
                row_lower=np.append(np.asarray(model.row_lower), -np.inf),
                row_upper=np.append(np.asarray(model.row_upper), chosen.sum() - 1.0),
            )
    rows, columns = model.matrix.shape
    is_wrong = solved.termination == "infeasible"
    return Answer(
        solution=policy,
        bound=max(bounds, default=None),
        termination="error" if is_wrong else solved.termination,
        reason="HiGHS finds no solution, although one exists" if is_wrong else solved.reason,
        build_s=building.cpu_s,
        solve_s=clock.cpu_s,
        trace=tuple((t, None if x is None else x * fine.unit, make_safe(bound)) for t, x, bound in solved.trace),
        info={**solved.info, "rows": rows, "columns": columns},
    )
