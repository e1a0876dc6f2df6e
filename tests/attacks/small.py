"""Build small instances of every problem and reading: the papers' examples, and random ones by seed."""

from __future__ import annotations

import random
from collections.abc import Callable

from instances import Instance
from instances.aryl import ArylElastic, ArylReclaim, ElasticJob, LoanedJob, elastic_jobs, figure_5, table_2, table_4
from instances.boa import (
    BoaAllocation,
    Epoch,
    GpuType,
    JobClass,
    Speedup,
    compute_min_budget,
    figure_1,
    random_allocation,
)
from instances.eva import EvaPacking, InstanceType, Task, Throughput, table_3, table_7
from instances.sia import Job, Pool, SiaOracle, five_jobs

Builder = Callable[[int], Instance]


def packing(seed: int, objective: str = "cost") -> Instance:
    """Up to five tasks with demands by family, on prices and capacities with three decimals."""
    rng = random.Random(f"packing {seed}")

    def some(most: int) -> float:
        return rng.randint(0, 1000 * most) / 1000

    big = InstanceType(name="big", family="f", capacity={"gpu": 6, "cpu": 6}, usd_per_hour=some(8) + 4)
    kinds = [big] + [
        InstanceType(
            name=f"k{i}",
            family=rng.choice("fg"),
            capacity={"gpu": some(6), "cpu": some(6)},
            usd_per_hour=some(9) + 0.003,
        )
        for i in range(rng.randint(1, 3))
    ]
    families = {k.family for k in kinds}
    tasks = []
    for i in range(rng.randint(2, 3)):
        demand = {"default": {"gpu": some(4), "cpu": some(4)}}
        if "g" in families and rng.random() < 0.5:
            demand["g"] = {"gpu": some(3), "cpu": some(3)}
        job = rng.choice([None, "j"])
        tasks.append(Task(workload=f"w{i}", count=rng.randint(1, 2), demand=demand, job=job))
    throughput = None
    if objective == "net-saving":
        pairs = tuple((a.workload, b.workload, rng.choice([0.5, 0.8, 1.0])) for a in tasks for b in tasks)
        throughput = Throughput(default=0.9, pairwise=pairs)
    data = EvaPacking(
        resources=("gpu", "cpu"),
        instance_types=tuple(kinds),
        tasks=tuple(tasks),
        throughput=throughput,
        objective=objective,
    )
    return Instance.of(data, f"packing-{objective}-{seed}")


def allocation(seed: int, *, types: int = 1, rescale: bool = True, widths: str = "integer") -> Instance:
    """Two classes of up to three epochs on tables of three widths, concave or not."""
    rng = random.Random(f"allocation {seed} {types} {rescale} {widths}")
    names = [f"type-{h}" for h in range(types)]

    def table() -> dict:
        speedup = [1.0]
        for _ in range(2):
            speedup.append(round(max(0.2, speedup[-1] + rng.uniform(-0.3, 1.2)), 3))
        return {"table": {"gpus": [1, 2, 3], "speedup": speedup}}

    def epoch() -> Epoch:
        speedup = table() if types == 1 else {name: table() for name in names}
        return Epoch(size_hours=rng.randint(1, 40) / 20, speedup=Speedup.model_validate(speedup))

    classes = tuple(
        JobClass(
            name=f"class-{i}",
            arrivals_per_hour=rng.randint(2, 30) / 10,
            weight=rng.choice([1.0, 2.5]),
            rescale_hours=rng.choice([0.05, 0.4]) if rescale else 0.0,
            epochs=tuple(epoch() for _ in range(rng.randint(1, 3))),
        )
        for i in range(2)
    )
    gpu_types = tuple(GpuType(name=n, price=rng.choice([0.5, 1.0, 2.0])) for n in names)
    data = BoaAllocation(budget=1e8, gpu_types=gpu_types, classes=classes, widths=widths)
    budget = round(compute_min_budget(data) * rng.uniform(1.05, 3) + 1e-6, 6)
    data = BoaAllocation(budget=budget, gpu_types=gpu_types, classes=classes, widths=widths)
    return Instance.of(data, f"allocation-{types}-{rescale}-{widths}-{seed}")


def elastic(seed: int, objective: str) -> Instance:
    """Up to three jobs of up to four workers, with and without a loss from scaling; seconds with three decimals."""
    rng = random.Random(f"elastic {seed} {objective}")
    jobs = []
    for i in range(rng.randint(1, 3)):
        least = rng.randint(1, 2)
        jobs.append(
            ElasticJob(
                id=f"j{i}",
                min_workers=least,
                max_workers=least + rng.randint(0, 2),
                gpus_per_worker=rng.randint(1, 3),
                min_running_time=rng.randint(1000, 40_000) / 1000,
            )
        )
    base = [job.base_gpus for job in jobs]
    least_gpus = sum(base) if objective == "jct-reduction" else max(base)
    loss = rng.choice([0.0, 0.1, 0.5])
    data = ArylElastic(
        capacity_gpus=float(least_gpus + rng.randint(0, 6)), jobs=tuple(jobs), objective=objective, scaling_loss=loss
    )
    return Instance.of(data, f"elastic-{objective}-{seed}")


