"""Random instances of `eva-reconfiguration`, each from a seed."""

from __future__ import annotations

import random
from collections import Counter

from instances.envelope import Instance
from instances.eva.generators import table_7
from instances.eva.packing import InstanceType, Task
from instances.eva.reconfiguration import EvaReconfiguration, ExistingInstance, MovableTask, StartedType
from instances.eva.tables import table
from instances.fields import DIGITS, steps

SETUP_HOURS = 300 / 3600  # of a new instance, which count as the cost of a migration in the authors' artifact
RUNNING = 0.75  # share of the tasks that are on an instance
BESIDE = 0.6  # share of them that joined others where there was room


def random_round(
    n: int, seed: int, *, horizon_hours: float = 0.5, tasks_per_job: int = 1
) -> Instance[EvaReconfiguration]:
    """A random round: `n` tasks of Table 7, three quarters of them on instances that are full or not, as it happens.

    - `n`: number of tasks, at least 1.
    - `seed`: seed of all draws.
    - `horizon_hours`: D.
    - `tasks_per_job`: tasks of every job, the last one perhaps of fewer; the tasks of a job may differ.

    A move costs the launch and the checkpoint of Table 7 at the reservation price, a start five minutes of the price.
    Throughput is that of Figure 1. Raises ValueError for n < 1 and tasks_per_job < 1.
    """
    if tasks_per_job < 1:
        raise ValueError(f"tasks_per_job: must be >= 1, got {tasks_per_job}")
    packing = table_7(n, seed, objective="net-saving").data
    draw = random.Random(seed)
    delays = {
        row["name"].split("-")[0]: row["launch_s"] + row["checkpoint_s"]
        for row in table("workloads").to_dict("records")
    }
    usd = {
        task.workload: delays[task.workload]
        / 3600
        * min(kind.usd_per_hour for kind in packing.instance_types if packing.fits(task, kind))
        for task in packing.tasks
    }
    one_by_one = [task for task in packing.tasks for _ in range(task.count)]
    draw.shuffle(one_by_one)
    job_of = [f"j{i // tasks_per_job}" for i in range(n)]
    tasks: dict[str, MovableTask] = {}
    for task, job in zip(one_by_one, job_of, strict=True):
        named = None if tasks_per_job == 1 else job
        members = [t for t, other in zip(one_by_one, job_of, strict=True) if named and other == job]
        made = MovableTask(
            workload=task.workload,
            count=task.count if named is None else members.count(task),
            demand=task.demand,
            job=named,
            migration_usd=round(usd[task.workload] if named is None else sum(usd[t.workload] for t in members), DIGITS),
        )
        tasks.setdefault(made.key, made)
    running = one_by_one[: round(RUNNING * n)]
    data = EvaReconfiguration(
        resources=packing.resources,
        instance_types=tuple(
            StartedType(**kind.common, start_usd=round(SETUP_HOURS * kind.usd_per_hour, DIGITS))
            for kind in packing.instance_types
        ),
        tasks=tuple(tasks.values()),
        throughput=packing.throughput,
        existing=_existing(draw, packing.instance_types, running, job_of, tasks_per_job > 1),
        horizon_hours=horizon_hours,
    )
    name = f"eva-round-{n}-jobs-of-{tasks_per_job}-{horizon_hours:g}h-seed-{seed}"
    return Instance.of(data, name, f"a random round of {n} tasks of Table 7 of Eva (EuroSys'25), seed {seed}")


def _existing(
    draw: random.Random, kinds: tuple[InstanceType, ...], running: list[Task], job_of: list[str], named: bool
) -> tuple[ExistingInstance, ...]:
    """Instances on which tasks were put in order: beside others where there was room, or on a type that holds them."""
    found: list[tuple[InstanceType, list[int], Counter[str]]] = []
    for task, job in zip(running, job_of, strict=False):
        needs = {kind.family: [steps(amount) for amount in task.demand_on(kind.family).values()] for kind in kinds}
        holding = [i for i in found if all(d <= f for d, f in zip(needs[i[0].family], i[1], strict=True))]
        if holding and draw.random() < BESIDE:
            kind, free, held = draw.choice(holding)
        else:
            fitting = [
                k
                for k in kinds
                if all(d <= steps(q) for d, q in zip(needs[k.family], k.capacity.values(), strict=True))
            ]
            kind = draw.choice(sorted(fitting, key=lambda k: k.usd_per_hour)[:4])
            free, held = [steps(q) for q in kind.capacity.values()], Counter()
            found.append((kind, free, held))
        free[:] = [f - d for f, d in zip(free, needs[kind.family], strict=True)]
        held[f"{task.workload}@{job}" if named else task.workload] += 1
    return tuple(ExistingInstance(id=f"i{i}", type=kind.name, tasks=held) for i, (kind, _, held) in enumerate(found))
