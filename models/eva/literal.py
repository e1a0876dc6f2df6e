"""The integer program of section 4.1, constraint by constraint, for comparison with the paper.

Instances i of I with |I| = |T|, types k of K and a ghost type of no cost and no capacity; tasks τ of T one by one.
All sets are numbers, so names in the data cannot be confused. Types, families and resources have their indices in the
data, and the ghost is the type after the last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np

from instances import (
    Answer,
    InputError,
    MalformedSolution,
    Options,
    Report,
    Result,
    Solution,
    Stopwatch,
    check,
)
from instances.arrays import FloatArray
from instances.eva import EvaPacking, Task
from instances.eva.arrays import LARGEST_AMOUNT, WholeAmounts
from instances.eva.constraints import offers, spread_groups
from instances.fields import STEPS, steps
from instances.method import method
from instances.options import ignore
from instances.result import TracePoint
from models.core.fine_units import CoarseUnits
from models.core.highs import LinearModel, Solved, solve_arrays
from models.core.scaling import short_rows

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

    from models.core.pyomo_model import Values

FINEST = 1e-10  # the finest integrality tolerance that HiGHS accepts
USUAL = 1e-6  # the default tolerance of HiGHS, used if a solve with the finest one ends in an error


def build_literal(data: EvaPacking) -> ConcreteModel:
    """Build the model of section 4.1 (Table 2's notation) for the objective `cost`, in USD/h.

    The demand of a task may depend on the family of the instance (section 5). Then constraint (3) is stated for each
    family, and the types of other families have enough capacity in it. Amounts are integers in their greatest common
    units. The further constraints of a cluster are `most_instances`, `allowed` and `spread`. For running instances, z
    is the number in use; its bounds are `_bound_running`, and its constraint is `no_more_than_used`.

    Raises InputError for the objective `net-saving`, which section 4.1 does not have, and for amounts with more digits
    than a solver can distinguish.
    """
    from pyomo.environ import Binary, ConcreteModel, Constraint, Integers, Objective, RangeSet, Var, minimize  # slow

    if data.objective != "cost":
        raise InputError(f"data.objective: the literal model states cost, got {data.objective!r}")
    model = ConcreteModel(name="eva-packing")
    tasks = [task for task in data.tasks for _ in range(task.count)]
    amounts = WholeAmounts.of(data)
    if amounts.largest > LARGEST_AMOUNT:
        raise InputError(
            f"data: an amount is {amounts.largest:,} times its unit, more than HiGHS can tell apart, {LARGEST_AMOUNT:,}"
        )
    ghost = len(data.instance_types)
    model.I = RangeSet(0, len(tasks) - 1)
    model.T = RangeSet(0, len(tasks) - 1)
    model.K = RangeSet(0, ghost)
    model.R = RangeSet(0, len(data.resources) - 1)
    model.x = Var(model.I, model.K, domain=Binary)
    model.y = Var(model.I, model.T, domain=Binary)
    if data.running:
        model.S = RangeSet(0, len(data.running) - 1)
        model.z = Var(model.S, domain=Integers, bounds=_bound_running(data))
        model.no_more_than_used = Constraint(model.K, rule=_count_used(data))
    model.cost = Objective(rule=_cost(data), sense=minimize)
    model.each_task_once = Constraint(model.T, rule=_assign_task_once)
    model.one_type = Constraint(model.I, rule=_choose_one_type)
    model.no_ghosts = Constraint(model.I, _free_tasks(tasks), rule=_exclude_ghosts(ghost))
    if all(len(task.demand) == 1 for task in data.tasks):
        model.capacity = Constraint(model.I, model.R, rule=_capacity(data, amounts))
    else:
        model.F = RangeSet(0, len(data.families) - 1)
        model.capacity = Constraint(model.I, model.F, model.R, rule=_capacity_of_family(data, amounts))
    if data.limits:
        model.L = RangeSet(0, len(data.limits) - 1)
        model.most_instances = Constraint(model.L, rule=_count_most_instances(data))
    if any(task.allowed_types is not None for task in tasks):
        model.allowed = Constraint(model.I, model.T, rule=_restrict_types(data, tasks))
    if groups := spread_groups(data):
        model.G = RangeSet(0, len(groups) - 1)
        model.spread = Constraint(model.I, model.G, rule=_spread(groups, tasks))
    return model


def _cost(data: EvaPacking) -> Any:
    """Return the rule of the objective: the price of all instances, less the discount of running ones in use."""
    price = {kind.name: kind.usd_per_hour for kind in data.instance_types}
    cheaper = [price[r.type] - (price[r.type] if r.usd_per_hour is None else r.usd_per_hour) for r in data.running]

    def rule(m: Any) -> Any:
        rented = sum(kind.usd_per_hour * m.x[i, k] for i in m.I for k, kind in enumerate(data.instance_types))
        return rented - sum(usd * m.z[s] for s, usd in enumerate(cheaper))

    return rule


def _bound_running(data: EvaPacking) -> Any:
    return lambda m, s: (0, data.running[s].count)


def _count_used(data: EvaPacking) -> Any:
    """Return the rule: running instances in use are among the instances of their type."""
    from pyomo.environ import Constraint

    names = [*(kind.name for kind in data.instance_types), ""]  # the ghost's

    def rule(m: Any, k: int) -> Any:
        entries = [s for s, running in enumerate(data.running) if running.type == names[k]]
        return sum(m.z[s] for s in entries) <= sum(m.x[i, k] for i in m.I) if entries else Constraint.Skip

    return rule


def _count_most_instances(data: EvaPacking) -> Any:
    limits = data.limits
    return lambda m, n: sum(m.x[i, k] for i in m.I for k in limits[n].types) <= limits[n].most


def _restrict_types(data: EvaPacking, tasks: list[Task]) -> Any:
    """Return the rule: a task is on an instance of a type that it may use."""
    from pyomo.environ import Constraint

    def rule(m: Any, i: int, t: int) -> Any:
        allowed = tasks[t].allowed_types
        if allowed is None:
            return Constraint.Skip
        return m.y[i, t] <= sum(m.x[i, k] for k, kind in enumerate(data.instance_types) if kind.name in allowed)

    return rule


def _spread(groups: list[tuple[frozenset[str], int]], tasks: list[Task]) -> Any:
    """Return the rule: an instance holds at most the allowed number of tasks of a group."""
    return lambda m, i, g: sum(m.y[i, t] for t in m.T if tasks[t].key in groups[g][0]) <= groups[g][1]


def _assign_task_once(m: Any, t: int) -> Any:
    return sum(m.y[i, t] for i in m.I) == 1


def _choose_one_type(m: Any, i: int) -> Any:
    return sum(m.x[i, k] for k in m.K) == 1


def _free_tasks(tasks: list[Task]) -> list[int]:
    return [t for t, task in enumerate(tasks) if not any(any(amounts.values()) for amounts in task.demand.values())]


def _exclude_ghosts(ghost: int) -> Any:
    """Return the rule: no task is on the ghost type, because a task without demand would fit there."""
    return lambda m, i, t: m.y[i, t] + m.x[i, ghost] <= 1


def _entries(data: EvaPacking) -> list[int]:
    """Return the index of each task's entry in the data."""
    return [entry for entry, task in enumerate(data.tasks) for _ in range(task.count)]


def _capacity(data: EvaPacking, amounts: WholeAmounts) -> Any:
    """Return the capacity rule for equal demands in all families; the largest demand over the families counts."""
    entry = _entries(data)

    def rule(m: Any, i: int, r: int) -> Any:
        needed = sum(max(needs[entry[t]][r] for needs in amounts.demand) * m.y[i, t] for t in m.T)
        return needed <= sum(room[r] * m.x[i, k] for k, room in enumerate(amounts.capacity))

    return rule


def _capacity_of_family(data: EvaPacking, amounts: WholeAmounts) -> Any:
    """Return the capacity rule of family f for demands on f.

    A type of another family has as slack the largest demand on f that its tasks can have. The tasks on an instance of
    type k fit its own capacity. So their demand on f is at most M_k^{f,r}. This is the minimum of the demand of all
    tasks and, for each resource, k's capacity times the largest ratio of the two demands.
    """
    demand, capacity, entry = amounts.demand, amounts.capacity, _entries(data)
    resources = range(len(data.resources))

    def compute_max_count(k: int, f: int, r: int) -> int:
        own = data.families.index(data.instance_types[k].family)
        if own == f:
            return capacity[k][r]
        best = sum(demand[f][e][r] for e in entry)
        for s in resources:
            pairs = [(there[r], here[s]) for there, here in zip(demand[f], demand[own], strict=True)]
            if all(here > 0 or there == 0 for there, here in pairs):
                best = min(best, max((capacity[k][s] * there // here for there, here in pairs if here), default=0))
        return best

    kinds, families = range(len(data.instance_types)), range(len(data.families))
    slack = {(k, f, r): compute_max_count(k, f, r) for k in kinds for f in families for r in resources}

    def rule(m: Any, i: int, f: int, r: int) -> Any:
        needed = sum(demand[f][entry[t]][r] * m.y[i, t] for t in m.T)
        return needed <= sum(slack[k, f, r] * m.x[i, k] for k in kinds)

    return rule


def read_literal(data: EvaPacking, model: ConcreteModel) -> Result:
    """Return the result of an external solver for `build_literal(data)`, possibly with additional rows.

    The result has passed the checker, or its status is `violates`, with the violations. Raises InputError for a model
    without values, and for values that do not form a solution.
    """
    from models.core.pyomo_model import read_model  # slow to import, for Pyomo

    return read_model(data, model, _read)


def literal_names(data: EvaPacking) -> Mapping[str, Callable[..., Mapping[str, Any]]]:
    """Return the meaning of the indices of each variable of `build_literal(data)`. The ghost has no name."""
    tasks = [task.key for task in data.tasks for _ in range(task.count)]
    kinds = [*(kind.name for kind in data.instance_types), None]
    return {
        "x": lambda i, k: {"instance": i, "type": kinds[k]},
        "y": lambda i, t: {"instance": i, "task": tasks[t]},
        "z": lambda s: {"running": s, "type": data.running[s].type},
    }


def _read(data: EvaPacking, values: Values) -> dict[str, Any]:
    tasks = [task for task in data.tasks for _ in range(task.count)]
    kinds = {index[0]: index[1] for (name, index), value in values.items() if name == "x" and value > 0.5}
    on_it: dict[int, dict[str, int]] = {}
    for (name, index), value in values.items():
        if name == "y" and value > 0.5:
            keys, key = on_it.setdefault(index[0], {}), tasks[index[1]].key
            keys[key] = keys.get(key, 0) + 1
    names = [*(kind.name for kind in data.instance_types), ""]  # the ghost has no name and is in no solution
    return {
        "instances": [{"type": names[kinds.get(i, -1)], "count": 1, "tasks": keys} for i, keys in sorted(on_it.items())]
    }


@method("exact")
def literal(data: EvaPacking, options: Options, report: Report) -> Answer:
    """Solve the integer program of section 4.1 with HiGHS. Raises InputError where `build_literal` does.

    HiGHS gets prices in whole multiples of their greatest common unit, so that its bound can be rounded up, and is
    spared types that cost more than every task alone, where there is no limit to instances.
    """
    from models.core.pyomo_model import BY_TOLERANCES, compile_model, solve_beyond_digits  # slow to import, for Pyomo

    with Stopwatch() as building:
        standard = compile_model(build_literal(data))
        prices = [steps(kind.usd_per_hour) for kind in data.instance_types]
        unit = gcd(*prices, *(offer.price for offer in offers(data)))
        cost = np.rint(np.asarray(standard.model.cost) * float(STEPS) / unit)
        alone = sum(
            t.count * min(p for k, p in zip(data.instance_types, prices, strict=True) if data.fits(t, k))
            for t in data.tasks
        )
        spare = (cost * unit > alone) & (not data.has_limits)
        upper = np.where(spare, 0.0, standard.model.upper)
        coarse = CoarseUnits.of(replace(standard.model, cost=np.where(spare, 0.0, cost), upper=upper))
    clock = Stopwatch(options.time_limit)

    def usd(units: float) -> float:
        return float(Fraction(units) * unit / STEPS)

    def read(x: FloatArray) -> Solution | None:
        """Return the solution, or `None` if the values are feasible only by the tolerances of HiGHS."""
        solution = _read(data, standard.values(x))
        try:
            return None if check(data, solution).violations else solution
        except MalformedSolution:
            return None

    def proven(bound: float | None) -> float | None:
        return None if bound is None else usd(coarse.proven(bound))

    def solve(model: LinearModel, proves: bool) -> Solved:
        def watch(x: FloatArray | None, bound: float | None) -> None:
            report(None if x is None else read(x), proven(bound) if proves else None)

        for tolerance in (FINEST, USUAL):
            solved = solve_arrays(
                short_rows(model),  # with amounts of many digits, HiGHS cut off an optimum
                replace(options, time_limit=clock.limit_left_s),
                watch=None if report is ignore else watch,
                extra={"mip_feasibility_tolerance": tolerance},
            )
            if solved.termination not in ("error", "infeasible"):
                break
        return solved

    solved = solve_beyond_digits(coarse.model, solve, lambda x: read(x) is not None)
    solution = None if solved.x is None else read(solved.x)
    termination, reason = solved.termination, solved.reason
    if solution is None and solved.x is not None:
        reason = BY_TOLERANCES
    if termination == "infeasible" and not data.has_limits:
        termination, reason = "error", "HiGHS finds no solution, and every task alone is one"
    trace: list[TracePoint] = [(t, None if v is None else usd(v * coarse.unit), proven(b)) for t, v, b in solved.trace]
    rows, columns = standard.model.matrix.shape
    return Answer(
        solution=solution,
        bound=proven(solved.bound),
        termination=termination,
        reason=reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=trace,
        info={**solved.info, "rows": rows, "columns": columns},
    )
