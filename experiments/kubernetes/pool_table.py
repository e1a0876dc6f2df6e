"""Sum up the nodes of each pool: their number, room and requests of CPU, memory and GPUs, and their cost."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from experiments.output.columns import Kind
from experiments.output.table import show_table
from instances.kubernetes.dump import DumpedNode
from instances.kubernetes.facts import Facts
from instances.kubernetes.measured import Aliases
from instances.kubernetes.offerings import Offering
from instances.kubernetes.pods import Amounts, add_amounts
from instances.kubernetes.prices import Prices

GPU = "/gpu"
UNITS = {"cpu": 1000, "memory_gib": 2**30, "gpus": 1}
NO_POOL = "no pool"
HEAD: list[tuple[str, Kind]] = [("pool", "name"), ("nodes", "number"), ("after", "number")]
HEAD += [(f"{what} requested", "number") for what in ("CPUs", "GiB", "GPUs")]
HEAD += [("USD/h", "number"), ("USD/h after", "number")]


def sum_up_pools(
    facts: Facts, prices: Prices, aliases: Aliases, kept: Collection[str], new: Iterable[Offering]
) -> list[dict[str, Any]]:
    """Return a row for each pool.

    - `kept`: the nodes that the plan keeps; `new`: those that it rents.
    - Room is the allocatable amount. Requests are those of all pods on the nodes, those of DaemonSets among them.
    """
    asked: dict[str, list[Amounts]] = {}
    for pod in facts.alive:
        if pod.node is not None:
            asked.setdefault(pod.node, []).append(pod.demand)
    pools: dict[str, list[DumpedNode]] = {}
    for node in facts.nodes:
        owner = node.machine_set if node.machine_set in facts.dump.machine_sets else None
        pools.setdefault(node.pool or owner or "", []).append(node)
    rented: dict[str, list[Offering]] = {}
    for kind in new:
        rented.setdefault(str(kind.pool.name) if kind.pool.labelled else "", []).append(kind)
    found = []
    for name in dict.fromkeys([*pools, *rented]):
        nodes, more = pools.get(name, []), rented.get(name, [])
        stay = [node for node in nodes if aliases.of("node", node.name) in kept]
        usd = {node: 0.0 if (offer := prices.of(node)) is None else offer.usd_per_hour for node in nodes}
        room, requested = _add(node.room for node in nodes), _add(d for node in nodes for d in asked.get(node.name, ()))
        found.append(
            {
                "pool": aliases.of("pool", name) if name else None,
                "nodes": len(nodes),
                "nodes_after": len(stay) + len(more),
                **{what: {"room": room[what], "requested": requested[what]} for what in UNITS},
                "usd_per_hour": round(sum(usd.values()), 9),
                "usd_per_hour_after": round(
                    sum(usd[node] for node in stay) + sum(kind.offer.usd_per_hour for kind in more), 9
                ),
            }
        )
    return found


def _add(amounts: Iterable[Amounts]) -> dict[str, float]:
    """Return CPUs, GiB and GPUs of any vendor."""
    total = add_amounts(amounts)
    gpus = sum(n for name, n in total.items() if name.endswith(GPU))
    sums = {"cpu": total.get("cpu", 0), "memory_gib": total.get("memory", 0), "gpus": gpus}
    return {what: round(sums[what] / unit, 3) for what, unit in UNITS.items()}


def pool_cells(row: Mapping[str, Any]) -> list[str]:
    """Return the cells of a row of the table: requests and room are divided by a slash."""
    shares = [f"{row[what]['requested']:.0f}/{row[what]['room']:.0f}" if row[what]["room"] else "-" for what in UNITS]
    counts = [str(row["nodes"]), str(row["nodes_after"])]
    return [row["pool"] or NO_POOL, *counts, *shares, f"{row['usd_per_hour']:.4f}", f"{row['usd_per_hour_after']:.4f}"]


def show_pools(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print the table."""
    show_table(HEAD, [pool_cells(row) for row in rows])
