"""Random instances of `eva-packing` and `eva-reconfiguration` and workloads of `eva-cloud`, each from a seed."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from instances.arrays import exponentials
from instances.envelope import Instance
from instances.eva.cloud import CloudJob, EvaCloud, TaskClass
from instances.eva.packing import DEFAULT, Demands, EvaPacking, InstanceType, Objective, Task, Throughput
from instances.eva.reconfiguration import EvaReconfiguration, ExistingInstance, MovableTask, StartedType
from instances.eva.tables import GPU_FAMILY, RESOURCES, cloud_types, ec2_types, interference, table
from instances.fields import DIGITS, MOST_DRAWN, refuse_outside, refuse_seed, steps

Rows = Literal["nine", "ten"]


def table_7(n: int, seed: int, *, rows: Rows = "nine", objective: Objective = "cost") -> Instance[EvaPacking]:
    """Draw an instance of `n` tasks uniformly from Table 7, with replacement, as for Table 4.

    - `n`: number of tasks, at least 1.
    - `seed`: seed of the draw.
    - `rows`: `nine` distinct workloads, the two rows of ResNet18 being one, or all `ten`, in which its tasks belong to
      jobs of two and of four. Only the nine reproduce the cost ratio of No-Packing in Table 4, 1.56.
    - `objective`: `cost`, or `net-saving` under the interference of Figure 1.

    Raises ValueError for n < 1.
    """
    refuse_outside("n", n, 1)
    workloads = table("workloads")
    if rows == "nine":
        workloads = workloads.drop(index=1).assign(name=lambda t: t["name"].str.split("-").str[0], tasks_per_job=1)
    draw = random.Random(seed)
    count = Counter(draw.randrange(len(workloads)) for _ in range(n))
    tasks = tuple(
        Task(
            workload=row["name"],
            count=count[i],
            demand=_demand(row),
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


def synthetic_cloud(
    n: int,
    seed: int,
    *,
    gap_minutes: float = 20.0,
    hours: tuple[float, float] = (0.5, 3.0),
    delay_factor: float = 1.0,
    throughput: float | None = None,
    tasks_per_job: int | None = None,
    log_uniform: bool = False,
) -> Instance[EvaCloud]:
    """Draw a workload of `n` jobs uniformly from Table 7, with replacement, as in the experiments of section 6.2.

    - `n`: number of jobs.
    - `seed`: seed of all draws.
    - `gap_minutes`: mean time between arrivals, which are a Poisson process.
    - `hours`: shortest and longest duration of a job, hours; durations are uniform, in whole seconds.
    - `log_uniform`: their logarithms are uniform instead; Table 6 fits that.
    - `delay_factor`: factor on the jobs' delays, as in Figure 5.
    - `throughput`: of every task next to one other, as in Figure 4; default: that of Figure 1.
    - `tasks_per_job`: 4 for all jobs in Table 6; without it as many as Table 7 says.

    Raises InputError for a number out of range.
    """
    shortest, longest = hours
    refuse_seed(seed)
    refuse_outside("n", n, 1, MOST_DRAWN)
    limits = [("gap_minutes", gap_minutes, 0), ("hours", shortest, 1e-3), ("hours", longest, shortest)]
    limits += [("delay_factor", delay_factor, 0), ("tasks_per_job", 1 if tasks_per_job is None else tasks_per_job, 1)]
    for name, value, least in limits:
        refuse_outside(name, value, least)
    rng = np.random.default_rng(seed)
    rows = table("workloads").to_dict("records")
    drawn = [rows[i] for i in rng.integers(len(rows), size=n)]
    arrivals = np.round(np.cumsum(rng.exponential(60 * abs(gap_minutes), n))).tolist()
    if log_uniform:
        of_jobs = exponentials(rng.uniform(math.log(shortest), math.log(longest), n))
    else:
        of_jobs = rng.uniform(shortest, longest, n)
    durations = np.round(3600 * of_jobs).tolist()
    classes = tuple(_task_class(row, delay_factor) for row in rows if row in drawn)
    workloads = {c.workload: c.workload for c in classes}
    data = EvaCloud(
        resources=RESOURCES,
        instance_types=cloud_types("physical_cores"),
        classes=classes,
        jobs=tuple(
            CloudJob(
                id=f"j{i}",
                arrival_seconds=arrival,
                duration_seconds=duration,
                tasks={row["name"]: tasks_per_job or int(row["tasks_per_job"])},
            )
            for i, (row, arrival, duration) in enumerate(zip(drawn, arrivals, durations, strict=True))
        ),
        throughput=interference(workloads) if throughput is None else Throughput(default=throughput),
        period_seconds=300.0,
    )
    return Instance.of(data, f"eva-cloud-{n}-seed-{seed}", f"Eva (EuroSys'25), Table 7: {n} jobs, seed {seed}")


def _task_class(row: Mapping[Any, Any], delay_factor: float) -> TaskClass:
    """Return the class of a row of Table 7 with the delays of the artifact's simulation."""
    delays = {"fetch": "fetch", "build": "build_image", "init": "init", "kill": "kill", "upload": "upload"}
    return TaskClass(
        name=row["name"],
        workload=row["name"].split("-")[0],
        demand=_demand(row),
        **{f"{ours}_seconds": delay_factor * row[f"{theirs}_delay_s"] for ours, theirs in delays.items()},
    )


