"""The literal model of `node-placement`, as the page states it: an integer program in Pyomo, solved by HiGHS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from instances import Answer, Options, Report, Result, Solution
from instances.kubernetes import NodePlacement
from instances.method import method
from models.bounds import whole_bound

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

    from models.literal import Values


def build_literal(data: NodePlacement) -> ConcreteModel:
    """x_p_n: pods of entry p on node n. s_p_n: those of them that were there before."""
    from pyomo.environ import ConcreteModel, Constraint, NonNegativeIntegers, Objective, Set, Var, minimize

    model = ConcreteModel(name="node-placement")
    pods, nodes = list(enumerate(data.pods)), list(enumerate(data.nodes))
    model.at = Set(dimen=2, initialize=[(p, n) for p, pod in pods for n, node in nodes if data.holds_one(pod, node)])
    model.here = Set(dimen=2, initialize=[(p, n) for p, pod in pods for n, node in nodes if node.pods.get(pod.name)])
    model.x = Var(model.at, domain=NonNegativeIntegers)
    model.s = Var(model.here, domain=NonNegativeIntegers)

    def on(m: Any, p: int, n: int) -> Any:
        return m.x[p, n] if (p, n) in m.at else 0

    def room(m: Any, n: int, r: str) -> Any:
        held = [data.pods[p].demand[r] * m.x[p, k] for p, k in m.at if k == n and data.pods[p].demand[r]]
        return sum(held) <= data.nodes[n].capacity[r] if held else Constraint.Skip

    def stay(m: Any, p: int, n: int) -> Any:
        return m.s[p, n] <= on(m, p, n)

    def were(m: Any, p: int, n: int) -> Any:
        number = data.nodes[n].pods[data.pods[p].name]
        return m.s[p, n] <= number if data.movable else m.s[p, n] == number

    def at_most(m: Any, p: int, n: int) -> Any:
        most = data.pods[p].max_per_node
        return m.x[p, n] <= most if most is not None else Constraint.Skip

    def apart(m: Any, g: int, n: int) -> Any:
        group = data.spread[g]
        held = [m.x[p, n] for p, pod in pods if pod.name in group.tasks and (p, n) in m.at]
        return sum(held) <= group.max_per_instance if held else Constraint.Skip

    were_there = sum(n for node in data.nodes for n in node.pods.values())
    model.moved = Objective(expr=were_there - sum(model.s[i] for i in model.here), sense=minimize)
    model.all = Constraint(range(len(pods)), rule=lambda m, p: sum(on(m, p, n) for n, _ in nodes) == data.pods[p].count)
    model.room = Constraint(range(len(nodes)), data.resources, rule=room)
    model.stay, model.were = Constraint(model.here, rule=stay), Constraint(model.here, rule=were)
    model.at_most = Constraint(model.at, rule=at_most)
    model.apart = Constraint(range(len(data.spread)), range(len(nodes)), rule=apart)
    return model


def _read(data: NodePlacement, values: Values) -> Solution:
    placed: dict[str, dict[str, int]] = {}
    for (name, index), value in values.items():
        if name == "x" and value > 0.5:
            placed.setdefault(data.nodes[index[1]].name, {})[data.pods[index[0]].name] = round(value)
    return {"nodes": placed}


@method("exact")
def literal(data: NodePlacement, options: Options, report: Report) -> Answer:
    """Solve the model as it stands with HiGHS."""
    from models.literal import solve_literal  # slow to import, for Pyomo

    return solve_literal(data, build_literal, _read, options, report, lambda bound: float(max(0, whole_bound(bound))))


def read_literal(data: NodePlacement, model: ConcreteModel) -> Result:
    """What a solver of your own has found for the literal model of `data`, with rows of your own or without.

    It has passed the checker, or is `violates` with what it breaks. Raises InputError for a model without values, and
    for values that are no solution.
    """
    from models.literal import read_model

    return read_model(data, model, _read)


def literal_names(data: NodePlacement) -> Mapping[str, Callable[..., Mapping[str, Any]]]:
    """What the indices of each variable of the literal model of `data` stand for."""

    def place(p: int, n: int) -> dict[str, Any]:
        return {"pod": data.pods[p].name, "node": data.nodes[n].name}

    return {"x": place, "s": place}
