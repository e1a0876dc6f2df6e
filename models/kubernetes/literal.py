"""The compact formulation of `node-placement`: the integer program of its page in Pyomo, solved by HiGHS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from instances import Answer, Options, Report, Result, Solution
from instances.kubernetes import NodePlacement
from instances.method import method
from models.core.safe_bounds import whole_bound

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

    from models.core.pyomo_model import Values


def build_literal(data: NodePlacement) -> ConcreteModel:
    """Build the model.

    Variables: x_p_n, pods of entry p on node n; s_p_n, those of them that were there before.
    """
    from pyomo.environ import ConcreteModel, Constraint, NonNegativeIntegers, Objective, Set, Var, minimize

    model = ConcreteModel(name="node-placement")
    pods, nodes = list(enumerate(data.pods)), list(enumerate(data.nodes))
    model.at = Set(dimen=2, initialize=[(p, n) for p, pod in pods for n, node in nodes if data.holds_one(pod, node)])
    model.here = Set(dimen=2, initialize=[(p, n) for p, pod in pods for n, node in nodes if node.pods.get(pod.name)])
    model.x = Var(model.at, domain=NonNegativeIntegers)
    model.s = Var(model.here, domain=NonNegativeIntegers)

    def count_pods(m: Any, p: int, n: int) -> Any:
        return m.x[p, n] if (p, n) in m.at else 0

    def place_all(m: Any, p: int) -> Any:
        return sum(count_pods(m, p, n) for n, _ in nodes) == data.pods[p].count

    def limit_capacity(m: Any, n: int, r: str) -> Any:
        held = [data.pods[p].demand[r] * m.x[p, k] for p, k in m.at if k == n and data.pods[p].demand[r]]
        return sum(held) <= data.nodes[n].capacity[r] if held else Constraint.Skip

    def limit_staying(m: Any, p: int, n: int) -> Any:
        return m.s[p, n] <= count_pods(m, p, n)

    def limit_by_initial(m: Any, p: int, n: int) -> Any:
        number = data.nodes[n].pods[data.pods[p].name]
        return m.s[p, n] <= number if data.movable else m.s[p, n] == number

    def limit_entry(m: Any, p: int, n: int) -> Any:
        limit = data.pods[p].max_per_node
        return m.x[p, n] <= limit if limit is not None else Constraint.Skip

    def limit_group(m: Any, g: int, n: int) -> Any:
        group = data.spread[g]
        held = [m.x[p, n] for p, pod in pods if pod.name in group.tasks and (p, n) in m.at]
        return sum(held) <= group.max_per_instance if held else Constraint.Skip

    initial = sum(n for node in data.nodes for n in node.pods.values())
    model.moved = Objective(expr=initial - sum(model.s[i] for i in model.here), sense=minimize)
    model.all = Constraint(range(len(pods)), rule=place_all)
    model.room = Constraint(range(len(nodes)), data.resources, rule=limit_capacity)
    model.stay = Constraint(model.here, rule=limit_staying)
    model.were = Constraint(model.here, rule=limit_by_initial)
    model.at_most = Constraint(model.at, rule=limit_entry)
    model.apart = Constraint(range(len(data.spread)), range(len(nodes)), rule=limit_group)
    return model


def _read(data: NodePlacement, values: Values) -> Solution:
    placed: dict[str, dict[str, int]] = {}
    for (name, index), value in values.items():
        if name == "x" and value > 0.5:
            placed.setdefault(data.nodes[index[1]].name, {})[data.pods[index[0]].name] = round(value)
    return {"nodes": placed}


@method("exact")
def literal(data: NodePlacement, options: Options, report: Report) -> Answer:
    """Solve the compact formulation with HiGHS."""
    from models.core.pyomo_model import solve_literal  # imports Pyomo, which takes long

    return solve_literal(data, build_literal, _read, options, report, lambda bound: float(max(0, whole_bound(bound))))


def read_literal(data: NodePlacement, model: ConcreteModel) -> Result:
    """Read the solution that any solver has found for the compact formulation of `data`.

    `model`: the solved model, perhaps with additional constraints. The checker verifies the solution; the status of an
    infeasible one is `violates`. Raises InputError if variables have no values or the values are no solution.
    """
    from models.core.pyomo_model import read_model

    return read_model(data, model, _read)


def literal_names(data: NodePlacement) -> Mapping[str, Callable[..., Mapping[str, Any]]]:
    """Return functions that map the indices of each variable of the compact formulation to names of `data`."""

    def name_pair(p: int, n: int) -> dict[str, Any]:
        return {"pod": data.pods[p].name, "node": data.nodes[n].name}

    return {"x": name_pair, "s": name_pair}
