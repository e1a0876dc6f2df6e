"""Random instances of `eva-packing`, each from a seed: samples of Table 7, and many workloads that interfere."""

from __future__ import annotations

import random
from collections import Counter
from typing import Literal

from instances.envelope import Instance
from instances.eva.packing import DEFAULT, EvaPacking, Objective, Task, Throughput
from instances.eva.tables import GPU_FAMILY, RESOURCES, ec2_types, interference, table

Rows = Literal["nine", "ten"]


def table_7(n: int, seed: int, *, rows: Rows = "nine", objective: Objective = "cost") -> Instance[EvaPacking]:
    """A random instance of `n` tasks, drawn uniformly from Table 7, with replacement, as for Table 4.

    - `n`: number of tasks, at least 1.
    - `seed`: seed of the draw.
    - `rows`: `nine` distinct workloads, the two rows of ResNet18 being one, or all `ten`, in which its tasks belong to
      jobs of two and of four. Only the nine reproduce the cost ratio of No-Packing in Table 4, 1.56.
    - `objective`: `cost`, or `net-saving` under the interference of Figure 1.

    Raises ValueError for n < 1.
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


def random_workloads(n: int, workloads: int, seed: int, *, least_throughput: float = 0.5) -> Instance[EvaPacking]:
    """A random instance of `n` tasks of many workloads that slow each other down, with `net-saving` as the objective.

    Demands lie in the ranges of Table 7: GPUs are drawn from its rows, CPUs on C7i and R7i are 4 to 8, on P3 once to
    twice as many, memory is 8 to 60 GB. The throughput of each workload beside each is uniform in
    [`least_throughput`, 1], in hundredths. Workloads that no task is drawn of are left out.

    Raises ValueError for n < 1, workloads < 1 and a throughput outside [0, 1].
    """
    if n < 1 or workloads < 1:
        raise ValueError(f"n, workloads: must be >= 1, got {n}, {workloads}")
    if not 0 <= least_throughput <= 1:
        raise ValueError(f"least_throughput: must be in [0, 1], got {least_throughput}")
    draw = random.Random(seed)
    gpus = table("workloads")["gpu"].tolist()
    names = [f"w{i}" for i in range(workloads)]
    demands = []
    for _ in names:
        gpu, cpu, ram = draw.choice(gpus), draw.randint(4, 8), draw.randint(8, 60)
        on_p3 = draw.randint(cpu, 2 * cpu)
        demands.append({DEFAULT: _amounts(gpu, cpu, ram), GPU_FAMILY: _amounts(gpu, on_p3, ram)})
    pairs = [(a, b, draw.randint(round(100 * least_throughput), 100) / 100) for a in names for b in names]
    count = Counter(draw.choice(names) for _ in range(n))
    data = EvaPacking(
        resources=RESOURCES,
        instance_types=ec2_types("physical_cores"),
        tasks=tuple(
            Task(workload=name, count=count[name], demand=demand)
            for name, demand in zip(names, demands, strict=True)
            if count[name]
        ),
        throughput=Throughput(pairwise=tuple(pair for pair in pairs if count[pair[0]] and count[pair[1]])),
        objective="net-saving",
    )
    name = f"eva-random-{workloads}-workloads-{n}-from-{least_throughput:g}-seed-{seed}"
    return Instance.of(data, name, f"{n} tasks of {workloads} random workloads, throughput from {least_throughput:g}")
