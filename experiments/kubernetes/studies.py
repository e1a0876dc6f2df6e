"""Studies of nodes and pods: other solvers, growth with size, placements that are decided, and the rules' bills."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from statistics import median
from typing import Annotated, Any

import pandas as pd
import typer

from experiments.harness.experiment import Quick, StagedStudy, Stages, Study, TextTable, limit_time, send_outcomes
from experiments.harness.run import Run
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from experiments.kubernetes.crowded import KINDS, generate_crowded
from experiments.kubernetes.drains import carry_out, count_evictions
from experiments.kubernetes.methods import METHODS
from experiments.kubernetes.reach import plan_to, reachable, state_of
from experiments.output.terminal import percent
from experiments.peers.comparison import LIMIT_S, Peer, PeerRow, comparison
from experiments.peers.growth import Ladder, build_study
from heuristics.kubernetes import (
    ca_least_waste,
    ca_most_pods,
    karpenter_1_13,
    karpenter_1_14,
    karpenter_1_14_balanced,
)
from instances import InputError, Instance, Options, Result, Stopwatch
from instances.gaps import agree
from instances.kubernetes import (
    NodeConsolidation,
    NodePlacement,
    cluster_arrays,
    random_cluster,
    shrunk_cluster,
)
from instances.proofs import NoCertificate
from instances.proofs.certificate import NoSolution
from instances.proofs.kubernetes import prove_placement
from models.kubernetes import exact_consolidation
from models.kubernetes.certificate import certificate
from models.kubernetes.exact import BY_TOTALS

EXACT, PODS = "models.kubernetes:exact", "experiments.peers.cp_sat.kubernetes:pods"
PEERS = (
    Peer("CP-SAT, pods on nodes", PODS, extra=True),
    Peer("CP-SAT, pods on nodes, 8 workers", PODS, workers=8, extra=True),
)
LITERAL = "HiGHS, the literal program"
_full_nodes = partial(random_cluster, load=0.97)
LADDERS = (
    Ladder(
        "Node placement, load 0.97", "nodes", (5, 10, 20, 40, 80, 160, 320, 640, 1_280), _full_nodes, EXACT, PEERS[0]
    ),
    Ladder(
        "Node consolidation",
        "pods",
        (6, 12, 25, 50, 100, 200, 400, 1_600, 6_400),
        shrunk_cluster,
        "models.kubernetes:exact_consolidation",
        Peer(LITERAL, "models.kubernetes:literal_consolidation"),
    ),
)


def peers(options: Options, quick: Quick = False) -> Study:
    """Compare the exact placement with the best compact model for another solver, at equal CPU limits."""
    row = PeerRow("20 nodes, fewest moves", [_full_nodes(20, seed) for seed in range(5)], EXACT, PEERS)
    if quick:
        row = PeerRow("5 nodes, fewest moves", [_full_nodes(5, 0)], EXACT, [Peer(LITERAL, "models.kubernetes:literal")])
    return comparison([row], limit_time(options, LIMIT_S))


def growth(options: Options, quick: Quick = False) -> Study:
    """How CPU seconds of the exact methods and of their peers grow with the size of the instance."""
    return build_study(LADDERS, limit_time(options, LIMIT_S), quick)


DECISION_S, MOVES_S = 2.0, 5.0
NODES, LOADS = (20, 200), (0.97, 1.0)
CAN, TOTALS, BEYOND, UNDECIDED = "can", "cannot, by totals", "cannot, beyond totals", "undecided"
ACCEPTED, FEWEST = "certificates accepted", "fewest moves proven"
HEAD = ("clusters", "cases", CAN, TOTALS, BEYOND, UNDECIDED, ACCEPTED, FEWEST, "median CPU s", "most")


@dataclass(frozen=True)
class DecidedRow:
    """Clusters by seed, and the time limit for each."""

    draw: Callable[[int], Instance[NodePlacement]]
    seconds: float = DECISION_S


def _full(planted: bool, seed: int) -> Instance[NodePlacement]:
    draw = random.Random(f"full-{seed}")
    return random_cluster(draw.randint(*NODES), seed, load=draw.uniform(*LOADS), planted=planted)


PLACEMENTS: Mapping[str, DecidedRow] = {
    "planted": DecidedRow(partial(_full, True)),
    "drawn": DecidedRow(partial(_full, False)),
    **{kind: DecidedRow(partial(generate_crowded, kind)) for kind in KINDS},
    "100 nodes, load 0.97": DecidedRow(partial(_full_nodes, 100), MOVES_S),
    "100 nodes, load 0.99": DecidedRow(partial(random_cluster, 100, load=0.99), MOVES_S),
}


def decide(
    options: Options,
    seeds: Annotated[int, typer.Option(min=1, help="Clusters of each row.")] = 10,
    row: Annotated[list[str] | None, typer.Option(help="A row; repeatable. By default all.")] = None,
) -> StagedStudy:
    """Print how many clusters are decided: whether all pods can be placed, in 2 or 5 CPU seconds each."""
    for name in row or ():
        if name not in PLACEMENTS:
            raise InputError(f"--row: must be one of {', '.join(PLACEMENTS)}, got {name!r}")
    rows = {name: one for name, one in PLACEMENTS.items() if not row or name in row}
    runs = [
        Run(one.draw(seed), METHODS["node-placement"][0], limit_time(options, one.seconds))
        for one in rows.values()
        for seed in range(seeds)
    ]

    def stages() -> Stages:
        results = yield runs
        refuted = [run for run, result in zip(runs, results, strict=True) if result.status == "infeasible"]
        if refuted:
            yield [Measurement.of(certify, options, None, instance=run.instance) for run in refuted]

    def group_by_row(outcomes: Sequence[Any]) -> Iterator[tuple[str, Mapping[str, int], list[float]]]:
        """Return the numbers under each head, and the CPU seconds."""
        results, proofs = iter(outcomes[: len(runs)]), iter(outcomes[len(runs) :])
        for name in rows:
            found = list(islice(results, seeds))
            said = [_classify(result) for result in found]
            accepted: list[Measured] = list(islice(proofs, said.count(TOTALS) + said.count(BEYOND)))
            numbers = {answer: said.count(answer) for answer in (CAN, TOTALS, BEYOND, UNDECIDED)}
            numbers[ACCEPTED] = sum(one.figures["accepted"] for one in accepted)
            numbers[FEWEST] = sum(result.status == "optimal" for result in found)
            yield name, numbers, [result.cpu_s or 0.0 for result in found]

    def tables(outcomes: Sequence[Any]) -> list[TextTable | str]:
        lines = [
            [name, str(seeds), *map(str, numbers.values()), f"{median(seconds):.2f}", f"{max(seconds):.2f}"]
            for name, numbers, seconds in group_by_row(outcomes)
        ]
        return [TextTable(HEAD, lines)]

    def values(outcomes: Sequence[Any]) -> dict[str, Sample | float | str]:
        found: dict[str, Sample | float | str] = {}
        for name, numbers, seconds in group_by_row(outcomes):
            of = {ACCEPTED: numbers[TOTALS] + numbers[BEYOND]}
            found |= {f"{name}: {what}": f"{number} of {of.get(what, seeds)}" for what, number in numbers.items()}
            found[f"{name}: CPU s"] = Sample.of(seconds)
        return found

    return StagedStudy(send_outcomes(stages(), []), tables, values=values, stages=stages)


def _classify(result: Result) -> str:
    """Classify a result: infeasible by totals, infeasible otherwise, feasible, or undecided."""
    if result.status == "infeasible":
        return TOTALS if result.info["bound_by"] == BY_TOTALS else BEYOND
    return CAN if result.solved else UNDECIDED


def certify(instance: Instance[NodePlacement], options: Options) -> dict[str, Any]:
    """Return whether the instance has an accepted certificate of infeasibility."""
    try:
        text = certificate(instance.data, None, math.inf, options).text
        return {"accepted": isinstance(prove_placement(instance.data, text), NoSolution)}
    except NoCertificate:
        return {"accepted": False}


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
        Measurement.of(measure_rules, options, None, cloud=cloud, pods=pods, seed=seed)
        for cloud, pods, number in asked
        for seed in range(number)
    ]

    def group_by_row(outcomes: Sequence[Measured]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        left = iter(outcomes)
        for _, _, number in asked:
            found = [one.figures for one in islice(left, number)]
            yield found[0]["row"], found

    def tables(outcomes: Sequence[Measured]) -> list[TextTable | str]:
        return [part for name, found in group_by_row(outcomes) for part in _tables(name, found)]

    def values(outcomes: Sequence[Measured]) -> dict[str, Sample | float | str]:
        return {f"{row}: {name}": v for row, found in group_by_row(outcomes) for name, v in _values(found).items()}

    return Study(tasks, tables, values=values)


def measure_rules(cloud: Any, pods: int, seed: int, options: Options) -> dict[str, Any]:
    """Return the minimum bills of a cluster with their bounds, the ends of the rules, and a plan to carry out."""
    data = shrunk_cluster(pods, seed, cloud=cloud).data
    arrays = cluster_arrays(data)
    in_place = int(arrays.on_node.sum())
    asked: dict[str, int | None] = {ANY: None, TENTH: math.floor(0.1 * in_place)}
    if (cloud, pods) == OF_A_QUARTER:
        asked[QUARTER] = math.floor(0.25 * in_place)
    best = {name: _best(data, k, replace(options, time_limit=SECONDS[name])) for name, k in asked.items()}
    results = {name: rule(data, options, **said) for name, (rule, said) in RULES.items()}
    ended = {name: _end(data, result) for name, result in results.items() if result.solved}
    own = {ended[name]["lost"] for name in AT_ITS_OWN if name in ended}
    at = {k: _best(data, k, replace(options, time_limit=AT_ITS_OWN_S)) for k in sorted(own)}
    for name, end in ended.items():
        plan = plan_to(arrays, *state_of(arrays, results[name].solution))
        end["orders"] = carry_out(arrays, plan, options.seed).orders
        end["least"] = end["exact"] = None
        if name in AT_ITS_OWN:
            k = end["lost"]
            fewer = [one for one in (*best.values(), *at.values()) if one.solved]
            fewer = [one for one in fewer if count_evictions(data, one.solution or {}) <= k]
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


def _end(data: NodeConsolidation, result: Result) -> dict[str, Any]:
    """Return the end of a rule. `lost`: pods that left their node. `evictions`: number of evictions."""
    assert result.solution is not None
    return {
        "bill": result.objective,
        "lost": count_evictions(data, result.solution),
        "evictions": result.info["evictions"],
        "again": result.info["pending_again"],
        "ended": result.info.get("ended", True),
    }


def _sample(values: pd.Series[Any]) -> Sample:
    return Sample.of(values.tolist())


def _values(found: Sequence[dict[str, Any]]) -> dict[str, Sample | float | str]:
    """Return the figures of a row: of its clusters, of the rules on them, and of the plans that can be carried out."""
    number, bests = len(found), [one["best"] for one in found]
    clusters = pd.DataFrame(
        {
            "nodes": [one["nodes"] for one in found],
            "pods": [one["pods"] for one in found],
            "today": [one["bill"] for one in found],
            "low": [best[ANY]["bill"] for best in bests],
            "tenth": [best[TENTH]["bill"] for best in bests],
            "bound": [best[ANY]["bound"] for best in bests],
        }
    )
    values: dict[str, Sample | float | str] = {
        "nodes": _sample(clusters.nodes),
        "before above the least": _sample(clusters.today / clusters.low - 1),
        "least above the bound": _sample(clusters.low / clusters.bound - 1),
    }
    for name in (name for name in SECONDS if name in bests[0]):
        of = pd.DataFrame([best[name] for best in bests])
        gaps = 1 - of.bound / of.bill
        values[f"{name}: proven"] = f"{of.proven.sum()} of {number}"
        values[f"{name}: within 0.5%"] = f"{(gaps <= NEAR).sum()} of {number}"
        values[f"{name}: gap"] = _sample(gaps)
        values[f"{name}: CPU s"] = _sample(of.cpu_s)
    dearer = clusters[clusters.today > clusters.low]
    values[f"{TENTH}: share of the saving"] = _sample((dearer.today - dearer.tenth) / (dearer.today - dearer.low))
    rows = [{"cluster": i, "rule": rule, **end} for i, one in enumerate(found) for rule, end in one["rules"].items()]
    ends = pd.DataFrame(rows).join(clusters[["pods", "today", "low"]], on="cluster")
    for rule in RULES:
        of = ends[ends.rule == rule]
        saved = of[of.today > of.low]
        figures = {
            "above": of.bill / of.low - 1,
            "share": (saved.today - saved.bill) / (saved.today - saved.low),
            "evicted": of.evictions / of.pods,
            "again": of.again,
        }
        values |= {f"{rule}: {ABOUT[key]}": _sample(of_key) for key, of_key in figures.items()}
        values[f"{rule}: clusters with pods pending again"] = f"{(of.again > 0).sum()} of {number}"
        values[f"{rule}: without end"] = f"{len(of) - of.ended.sum()} of {number}"
    for rule in AT_ITS_OWN:
        of = ends[ends.rule == rule]
        values[f"{rule}: above the least at its own evictions"] = _sample(of.bill / of.least - 1)
        values[f"{rule}: on the frontier"] = f"{sum(map(agree, of.bill, of.bound))} of {len(of)}"
        values[f"{rule}: proven at its own evictions"] = f"{sum(map(agree, of.least, of.bound))} of {len(of)}"
    own = ends[ends.exact.notna()]
    worse = sum(exact > bill and not agree(exact, bill) for exact, bill in zip(own.exact, own.bill, strict=True))
    values["exact costs more than a rule at its own evictions"] = f"{worse} of {len(own)}"
    plans = pd.DataFrame([one["plan"] for one in found])

    def count_beaten(of: pd.DataFrame) -> str:
        """Count clusters in which the plan costs more than one of these ends of rules."""
        least = of.groupby("cluster").bill.min().reindex(plans.index).fillna(plans.bill)
        return (
            f"{sum(usd > low and not agree(usd, low) for usd, low in zip(plans.bill, least, strict=True))} of {number}"
        )

    scheduled = ends[~ends.rule.str.contains("simulated")]
    values |= {
        "plan: above the bound": _sample(plans.bill / clusters.bound - 1),
        "plan: share of the saving": _sample((dearer.today - plans.bill[dearer.index]) / (dearer.today - dearer.low)),
        "plan: evicted": _sample(plans.evictions / clusters.pods),
        "plan: succeeds in 95 of 100 orders": f"{(plans.orders <= 5).sum()} of {number}",
        "plan: orders with pods pending": _sample(plans.orders),
        "plan: costs more than an end of a rule that succeeds in 95 of 100 orders": count_beaten(
            ends[ends.orders <= 5]
        ),
        "plan: costs more than an end of a rule by kube-scheduler": count_beaten(scheduled),
        "plan: CPU s": _sample(plans.cpu_s),
    }
    return values


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
