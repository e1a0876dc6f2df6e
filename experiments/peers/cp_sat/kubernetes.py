"""Pods on nodes in CP-SAT: how many of each entry are on each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.peers.cp_sat import HONOURED, CpProgram, Values, solve_cp_sat
from instances import Answer, Options, Report, Solution
from instances.fields import steps
from instances.kubernetes import NodePlacement
from instances.method import method

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar


On = dict[tuple[str, str], "IntVar"]
"""Pods of an entry on a node."""


def build_pods(data: NodePlacement) -> CpProgram:
    """minimise Σ_pn (a_pn - s_pn): x_pn pods of entry p are on node n, s_pn of the a_pn that were there stay."""
    from ortools.sat.python.cp_model import CpModel

    model = CpModel()
    on = {
        (pod.name, node.name): model.new_int_var(0, pod.count, f"{pod.name} on {node.name}")
        for pod in data.pods
        for node in data.nodes
        if data.holds_one(pod, node)
    }
    here = {(name, node.name): number for node in data.nodes for name, number in node.pods.items() if number}
    staying = {key: model.new_int_var(0, number, f"{key[0]} stay on {key[1]}") for key, number in here.items()}
    model.minimize(sum(number - staying[key] for key, number in here.items()))
    _place_every_pod(model, data, on)
    _limit_capacity(model, data, on)
    _few_of_an_entry(model, data, on)
    _limit_spread_groups(model, data, on)
    _stay_where_they_are(model, data, on, here, staying)
    return CpProgram(model, on)


def _place_every_pod(model: CpModel, data: NodePlacement, on: On) -> None:
    """Σ_n x_pn = number of pods p."""
    for pod in data.pods:
        model.add(sum(x for (name, _), x in on.items() if name == pod.name) == pod.count)


def _limit_capacity(model: CpModel, data: NodePlacement, on: On) -> None:
    """Σ_p d_pr x_pn <= c_nr."""
    demand = {pod.name: pod.demand for pod in data.pods}
    for node in data.nodes:
        for r in data.resources:
            used = sum(steps(demand[name][r]) * x for (name, where), x in on.items() if where == node.name)
            model.add(used <= steps(node.capacity[r]))


def _few_of_an_entry(model: CpModel, data: NodePlacement, on: On) -> None:
    """x_pn <= limit per node of entry p."""
    most = {pod.name: pod.max_per_node for pod in data.pods}
    for (name, _), x in on.items():
        if most[name] is not None:
            model.add(x <= most[name])


def _limit_spread_groups(model: CpModel, data: NodePlacement, on: On) -> None:
    """Σ_p x_pn over the entries p of a spread group <= its limit per node n."""
    for group in data.spread:
        for node in data.nodes:
            held = [on[name, node.name] for name in group.tasks if (name, node.name) in on]
            model.add(sum(held) <= group.max_per_instance)


def _stay_where_they_are(
    model: CpModel, data: NodePlacement, on: On, here: dict[tuple[str, str], int], staying: On
) -> None:
    """s_pn <= x_pn, and s_pn = a_pn if no pod may move."""
    for key, stays in staying.items():
        model.add(stays <= on.get(key, 0))
        if not data.movable:
            model.add(stays == here[key])


def _read(data: NodePlacement, values: Values) -> Solution:
    placed: dict[str, dict[str, int]] = {}
    for (name, node), number in values.items():
        if number:
            placed.setdefault(node, {})[name] = number
    return {"nodes": placed}


@method("exact", honours=HONOURED)
def pods(data: NodePlacement, options: Options, report: Report) -> Answer:
    """Solve the placement by CP-SAT."""
    return solve_cp_sat(build_pods, _read, data, options, report)