def _demand(row: Mapping[Any, Any]) -> Demands:
    return {
        DEFAULT: _amounts(row["gpu"], row["cpu_c7i_r7i"], row["ram_gb"]),
        GPU_FAMILY: _amounts(row["gpu"], row["cpu_p3"], row["ram_gb"]),
    }


def _amounts(*amounts: float) -> dict[str, float]:
    return dict(zip(RESOURCES, map(float, amounts), strict=True))


def random_workloads(n: int, workloads: int, seed: int, *, least_throughput: float = 0.5) -> Instance[EvaPacking]:
    """Draw an instance of `n` tasks of many workloads that slow each other down, with the objective `net-saving`.

    Demands lie in the ranges of Table 7: GPUs are drawn from its rows, CPUs on C7i and R7i are 4 to 8, on P3 once to
    twice as many, memory is 8 to 60 GB. The throughput of each workload next to each is uniform in
    [`least_throughput`, 1], in hundredths. Workloads that no task is drawn of are left out.

    Raises ValueError for n < 1, workloads < 1 and a throughput outside [0, 1].
    """
    refuse_outside("n", n, 1)
    refuse_outside("workloads", workloads, 1)
    refuse_outside("least_throughput", least_throughput, 0, 1)
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


GPUS_OF_TASKS = ((0, 1, 2, 4, 8), (35, 40, 13, 8, 4))
"""Numbers of GPUs of a task, and the percentage of tasks with each."""


def distinct_tasks(n: int, seed: int) -> Instance[EvaPacking]:
    """Draw `n` tasks, almost all of different demand, to be packed on the EC2 types of Table 7 at minimum cost.

    The CPUs of a task are log-normal around 7 per GPU, or around 7 without a GPU. Memory is log-normal around 4 GB per
    CPU. A task that fits no type is drawn again.

    - `n`: number of tasks, at least 1.
    - `seed`: seed of the draw.

    Raises ValueError for n < 1.
    """
    refuse_outside("n", n, 1)
    draw, kinds = random.Random(seed), ec2_types("vcpus")
    tasks: list[Task] = []
    while len(tasks) < n:
        gpu = draw.choices(*GPUS_OF_TASKS)[0]
        cpu = max(1, round(7 * max(1, gpu) * draw.lognormvariate(0, 0.4)))
        demand = _amounts(gpu, cpu, max(1, round(4 * cpu * draw.lognormvariate(0, 0.5))))
        if any(all(amount <= kind.capacity[name] for name, amount in demand.items()) for kind in kinds):
            tasks.append(Task(workload=f"task-{len(tasks)}", count=1, demand={DEFAULT: demand}))
    data = EvaPacking(resources=RESOURCES, instance_types=kinds, tasks=tuple(tasks), objective="cost")
    return Instance.of(data, f"eva-distinct-{n}-seed-{seed}", f"{n} distinct tasks, drawn at random")


SETUP_HOURS = 300 / 3600  # of a new instance, which count as the cost of a migration in the authors' artifact
RUNNING = 0.75  # share of the tasks that are on an instance
BESIDE = 0.6  # share of them that joined others where they fitted


def random_round(
    n: int, seed: int, *, horizon_hours: float = 0.5, tasks_per_job: int = 1
) -> Instance[EvaReconfiguration]:
    """Draw a round of `n` tasks of Table 7, three quarters of them on running instances, which need not be full.

    - `n`: number of tasks, at least 1.
    - `seed`: seed of all draws.
    - `horizon_hours`: D.
    - `tasks_per_job`: tasks of every job, the last one perhaps of fewer; the tasks of a job may differ.

    A move costs the launch and the checkpoint of Table 7 at the reservation price, a start five minutes of the price.
    Throughput is that of Figure 1. Raises ValueError for n < 1 and tasks_per_job < 1.
    """
    refuse_outside("tasks_per_job", tasks_per_job, 1)
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
    """Place tasks in order, next to others if they fit or on a new instance, and return the instances."""
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
