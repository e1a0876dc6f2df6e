"""The integer program of section 4.1, constraint by constraint, to be read beside the paper.

Instances i of I with |I| = |T|, types k of K and a ghost type of no cost and no capacity; tasks τ of T one by one.
"""

from __future__ import annotations

from typing import Any

from pyomo.environ import Binary, ConcreteModel, Constraint, Objective, RangeSet, Set, Var, minimize

from instances import InputError, Options, Report, Result, ignore
from instances.eva import EvaPacking, Task
from models.literal import Values, solve_literal

GHOST = "ghost"


def build_literal(data: EvaPacking) -> ConcreteModel:
    """The model of section 4.1 (Table 2's notation) for the objective `cost`.

    The demand of a task may depend on the family of the instance (section 5): constraint (3) is then stated for each
    family, the types of other families standing for enough capacity.

    Raises InputError for the objective `net-saving`, which section 4.1 does not have.
    """
    if data.objective != "cost":
        raise InputError(f"data.objective: the literal model states cost, got {data.objective!r}")
    model = ConcreteModel(name="eva-packing")
    tasks = [task for task in data.tasks for _ in range(task.count)]
    model.I = RangeSet(0, len(tasks) - 1)
    model.T = RangeSet(0, len(tasks) - 1)
    model.K = Set(initialize=[*(kind.name for kind in data.instance_types), GHOST])
    model.R = Set(initialize=data.resources)
    model.x = Var(model.I, model.K, domain=Binary)
    model.y = Var(model.I, model.T, domain=Binary)
    model.cost = Objective(rule=_cost(data), sense=minimize)
    model.each_task_once = Constraint(model.T, rule=_each_task_once)
    model.one_type = Constraint(model.I, rule=_one_type)
    model.no_ghosts = Constraint(model.I, _free_tasks(tasks), rule=_no_ghosts)
    if all(len(task.demand) == 1 for task in data.tasks):
        model.capacity = Constraint(model.I, model.R, rule=_capacity(data, tasks))
    else:
        model.F = Set(initialize=data.families)
        model.capacity = Constraint(model.I, model.F, model.R, rule=_capacity_of_family(data, tasks))
    return model


def _cost(data: EvaPacking) -> Any:
    price = {kind.name: kind.usd_per_hour for kind in data.instance_types} | {GHOST: 0.0}
    return lambda m: sum(price[k] * m.x[i, k] for i in m.I for k in m.K)


def _each_task_once(m: Any, t: int) -> Any:
    return sum(m.y[i, t] for i in m.I) == 1


def _one_type(m: Any, i: int) -> Any:
    return sum(m.x[i, k] for k in m.K) == 1


def _free_tasks(tasks: list[Task]) -> list[int]:
    return [t for t, task in enumerate(tasks) if not any(any(amounts.values()) for amounts in task.demand.values())]


def _no_ghosts(m: Any, i: int, t: int) -> Any:
    """Tasks that demand nothing would fit on the ghost type, which is no instance."""
    return m.y[i, t] + m.x[i, GHOST] <= 1


def _capacity(data: EvaPacking, tasks: list[Task]) -> Any:
    capacity = {kind.name: kind.capacity for kind in data.instance_types}

    def rule(m: Any, i: int, r: str) -> Any:
        needed = sum(tasks[t].demand_on("")[r] * m.y[i, t] for t in m.T)
        return needed <= sum(capacity[k][r] * m.x[i, k] for k in m.K if k != GHOST)

    return rule


def _capacity_of_family(data: EvaPacking, tasks: list[Task]) -> Any:
    """Demands of family f bind instances of f only: another type's slack is the most its own tasks can ask of f.

    An instance of type k holds at most what fits its own capacity, so the demand that its tasks would have on f is at
    most M_k^{f,r}, the largest ratio of the two demands in some resource times k's capacity, or all tasks together.
    """
    every = {(f, r): sum(t.demand_on(f)[r] for t in tasks) for f in data.families for r in data.resources}

    def most(kind: Any, f: str, r: str) -> float:
        if kind.family == f:
            return float(kind.capacity[r])
        best = every[f, r]
        for s in data.resources:
            if all(t.demand_on(kind.family)[s] > 0 or t.demand_on(f)[r] == 0 for t in data.tasks):
                ratios = [
                    t.demand_on(f)[r] / t.demand_on(kind.family)[s]
                    for t in data.tasks
                    if t.demand_on(kind.family)[s] > 0
                ]
                best = min(best, kind.capacity[s] * max(ratios, default=0.0))
        return best

    slack = {
        (kind.name, f, r): most(kind, f, r)
        for kind in data.instance_types
        for f in data.families
        for r in data.resources
    }

    def rule(m: Any, i: int, f: str, r: str) -> Any:
        needed = sum(tasks[t].demand_on(f)[r] * m.y[i, t] for t in m.T)
        return needed <= sum(slack[k, f, r] * m.x[i, k] for k in m.K if k != GHOST)

    return rule


def _read(data: EvaPacking, values: Values) -> dict[str, Any]:
    tasks = [task for task in data.tasks for _ in range(task.count)]
    kinds = {index[0]: index[1] for (name, index), value in values.items() if name == "x" and value > 0.5}
    on_it: dict[int, dict[str, int]] = {}
    for (name, index), value in values.items():
        if name == "y" and value > 0.5:
            keys, key = on_it.setdefault(index[0], {}), tasks[index[1]].key
            keys[key] = keys.get(key, 0) + 1
    return {"instances": [{"type": kinds[i], "count": 1, "tasks": keys} for i, keys in sorted(on_it.items())]}


def literal(data: EvaPacking, options: Options = Options(), report: Report = ignore) -> Result:
    """Solve the integer program of section 4.1 with HiGHS. Raises InputError for the objective `net-saving`."""
    return solve_literal(data, build_literal, _read, options, report)
