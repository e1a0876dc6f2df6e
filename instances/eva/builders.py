"""Instances of `eva-packing` from the paper's own tables: the example of Table 3 and samples of Table 7."""

from __future__ import annotations

import random
from collections import Counter
from typing import Literal

from instances.envelope import Instance, Reference
from instances.eva.catalogue import GPU_FAMILY, RESOURCES, ec2_types, interference, table
from instances.eva.packing import DEFAULT, EvaPacking, InstanceType, Task, Throughput

Objective = Literal["cost", "net-saving"]
Rows = Literal["nine", "ten"]


def table_3(objective: Objective = "cost") -> Instance[EvaPacking]:
    """The example of Table 3: four types, four tasks, optimum 12.80 USD/h.

    With `net-saving`, τ1 beside τ2 has throughput 0.8 and τ2 beside τ1 0.9, as in section 4.3.
    """
    rows = table("table_3")
    kinds = tuple(
        InstanceType(
            name=row["name"],
            family="g" if row["gpu"] else "c",
            capacity={r: float(row[r]) for r in RESOURCES},
            usd_per_hour=float(row["usd_per_hour"]),
        )
        for row in rows[rows.what == "instance_type"].to_dict("records")
    )
    tasks = tuple(
        Task(workload=row["name"], count=1, demand={DEFAULT: {r: float(row[r]) for r in RESOURCES}})
        for row in rows[rows.what == "task"].to_dict("records")
    )
    throughput, reference = (
        None,
        Reference(objective=12.8, bound=12.8, proved_by="walk-through of section 4.2; brute force"),
    )
    if objective == "net-saving":
        throughput = Throughput(default=1.0, pairwise=(("t1", "t2", 0.8), ("t2", "t1", 0.9)))
        reference = Reference(objective=0.8, bound=0.8, proved_by="brute force")
    data = EvaPacking(
        resources=RESOURCES, instance_types=kinds, tasks=tasks, throughput=throughput, objective=objective
    )
    name = "eva-table-3" if objective == "cost" else "eva-table-3-interference"
    return Instance.of(data, name, "Eva (EuroSys'25), Table 3", reference)


def table_7(n: int, seed: int, *, rows: Rows = "nine", objective: Objective = "cost") -> Instance[EvaPacking]:
    """`n` tasks drawn uniformly from Table 7, with replacement; with `net-saving` under the interference of Figure 1.

    `rows`: `nine` distinct workloads, the two rows of ResNet18 being one, or all `ten`, in which the tasks of ResNet18
    belong to jobs of two and of four. Only the nine reproduce the cost ratio of no-packing in Table 4, 1.56.
    """
    if n < 1:
        raise ValueError(f"n: must be >= 1, got {n}")
    workloads = table("workloads")
    if rows == "nine":
        workloads = workloads.drop(index=1).assign(name=lambda t: t["name"].str.split("-").str[0], tasks_per_job=1)
    draw = random.Random(seed)
    count = Counter(draw.randrange(len(workloads)) for _ in range(n))
    tasks = tuple(
        Task(
            workload=row["name"],
            count=count[i],
            demand={
                DEFAULT: _amounts(row["gpu"], row["cpu_c7i_r7i"], row["ram_gb"]),
                GPU_FAMILY: _amounts(row["gpu"], row["cpu_p3"], row["ram_gb"]),
            },
            tasks_in_job=int(row["tasks_per_job"]) if row["tasks_per_job"] > 1 else None,
        )
        for i, row in enumerate(workloads.to_dict("records"))
        if count[i]
    )
    data = EvaPacking(
        resources=RESOURCES,
        instance_types=ec2_types("physical_cores"),
        tasks=tasks,
        throughput=interference({t.workload: t.workload for t in tasks}) if objective == "net-saving" else None,
        objective=objective,
    )
    name = f"eva-table-7-{rows}-{objective}-{n}-seed-{seed}"
    return Instance.of(data, name, f"Eva (EuroSys'25), Table 7: {n} tasks of {rows} workloads, seed {seed}")


def _amounts(*amounts: float) -> dict[str, float]:
    return dict(zip(RESOURCES, map(float, amounts), strict=True))
