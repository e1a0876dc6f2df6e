"""Compare the bills of Karpenter's and the cluster autoscaler's rules with the minimum, and find feasible plans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import floor
from typing import Annotated, Any

import numpy as np
import typer

from experiments.harness.experiment import Quick, Study, TextTable
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from experiments.kubernetes.cluster import evictions_in
from experiments.kubernetes.drains import DrainPlan, carry_out, plan_of
from experiments.kubernetes.reach import reachable, state_of
from experiments.output.terminal import percent
from heuristics.kubernetes import (
    ca_least_waste,
    ca_most_pods,
    karpenter_1_13,
    karpenter_1_14,
    karpenter_1_14_balanced,
)
from instances import InputError, Options, Result, Stopwatch
from instances.gaps import agree
from instances.kubernetes import ClusterArrays, NodeConsolidation, cluster_arrays, shrunk_cluster
from models.kubernetes import exact_consolidation

ROWS = (("eks", 200, 30), ("eks", 60, 30), ("table-7", 200, 10), ("eks", 1000, 10))
FEW = ("eks", 12, 1)
"""Price lists or tables, number of pods before a share of them is removed, and number of clusters."""
RULES: dict[str, tuple[Any, dict[str, Any]]] = {
    "karpenter-1.14": (karpenter_1_14, {}),
    "karpenter-1.14, budget 100%": (karpenter_1_14, {"budget": 1.0}),
    "karpenter-1.14, MostAllocated": (karpenter_1_14, {"destinations": "most"}),
    "karpenter-1.14, as simulated": (karpenter_1_14, {"destinations": "simulated"}),
    "karpenter-1.14, as simulated, budget 100%": (karpenter_1_14, {"destinations": "simulated", "budget": 1.0}),
    "karpenter-1.13": (karpenter_1_13, {}),
    "karpenter-1.14-balanced": (karpenter_1_14_balanced, {}),
    "karpenter-1.14-balanced, as simulated": (karpenter_1_14_balanced, {"destinations": "simulated"}),
    "ca-least-waste": (ca_least_waste, {}),
    "ca-most-pods": (ca_most_pods, {}),
}
BALANCED = ("karpenter-1.14-balanced", "karpenter-1.14-balanced, as simulated")
AT_ITS_OWN = (*BALANCED, "karpenter-1.14", "karpenter-1.14, as simulated", "karpenter-1.13", "ca-least-waste")
ANY, TENTH, QUARTER = "any", "a tenth", "a quarter"
SHARES = {TENTH: 0.1, QUARTER: 0.25}  # of the pods
SECONDS = {ANY: 5.0, TENTH: 1.0, QUARTER: 10.0}
AT_ITS_OWN_S = 1.0  # to minimise the bill at a rule's own number of evictions
OF_A_QUARTER = ("eks", 200)  # only this row has a limit of a quarter of the pods
NEAR = 0.005
ABOUT = {"above": "above the least", "share": "share of the saving", "evicted": "evicted", "again": "pending again"}


def rules(
    options: Options,
    clusters: Annotated[int | None, typer.Option(min=1, help="Clusters of each row. By default 30, or 10.")] = None,
    rows: Annotated[int, typer.Option(min=1, max=len(ROWS), help="Number of the last row to run.")] = len(ROWS),
    first: Annotated[int, typer.Option(min=1, max=len(ROWS), help="Number of the first row to run.")] = 1,
    quick: Quick = False,
) -> Study:
    """Print bills and evictions of the rules, the proven bounds, and the bills of plans that can be carried out."""
    if first > rows:
        raise InputError(f"--first: must be at most {rows}, the last row, got {first}")
    chosen = (FEW,) if quick else ROWS[first - 1 : rows]
    asked = [(cloud, pods, clusters or number) for cloud, pods, number in chosen]
    tasks = [
        Measurement.of(measured, options, None, cloud=cloud, pods=pods, seed=seed)
        for cloud, pods, number in asked
        for seed in range(number)
    ]

    def by_row(outcomes: Sequence[Measured]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        left = iter(outcomes)
        for _, _, number in asked:
            found = [next(left).figures for _ in range(number)]
            yield found[0]["row"], found

    def tables(outcomes: Sequence[Measured]) -> list[TextTable | str]:
        return [part for name, found in by_row(outcomes) for part in _tables(name, found)]

    def values(outcomes: Sequence[Measured]) -> dict[str, Sample | float | str]:
        return {f"{row}: {name}": v for row, found in by_row(outcomes) for name, v in _values(found).items()}

    return Study(tasks, tables, values=values)


def measured(cloud: Any, pods: int, seed: int, options: Options) -> dict[str, Any]:
    """Return the minimum bills of a cluster with their bounds, the ends of the rules, and a plan to carry out."""
    data = shrunk_cluster(pods, seed, cloud=cloud).data
    arrays = cluster_arrays(data)
    in_place = int(arrays.on_node.sum())
    asked: dict[str, int | None] = {ANY: None}
    asked |= {name: floor(share * in_place) for name, share in SHARES.items()}
    if (cloud, pods) != OF_A_QUARTER:
        del asked[QUARTER]
    best = {name: _best(data, k, replace(options, time_limit=SECONDS[name])) for name, k in asked.items()}
    results = {name: rule(data, options, **said) for name, (rule, said) in RULES.items()}
    ended = {name: _end(data, result) for name, result in results.items() if result.solved}
    own = {ended[name]["lost"] for name in AT_ITS_OWN if name in ended}
    at = {k: _best(data, k, replace(options, time_limit=AT_ITS_OWN_S)) for k in sorted(own)}
    for name, end in ended.items():
        end["orders"] = carry_out(arrays, _plan(arrays, results[name].solution), options.seed).orders
        end["least"] = end["exact"] = None
        if name in AT_ITS_OWN:
            k = end["lost"]
            fewer = [one for one in (*best.values(), *at.values()) if one.solved]
            fewer = [one for one in fewer if evictions_in(data, one.solution or {}) <= k]
            bounds = [one.bound for one in (at[k], best[ANY]) if one.bound is not None]
            end["exact"] = min((one.objective for one in fewer if one.objective is not None), default=None)
            end["least"] = min(bill for bill in (end["exact"], end["bill"]) if bill is not None)
            end["bound"] = max(bounds, default=None)
    solutions = [one.solution for one in (*best.values(), *at.values(), *results.values()) if one.solved]
    with Stopwatch() as clock:
        states = [state_of(arrays, solution) for solution in solutions]
        plan = reachable(arrays, states, options.seed, bound=best[ANY].bound)
    return {
        "row": f"{in_place} pods, {cloud}",
        "pods": in_place,
        "nodes": len(data.nodes),
        "bill": arrays.usd(int(arrays.held_price.sum())),
        "best": {
            name: {"bill": one.objective, "bound": one.bound, "cpu_s": one.cpu_s, "proven": one.status == "optimal"}
            for name, one in best.items()
        },
        "rules": ended,
        "plan": {
            "bill": arrays.usd(plan.bill(arrays)),
            "evictions": plan.evictions(arrays),
            "orders": carry_out(arrays, plan, options.seed).orders,
            "cpu_s": clock.cpu_s,
        },
    }


def _best(data: NodeConsolidation, most: int | None, options: Options) -> Result:
    return exact_consolidation(data if most is None else data.with_(max_evictions=most), options)


def _plan(arrays: ClusterArrays, solution: Any) -> DrainPlan:
    """Return the plan of rentals and drains that a solution states."""
    kept, number = state_of(arrays, solution)
    return plan_of(arrays, kept, np.repeat(np.arange(len(number)), number).tolist())


def _end(data: NodeConsolidation, result: Result) -> dict[str, Any]:
    """Return the end of a rule. `lost`: pods that left their node. `evictions`: number of evictions."""
    assert result.solution is not None
    return {
        "bill": result.objective,
        "lost": evictions_in(data, result.solution),
        "evictions": result.info["evictions"],
        "again": result.info["pending_again"],
        "ended": result.info.get("ended", True),
    }


def _of_rule(found: Sequence[dict[str, Any]], rule: str) -> dict[str, list[float]]:
    """Return the figures of a rule for each cluster in which it placed all pods."""
    rows = [(one, one["rules"][rule]) for one in found if rule in one["rules"]]
    least = [one["best"][ANY]["bill"] for one, _ in rows]
    return {
        "above": [end["bill"] / low - 1 for (_, end), low in zip(rows, least, strict=True)],
        "share": [
            (one["bill"] - end["bill"]) / (one["bill"] - low)
            for (one, end), low in zip(rows, least, strict=True)
            if one["bill"] > low
        ],
        "evicted": [end["evictions"] / one["pods"] for one, end in rows],
        "again": [end["again"] for _, end in rows],
    }


def _compare_at_own(found: Sequence[dict[str, Any]], rule: str) -> list[tuple[float, bool, bool]]:
    """Compare a rule with the best bill at its own evictions, per cluster.

    Returns its excess, whether its bill equals the bound, and whether the best bill does.
    """
    ends = [one["rules"][rule] for one in found if rule in one["rules"]]
    return [
        (end["bill"] / end["least"] - 1, agree(end["bill"], end["bound"]), agree(end["least"], end["bound"]))
        for end in ends
    ]


def _values(found: Sequence[dict[str, Any]]) -> dict[str, Sample | float | str]:
    """Return the figures of a row."""
    number = len(found)
    bests = [one["best"] for one in found]
    values: dict[str, Sample | float | str] = {
        "nodes": Sample.of([one["nodes"] for one in found]),
        "before above the least": Sample.of([one["bill"] / one["best"][ANY]["bill"] - 1 for one in found]),
        "least above the bound": Sample.of([best[ANY]["bill"] / best[ANY]["bound"] - 1 for best in bests]),
    }
    for name in (name for name in SECONDS if name in bests[0]):
        gaps = [1 - best[name]["bound"] / best[name]["bill"] for best in bests]
        values[f"{name}: proven"] = f"{sum(best[name]['proven'] for best in bests)} of {number}"
        values[f"{name}: within 0.5%"] = f"{sum(gap <= NEAR for gap in gaps)} of {number}"
        values[f"{name}: gap"] = Sample.of(gaps)
        values[f"{name}: CPU s"] = Sample.of([best[name]["cpu_s"] for best in bests])
    tenth = [
        (one["bill"] - one["best"][TENTH]["bill"]) / (one["bill"] - one["best"][ANY]["bill"])
        for one in found
        if one["bill"] > one["best"][ANY]["bill"]
    ]
    values[f"{TENTH}: share of the saving"] = Sample.of(tenth)
    for rule in RULES:
        values |= {f"{rule}: {ABOUT[key]}": Sample.of(figures) for key, figures in _of_rule(found, rule).items()}
        ends = [one["rules"][rule] for one in found if rule in one["rules"]]
        values[f"{rule}: clusters with pods pending again"] = f"{sum(end['again'] > 0 for end in ends)} of {number}"
        values[f"{rule}: without end"] = f"{sum(not end['ended'] for end in ends)} of {number}"
    for rule in AT_ITS_OWN:
        compared = _compare_at_own(found, rule)
        values[f"{rule}: above the least at its own evictions"] = Sample.of([above for above, _, _ in compared])
        values[f"{rule}: on the frontier"] = f"{sum(on for _, on, _ in compared)} of {len(compared)}"
        values[f"{rule}: proven at its own evictions"] = (
            f"{sum(proven for _, _, proven in compared)} of {len(compared)}"
        )
    ends = [end for one in found for end in one["rules"].values() if end["exact"] is not None]
    worse = sum(end["exact"] > end["bill"] and not agree(end["exact"], end["bill"]) for end in ends)
    values["exact costs more than a rule at its own evictions"] = f"{worse} of {len(ends)}"
    return values | _of_plans(found)


def _of_plans(found: Sequence[dict[str, Any]]) -> dict[str, Sample | float | str]:
    """Return the figures of plans that can be carried out."""
    number, plans = len(found), [(one, one["plan"]) for one in found]

    def count_beaten(rules: Sequence[str], most: int) -> str:
        """Count clusters in which the plan costs more than a rule that fails in at most `most` orders."""
        count = 0
        for one, plan in plans:
            ends = [end for rule, end in one["rules"].items() if rule in rules and end["orders"] <= most]
            low = min((end["bill"] for end in ends), default=plan["bill"])
            count += plan["bill"] > low and not agree(plan["bill"], low)
        return f"{count} of {number}"

    scheduled = [rule for rule in RULES if "simulated" not in rule]
    return {
        "plan: above the bound": Sample.of([plan["bill"] / one["best"][ANY]["bound"] - 1 for one, plan in plans]),
        "plan: share of the saving": Sample.of(
            [(one["bill"] - plan["bill"]) / (one["bill"] - one["best"][ANY]["bill"]) for one, plan in plans]
        ),
        "plan: evicted": Sample.of([plan["evictions"] / one["pods"] for one, plan in plans]),
        "plan: succeeds in 95 of 100 orders": f"{sum(plan['orders'] <= 5 for _, plan in plans)} of {number}",
        "plan: orders with pods pending": Sample.of([plan["orders"] for _, plan in plans]),
        "plan: costs more than an end of a rule that succeeds in 95 of 100 orders": count_beaten(list(RULES), 5),
        "plan: costs more than an end of a rule by kube-scheduler": count_beaten(scheduled, 100),
        "plan: CPU s": Sample.of([plan["cpu_s"] for _, plan in plans]),
    }


def _tables(name: str, found: Sequence[dict[str, Any]]) -> Iterator[TextTable | str]:
    """Return the table of a row's rules, and a line for each further figure."""
    values = _values(found)
    head = [f"{name}, {len(found)} clusters", *ABOUT.values()]
    table = []
    for rule in RULES:
        cells = [values[f"{rule}: {said}"] for said in ABOUT.values()]
        table.append([f"`{rule}`", *(_cell(cell, said) for cell, said in zip(cells, ABOUT.values(), strict=True))])
    yield TextTable(head, table)
    for said, value in values.items():
        if said.partition(":")[0] not in RULES or said.partition(": ")[2] not in ABOUT.values():
            yield f"{name}: {said}: {value.text() if isinstance(value, Sample) else value}"


def _cell(value: Any, said: str) -> str:
    if said == ABOUT["again"]:
        return f"{value.mean:.1f} ({value.greatest:.0f})"
    return f"{percent(value.mean, 1)} ({percent(value.least, 1)} to {percent(value.greatest, 1)})"
