"""The literal model of `node-consolidation`, as the page states it: an integer program in Pyomo, solved by HiGHS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from instances import Answer, Options, Report, Result, Solution
from instances.kubernetes import NodeConsolidation
from instances.method import method

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

    from models.literal import Values


def new_nodes(data: NodeConsolidation) -> list[tuple[int, int]]:
    """The nodes (k, j) that could be rented: the j-th of type k, of which there are no more than pods to move."""
    kept = sum(n for node in data.nodes if data.is_kept(node) for n in node.pods.values())
    moving = sum(pod.count for pod in data.pods) - kept
    most = [moving if kind.max_new is None else min(kind.max_new, moving) for kind in data.instance_types]
    return [(k, j) for k, n in enumerate(most) for j in range(n)]


def build_consolidation(data: NodeConsolidation) -> ConcreteModel:
    """y_n: node n is kept. s_p_n: pods of entry p that stay on it. x_p_n: those that come to it. r_k_j: the j-th new
    node of type k is rented. z_p_k_j: pods of entry p on it."""
    from pyomo.environ import Binary, ConcreteModel, Constraint, NonNegativeIntegers, Objective, Set, Var, minimize

    model = ConcreteModel(name="node-consolidation")
    pods, nodes, kinds = list(enumerate(data.pods)), list(enumerate(data.nodes)), data.instance_types
    new = new_nodes(data)
    model.here = Set(dimen=2, initialize=[(p, n) for p, pod in pods for n, node in nodes if node.pods.get(pod.name)])
    model.at = Set(dimen=2, initialize=[(p, n) for p, pod in pods for n, node in nodes if data.may_come(pod, node)])
    model.rentable = Set(dimen=2, initialize=new)
    on_new = [(p, k, j) for p, pod in pods for k, j in new if data.holds_one(pod, kinds[k])]
    model.on_new = Set(dimen=3, initialize=on_new)
    model.y = Var(range(len(nodes)), domain=Binary)
    model.s = Var(model.here, domain=NonNegativeIntegers)
    model.x = Var(model.at, domain=NonNegativeIntegers)
    model.r = Var(model.rentable, domain=Binary)
    model.z = Var(model.on_new, domain=NonNegativeIntegers)

    def before(p: int, n: int) -> int:
        return data.nodes[n].pods.get(data.pods[p].name, 0)

    def held(m: Any, p: int, n: int) -> Any:
        return (m.s[p, n] if (p, n) in m.here else 0) + (m.x[p, n] if (p, n) in m.at else 0)

    def placed(m: Any, p: int) -> Any:
        there = sum(held(m, p, n) for n, _ in nodes)
        return there + sum(m.z[q, k, j] for q, k, j in on_new if q == p) == data.pods[p].count

    def stay(m: Any, p: int, n: int) -> Any:
        whole = data.moves == "nodes" or data.pods[p].pinned
        return m.s[p, n] == before(p, n) * m.y[n] if whole else m.s[p, n] <= before(p, n) * m.y[n]

    def kept(m: Any, n: int) -> Any:
        return m.y[n] == 1 if data.is_kept(data.nodes[n]) else Constraint.Skip

    def come(m: Any, p: int, n: int) -> Any:
        return m.x[p, n] <= data.pods[p].count * m.y[n]

    def on_rented(m: Any, p: int, k: int, j: int) -> Any:
        return m.z[p, k, j] <= data.pods[p].count * m.r[k, j]

    def room(m: Any, n: int, r: str) -> Any:
        used = sum(before(p, n) * pod.demand[r] for p, pod in pods)
        taken = sum(pod.demand[r] * held(m, p, n) for p, pod in pods)
        return taken - max(data.nodes[n].capacity[r], used) * m.y[n] <= 0

    def new_room(m: Any, k: int, j: int, r: str) -> Any:
        taken = sum(data.pods[p].demand[r] * m.z[p, q, i] for p, q, i in on_new if (q, i) == (k, j))
        return taken - kinds[k].capacity[r] * m.r[k, j] <= 0

    groups = [(frozenset([pod.name]), pod.max_per_node) for pod in data.pods if pod.max_per_node is not None]
    groups += [(frozenset(group.tasks), group.max_per_instance) for group in data.spread]
    inside = [[p for p, pod in pods if pod.name in names] for names, _ in groups]

    def apart(m: Any, g: int, n: int) -> Any:
        most = max(groups[g][1], sum(before(p, n) for p in inside[g]))
        return sum(held(m, p, n) for p in inside[g]) - most * m.y[n] <= 0

    def new_apart(m: Any, g: int, k: int, j: int) -> Any:
        together = sum(m.z[p, q, i] for p, q, i in on_new if (q, i) == (k, j) and p in inside[g])
        return together - groups[g][1] * m.r[k, j] <= 0

    def evictions(m: Any) -> Any:
        return sum(before(p, n) - m.s[p, n] for p, n in m.here)

    def limit(m: Any) -> Any:
        return evictions(m) <= data.max_evictions if data.max_evictions is not None and m.here else Constraint.Skip

    bill = sum((node.usd_per_hour or 0.0) * model.y[n] for n, node in nodes)
    bill += sum(kinds[k].usd_per_hour * model.r[k, j] for k, j in new)
    model.cost = Objective(expr=bill + data.eviction_usd_per_hour * evictions(model), sense=minimize)
    model.placed = Constraint(range(len(pods)), rule=placed)
    model.stay, model.come = Constraint(model.here, rule=stay), Constraint(model.at, rule=come)
    model.kept = Constraint(range(len(nodes)), rule=kept)
    model.on_rented = Constraint(model.on_new, rule=on_rented)
    model.room = Constraint(range(len(nodes)), data.resources, rule=room)
    model.new_room = Constraint(model.rentable, data.resources, rule=new_room)
    model.apart = Constraint(range(len(groups)), range(len(nodes)), rule=apart)
    model.new_apart = Constraint(range(len(groups)), model.rentable, rule=new_apart)
    model.limit = Constraint(rule=limit)
    return model


def _read(data: NodeConsolidation, values: Values) -> Solution:
    names = [pod.name for pod in data.pods]
    kept = {data.nodes[n].name: dict[str, int]() for (what, n), v in values.items() if what == "y" and v > 0.5}
    new = {place: dict[str, int]() for (what, place), v in values.items() if what == "r" and v > 0.5}
    for (what, index), value in values.items():
        number = round(value)
        if number and what in ("s", "x") and data.nodes[index[1]].name in kept:
            held = kept[data.nodes[index[1]].name]
            held[names[index[0]]] = held.get(names[index[0]], 0) + number
        if number and what == "z" and index[1:] in new:
            new[index[1:]][names[index[0]]] = number
    rented = [{"type": data.instance_types[k].name, "count": 1, "tasks": held} for (k, _), held in new.items()]
    return {"nodes": kept, "instances": rented}


@method("exact", name="literal")
def literal_consolidation(data: NodeConsolidation, options: Options, report: Report) -> Answer:
    """Solve the model as it stands with HiGHS."""
    from models.literal import solve_literal  # slow to import, for Pyomo

    return solve_literal(data, build_consolidation, _read, options, report)


def read_consolidation(data: NodeConsolidation, model: ConcreteModel) -> Result:
    """What a solver of your own has found for the literal model of `data`, with rows of your own or without.

    It has passed the checker, or is `violates` with what it breaks. Raises InputError for a model without values, and
    for values that are no solution.
    """
    from models.literal import read_model

    return read_model(data, model, _read)


def consolidation_names(data: NodeConsolidation) -> Mapping[str, Callable[..., Mapping[str, Any]]]:
    """What the indices of each variable of the literal model of `data` stand for."""

    def node(n: int) -> dict[str, Any]:
        return {"node": data.nodes[n].name}

    def on_node(p: int, n: int) -> dict[str, Any]:
        return {"pod": data.pods[p].name, "node": data.nodes[n].name}

    def rented(k: int, j: int) -> dict[str, Any]:
        return {"type": data.instance_types[k].name, "copy": j}

    def on_rented(p: int, k: int, j: int) -> dict[str, Any]:
        return {"pod": data.pods[p].name, **rented(k, j)}

    return {"y": node, "s": on_node, "x": on_node, "r": rented, "z": on_rented}
