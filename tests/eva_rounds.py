"""Draw small rounds of Eva, and solve them by brute force over every assignment of tasks."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from instances.eva import EvaReconfiguration, ExistingInstance, MovableTask, StartedType, Throughput


def small_round(seed: int) -> EvaReconfiguration:
    """Draw a round of at most five tasks and two types, with all unusual features."""
    draw = random.Random(seed)
    kinds = tuple(
        StartedType(
            name=f"k{k}",
            family=f"f{k}",
            capacity={"gpu": draw.randint(1, 4), "cpu": draw.randint(4, 8)},
            usd_per_hour=draw.randint(1, 12) / 4,
            start_usd=draw.choice([0.0, 0.1, 0.5]),
        )
        for k in range(2)
    )
    kinds = (kinds[0].model_copy(update={"capacity": {"gpu": 4, "cpu": 8}}), kinds[1])
    tasks = []
    left = 5
    for t in range(draw.randint(1, 3)):
        job = draw.choice([None, None, "j", f"own{t}"])
        count = draw.randint(1, min(2, left - 2 + t)) if left > 1 else 1
        demand = {"default": {"gpu": draw.randint(0, 2), "cpu": draw.randint(0, 4)}}
        if draw.random() < 0.3:
            demand["f1"] = {"gpu": draw.randint(0, 2), "cpu": draw.randint(0, 4)}
        usd = 0.25 if job == "j" else draw.choice([0.0, 0.1, 1.0])
        size = None if job is None or draw.random() < 0.5 else 5
        tasks.append((f"w{t}", count, demand, job, usd, 5 if job == "j" else size))
        left -= count
    entries = tuple(
        MovableTask(workload=w, count=n, demand=d, job=j, migration_usd=usd, tasks_in_job=size)
        for w, n, d, j, usd, size in tasks
    )
    names = [task.workload for task in entries]
    pairs = tuple((a, b, draw.choice([0.0, 0.5, 0.9, 1.0])) for a in names for b in names if draw.random() < 0.7)
    return EvaReconfiguration(
        resources=("gpu", "cpu"),
        instance_types=kinds,
        tasks=entries,
        throughput=Throughput(default=0.95, pairwise=pairs),
        existing=tuple(_existing(draw, kinds, entries)),
        horizon_hours=draw.choice([0.0, 0.25, 1.0, 30.0]),
    )


def _existing(
    draw: random.Random, kinds: tuple[StartedType, ...], tasks: tuple[MovableTask, ...]
) -> Iterator[ExistingInstance]:
    loose = [task for task in tasks for _ in range(task.count)]
    draw.shuffle(loose)
    for i in range(draw.randint(0, 3)):
        kind, held = draw.choice(kinds), []
        for task in loose[: draw.randint(1, 2)]:
            if fits(kind, [*held, task]):
                held.append(task)
                loose.remove(task)
        if held:
            keys = [task.key for task in held]
            yield ExistingInstance(id=f"e{i}", type=kind.name, tasks={key: keys.count(key) for key in keys})


def fits(kind: StartedType, held: list[MovableTask]) -> bool:
    return all(math.fsum(task.demand_on(kind.family)[r] for task in held) <= size for r, size in kind.capacity.items())


def best_by_brute_force(data: EvaReconfiguration) -> float:
    """Compute the maximum value of a round, USD, in plain floating point."""
    kinds = {kind.name: kind for kind in data.instance_types}
    every = [task for task in data.tasks for _ in range(task.count)]
    price = {t.key: min(k.usd_per_hour for k in kinds.values() if fits(k, [t])) for t in data.tasks}
    pairs = {(a, b): value for a, b, value in data.throughput.pairwise} if data.throughput else {}
    default = data.throughput.default if data.throughput else 1.0
    listed = {t.job: sum(o.count for o in data.tasks if o.job == t.job) for t in data.tasks}
    total = {t.job: sum(o.count * price[o.key] for o in data.tasks if o.job == t.job) for t in data.tasks}

    def of_job(task: MovableTask) -> float:
        if task.job is None:
            return price[task.key]
        return total[task.job] + max(0, (task.tasks_in_job or 0) - listed[task.job]) * price[task.key]

    def tnrp(held: list[MovableTask]) -> float:
        value = 0.0
        for i, task in enumerate(held):
            rate = math.prod(pairs.get((task.workload, o.workload), default) for j, o in enumerate(held) if j != i)
            value += price[task.key] - (1 - rate) * of_job(task)
        return value

    def new(held: list[MovableTask]) -> float:
        costs = [data.horizon_hours * k.usd_per_hour + k.start_usd for k in kinds.values() if fits(k, held)]
        return data.horizon_hours * tnrp(held) - min(costs, default=math.inf)

    def moves(there: list[list[MovableTask]]) -> float:
        usd, jobs = 0.0, {}
        for instance, held in zip(data.existing, there, strict=True):
            keys = [task.key for task in held]
            for task in data.tasks:
                lost = max(0, instance.tasks.get(task.key, 0) - keys.count(task.key))
                if lost and task.job:
                    jobs[task.job] = task.migration_usd
                elif lost:
                    usd += lost * task.migration_usd
        return usd + sum(jobs.values())

    best = -math.inf
    there: list[list[MovableTask]] = [[] for _ in data.existing]
    added: list[list[MovableTask]] = []

    def place(i: int) -> None:
        nonlocal best
        if i == len(every):
            value = sum(new(held) for held in added) - moves(there)
            for instance, held in zip(data.existing, there, strict=True):
                if held:
                    value += data.horizon_hours * (tnrp(held) - kinds[instance.type].usd_per_hour)
            best = max(best, value)
            return
        for instance, held in zip(data.existing, there, strict=True):
            held.append(every[i])
            if fits(kinds[instance.type], held):
                place(i + 1)
            held.pop()
        for held in [*added]:
            held.append(every[i])
            if any(fits(kind, held) for kind in kinds.values()):
                place(i + 1)
            held.pop()
        added.append([every[i]])
        place(i + 1)
        added.pop()

    place(0)
    return best
