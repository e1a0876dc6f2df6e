"""The paper's own example: Table 3, with the throughputs of section 4.3, as a packing and as a round."""

from __future__ import annotations

from instances.envelope import Instance, Reference
from instances.eva.packing import DEFAULT, EvaPacking, InstanceType, Objective, Task, Throughput
from instances.eva.reconfiguration import EvaReconfiguration, ExistingInstance, MovableTask, StartedType
from instances.eva.tables import RESOURCES, table


def table_3(objective: Objective = "cost") -> Instance[EvaPacking]:
    """Return the example of Table 3: four types, four tasks, optimum 12.80 USD/h.

    With `net-saving`, τ1 has throughput 0.8 next to τ2, and τ2 has 0.9 next to τ1, as in section 4.3.
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


def table_3_round() -> Instance[EvaReconfiguration]:
    """Return the example of Table 3 as a round: t1 and t2 run, each alone on its cheapest type; t3 and t4 are pending.

    In the optimum t1 and t2 stay, t3 joins t1, and a new instance hosts t4. The migration and start costs are
    fictitious.
    """
    data = table_3("net-saving").data
    migration = {"t1": 0.8, "t2": 0.2, "t3": 0.1, "t4": 0.1}
    made = EvaReconfiguration(
        resources=data.resources,
        instance_types=tuple(StartedType(**kind.common, start_usd=0.05) for kind in data.instance_types),
        tasks=tuple(MovableTask(**task.common, migration_usd=migration[task.workload]) for task in data.tasks),
        throughput=data.throughput,
        existing=(
            ExistingInstance(id="a", type="it1", tasks={"t1": 1}),
            ExistingInstance(id="b", type="it2", tasks={"t2": 1}),
        ),
        horizon_hours=1.0,
    )
    reference = Reference(objective=0.75, bound=0.75, proved_by="brute force")
    source = "Eva (EuroSys'25), Table 3, with costs of moving and starting made up"
    return Instance.of(made, "eva-table-3-round", source, reference)
