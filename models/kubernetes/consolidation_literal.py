"""The compact formulation of `node-consolidation`: the integer program of its page in Pyomo, solved by HiGHS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from instances import Answer, Options, Report, Result, Solution
from instances.kubernetes import NodeConsolidation
from instances.method import method

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

    from models.core.pyomo_model import Values


def list_new_nodes(data: NodeConsolidation) -> list[tuple[int, int]]:
    """List the nodes (k, j) that may be rented: j counts the nodes of type k, one per pod that may move at most."""
    kept = sum(n for node in data.nodes if data.is_kept(node) for n in node.pods.values())
    moving = sum(pod.count for pod in data.pods) - kept
    limits = [moving if kind.max_new is None else min(kind.max_new, moving) for kind in data.instance_types]
    return [(k, j) for k, n in enumerate(limits) for j in range(n)]


def build_consolidation(data: NodeConsolidation) -> ConcreteModel:
    """Build the model.

    Variables: y_n is 1 if node n is kept; s_p_n, pods of entry p that stay on it; x_p_n, those that come to it; r_k_j
    is 1 if the j-th new node of type k is rented; z_p_k_j, pods of entry p on it.
    """
    from pyomo.environ import Binary, ConcreteModel, Constraint, NonNegativeIntegers, Objective, Set, Var, minimize

    model = ConcreteModel(name="node-consolidation")
    pods, nodes, kinds = list(enumerate(data.pods)), list(enumerate(data.nodes)), data.instance_types
    new = list_new_nodes(data)
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

    def count_initial(p: int, n: int) -> int:
        return data.nodes[n].pods.get(data.pods[p].name, 0)

    def count_pods(m: Any, p: int, n: int) -> Any:
        return (m.s[p, n] if (p, n) in m.here else 0) + (m.x[p, n] if (p, n) in m.at else 0)

    def place_all(m: Any, p: int) -> Any:
        on_kept = sum(count_pods(m, p, n) for n, _ in nodes)
        return on_kept + sum(m.z[q, k, j] for q, k, j in on_new if q == p) == data.pods[p].count

    def limit_staying(m: Any, p: int, n: int) -> Any:
        moves_with_node = data.moves == "nodes" or data.pods[p].pinned
        return (
            m.s[p, n] == count_initial(p, n) * m.y[n] if moves_with_node else m.s[p, n] <= count_initial(p, n) * m.y[n]
        )

    def keep_required(m: Any, n: int) -> Any:
        return m.y[n] == 1 if data.is_kept(data.nodes[n]) else Constraint.Skip

    def open_kept(m: Any, p: int, n: int) -> Any:
        return m.x[p, n] <= data.pods[p].count * m.y[n]

    def open_rented(m: Any, p: int, k: int, j: int) -> Any:
        return m.z[p, k, j] <= data.pods[p].count * m.r[k, j]

    def limit_capacity(m: Any, n: int, r: str) -> Any:
        used = sum(count_initial(p, n) * pod.demand[r] for p, pod in pods)
        taken = sum(pod.demand[r] * count_pods(m, p, n) for p, pod in pods)
        return taken - max(data.nodes[n].capacity[r], used) * m.y[n] <= 0

    def limit_new_capacity(m: Any, k: int, j: int, r: str) -> Any:
        taken = sum(data.pods[p].demand[r] * m.z[p, q, i] for p, q, i in on_new if (q, i) == (k, j))
        return taken - kinds[k].capacity[r] * m.r[k, j] <= 0

    groups = [(frozenset([pod.name]), pod.max_per_node) for pod in data.pods if pod.max_per_node is not None]
    groups += [(frozenset(group.tasks), group.max_per_instance) for group in data.spread]
    inside = [[p for p, pod in pods if pod.name in names] for names, _ in groups]

    def limit_group(m: Any, g: int, n: int) -> Any:
        limit = max(groups[g][1], sum(count_initial(p, n) for p in inside[g]))
        return sum(count_pods(m, p, n) for p in inside[g]) - limit * m.y[n] <= 0

    def limit_new_group(m: Any, g: int, k: int, j: int) -> Any:
        together = sum(m.z[p, q, i] for p, q, i in on_new if (q, i) == (k, j) and p in inside[g])
        return together - groups[g][1] * m.r[k, j] <= 0

    def count_evictions(m: Any) -> Any:
        return sum(count_initial(p, n) - m.s[p, n] for p, n in m.here)

    def limit_evictions(m: Any) -> Any:
        return (
            count_evictions(m) <= data.max_evictions if data.max_evictions is not None and m.here else Constraint.Skip
        )

    bill = sum((node.usd_per_hour or 0.0) * model.y[n] for n, node in nodes)
    bill += sum(kinds[k].usd_per_hour * model.r[k, j] for k, j in new)
    model.cost = Objective(expr=bill + data.eviction_usd_per_hour * count_evictions(model), sense=minimize)
    model.placed = Constraint(range(len(pods)), rule=place_all)
    model.stay, model.come = Constraint(model.here, rule=limit_staying), Constraint(model.at, rule=open_kept)
    model.kept = Constraint(range(len(nodes)), rule=keep_required)
    model.on_rented = Constraint(model.on_new, rule=open_rented)
    model.room = Constraint(range(len(nodes)), data.resources, rule=limit_capacity)
    model.new_room = Constraint(model.rentable, data.resources, rule=limit_new_capacity)
    model.apart = Constraint(range(len(groups)), range(len(nodes)), rule=limit_group)
    model.new_apart = Constraint(range(len(groups)), model.rentable, rule=limit_new_group)
    model.limit = Constraint(rule=limit_evictions)
    return model


def _read(data: NodeConsolidation, values: Values) -> Solution:
    names = [pod.name for pod in data.pods]
    kept = {data.nodes[n].name: dict[str, int]() for (variable, n), v in values.items() if variable == "y" and v > 0.5}
    new = {index: dict[str, int]() for (variable, index), v in values.items() if variable == "r" and v > 0.5}
    for (variable, index), value in values.items():
        number = round(value)
        if number and variable in ("s", "x") and data.nodes[index[1]].name in kept:
            held = kept[data.nodes[index[1]].name]
            held[names[index[0]]] = held.get(names[index[0]], 0) + number
        if number and variable == "z" and index[1:] in new:
            new[index[1:]][names[index[0]]] = number
    rented = [{"type": data.instance_types[k].name, "count": 1, "tasks": held} for (k, _), held in new.items()]
    return {"nodes": kept, "instances": rented}


@method("exact", name="literal")
def literal_consolidation(data: NodeConsolidation, options: Options, report: Report) -> Answer:
    """Solve the compact formulation with HiGHS."""
    from models.core.pyomo_model import solve_literal  # imports Pyomo, which takes long

    return solve_literal(data, build_consolidation, _read, options, report)


def read_consolidation(data: NodeConsolidation, model: ConcreteModel) -> Result:
    """Read the solution that any solver has found for the compact formulation of `data`.

    `model`: the solved model, perhaps with additional constraints. The checker verifies the solution; the status of an
    infeasible one is `violates`. Raises InputError if variables have no values or the values are no solution.
    """
    from models.core.pyomo_model import read_model

    return read_model(data, model, _read)


def consolidation_names(data: NodeConsolidation) -> Mapping[str, Callable[..., Mapping[str, Any]]]:
    """Return functions that map the indices of each variable of the compact formulation to names of `data`."""

    def name_node(n: int) -> dict[str, Any]:
        return {"node": data.nodes[n].name}

    def name_pod_on_node(p: int, n: int) -> dict[str, Any]:
        return {"pod": data.pods[p].name, "node": data.nodes[n].name}

    def name_new_node(k: int, j: int) -> dict[str, Any]:
        return {"type": data.instance_types[k].name, "copy": j}

    def name_pod_on_new(p: int, k: int, j: int) -> dict[str, Any]:
        return {"pod": data.pods[p].name, **name_new_node(k, j)}

    return {"y": name_node, "s": name_pod_on_node, "x": name_pod_on_node, "r": name_new_node, "z": name_pod_on_new}
