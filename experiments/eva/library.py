"""More named instances of Eva: Table 7 at five sizes, vector packing of Caprara and Toth, price lists, rounds."""

from __future__ import annotations

from typing import get_args

from experiments.harness.instance_set import InstanceSet
from instances import Instance
from instances.eva import caprara_toth, pod_requests, price_list, random_round, random_workloads, table_7
from instances.eva.price_lists import Cloud
from instances.eva.vector_packing import paper_sizes

SAMPLES = {20: 20, 50: 20, 100: 20, 500: 5, 2000: 3}
"""Samples of Table 7, by their tasks."""
CLASSES = range(1, 11)
PODS = (20, 60)
DISTINCT = (100, 300)


def instance_sets() -> list[InstanceSet]:
    """Return the sets in addition to those of the reference study."""
    items = [caprara_toth(c, size, s) for c in CLASSES for size in paper_sizes(c)[:2] for s in range(2)]
    three = [caprara_toth(c, paper_sizes(c)[0], 0, types="three") for c in CLASSES]
    slowed = [random_workloads(60, 25, s, least_throughput=0.8) for s in range(4)]
    sets: dict[str, list[Instance]] = {
        **{f"{n:,} tasks": [table_7(n, s) for s in range(k)] for n, k in SAMPLES.items()},
        "50 tasks, interference": [table_7(50, s, objective="net-saving") for s in range(10)],
        "60 tasks of 25 workloads, interference": slowed,
        "vector packing": items,
        "vector packing, three types": three,
        **{f"rounds of {n} tasks": [random_round(n, s) for s in range(8)] for n in (10, 20, 60)},
        **{
            f"{n} pods on a price list, {cloud}": [price_list(n, s, cloud=cloud) for s in range(4)]
            for n in PODS
            for cloud in get_args(Cloud)
        },
        **{f"{n} distinct pods": [pod_requests(n, s) for s in range(5)] for n in DISTINCT},
        "rounds of 100 tasks": [random_round(100, s) for s in range(4)],
    }
    return [InstanceSet(name, made, ("exact",)) for name, made in sets.items()]
