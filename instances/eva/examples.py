"""The paper's own example of `eva-packing`: Table 3, with the throughputs of section 4.3."""

from __future__ import annotations

from instances.envelope import Instance, Reference
from instances.eva.packing import DEFAULT, EvaPacking, InstanceType, Objective, Task, Throughput
from instances.eva.tables import RESOURCES, table


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
    throughput = None
    reference = Reference(objective=12.8, bound=12.8, proved_by="walk-through of section 4.2; brute force")
    if objective == "net-saving":
        throughput = Throughput(default=1.0, pairwise=(("t1", "t2", 0.8), ("t2", "t1", 0.9)))
        reference = Reference(objective=0.8, bound=0.8, proved_by="brute force")
    data = EvaPacking(
        resources=RESOURCES, instance_types=kinds, tasks=tasks, throughput=throughput, objective=objective
    )
    name = "eva-table-3" if objective == "cost" else "eva-table-3-interference"
    return Instance.of(data, name, "Eva (EuroSys'25), Table 3", reference)