def reclaim(seed: int) -> Instance:
    """Up to nine servers and ten jobs on up to four of them."""
    rng = random.Random(f"reclaim {seed}")
    servers = tuple(f"s{i}" for i in range(rng.randint(1, 9)))
    jobs = tuple(
        LoanedJob(id=f"j{i}", servers=tuple(rng.sample(servers, rng.randint(1, min(4, len(servers))))))
        for i in range(rng.randint(0, 10))
    )
    data = ArylReclaim(servers=servers, jobs=jobs, reclaim=rng.randint(0, len(servers)))
    return Instance.of(data, f"reclaim-{seed}")


def oracle(seed: int, fairness_weight: float = 0.0, fair_share: str = "all-use") -> Instance:
    """Up to seven jobs in up to three pools."""
    rng = random.Random(f"oracle {seed}")
    pools = [Pool(name=f"p{i}", gpus=rng.randint(1, 4)) for i in range(rng.randint(1, 3))]
    jobs = []
    for k in range(rng.randint(1, 7)):
        pool = rng.choice(pools)
        gpus = rng.randint(1, pool.gpus)
        jobs.append(Job(id=f"j{k}", pool=pool.name, submit=rng.randint(0, 6), duration=rng.randint(1, 6), gpus=gpus))
    data = SiaOracle(
        slot_minutes=1.0,
        pools=tuple(pools),
        jobs=tuple(jobs),
        fairness_weight=fairness_weight,
        fair_share=fair_share,
    )
    return Instance.of(data, f"oracle-{fairness_weight:g}-{fair_share}-{seed}")


def fair(instance: Instance[SiaOracle], weight: float, share: str) -> Instance:
    """Return the workload with a fairness weight, and without its reference, which has another objective."""
    data = instance.data.model_copy(update={"fairness_weight": weight, "fair_share": share})
    return Instance.of(data, f"{instance.name}-{weight:g}-{share}")


READINGS: dict[str, tuple[Builder, tuple[Instance, ...]]] = {
    "eva-packing cost": (packing, (table_3(), table_7(5, 0))),
    "boa-allocation integer, rescaling": (allocation, (random_allocation(2, 3, 4, rescale=0.5),)),
    "boa-allocation integer, no rescaling": (lambda seed: allocation(seed, rescale=False), ()),
    "boa-allocation two types, rescaling": (lambda seed: allocation(seed, types=2), ()),
    "aryl-elastic jct-reduction": (
        lambda seed: elastic(seed, "jct-reduction"),
        (table_2("jct-reduction"), table_4("jct-reduction"), elastic_jobs(12, 0)),
    ),
    "aryl-elastic mean-jct": (lambda seed: elastic(seed, "mean-jct"), (table_2(), table_4())),
    "aryl-reclaim": (reclaim, (figure_5(),)),
    "sia-oracle": (oracle, (five_jobs(),)),
    "sia-oracle all-use": (lambda seed: oracle(seed, 0.7, "all-use"), (fair(five_jobs(), 0.7, "all-use"),)),
    "sia-oracle above-share": (
        lambda seed: oracle(seed, 0.7, "above-share"),
        (fair(five_jobs(), 0.7, "above-share"),),
    ),
}
"""Readings that have a literal linear model: a random instance by its seed, and the papers' examples."""

CONVEX: dict[str, tuple[Builder, tuple[Instance, ...]]] = {
    "boa-allocation continuous": (
        lambda seed: allocation(seed, rescale=False, widths="continuous"),
        (figure_1(1.0), figure_1(2.0)),
    ),
    "boa-allocation two types, no rescaling": (lambda seed: allocation(seed, types=2, rescale=False), ()),
}
"""Readings whose paper's model is convex and cannot be exported."""

NET_SAVING = {"eva-packing net-saving": (lambda seed: packing(seed, "net-saving"), (table_3("net-saving"),))}
"""The reading whose objective is no linear function of the literal model's variables."""


def examples(readings: dict[str, tuple[Builder, tuple[Instance, ...]]], reading: str, seeds: int) -> list[Instance]:
    """Return the papers' examples of a reading, and `seeds` random instances."""
    build, papers = readings[reading]
    return [*papers, *(build(seed) for seed in range(seeds))]
