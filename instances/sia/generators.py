"""The synthetic workloads of Appendix A.1 and the variants of Appendix C."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

from instances.envelope import Instance
from instances.errors import InputError
from instances.fields import LONGEST_DAYS, refuse_seed, refuse_too_many, refuse_unless_positive
from instances.sia.oracle import SiaOracle, instance_of, whole_slots
from instances.text import meant

SHORTEST = math.sqrt(10.0)
Spread = Literal["uniform", "log-uniform"]
Widths = Mapping[int, float]


@dataclass(frozen=True)
class SyntheticWorkload:
    """How a workload is drawn; the defaults are the base workload of Appendix A.1.

    `durations`: (probability, shortest, longest) of each mode, minutes; within a mode uniform, or uniform in the
    logarithm. `widths`: probability of each number of GPUs. `load`: range of the load of a queue, a share of its own
    GPUs, which `load_factor` multiplies.
    """

    queues: int = 4
    gpus: int = 8
    load: tuple[float, float] = (0.6, 0.95)
    load_factor: float = 1.0
    durations: tuple[tuple[float, float, float], ...] = ((0.8, SHORTEST, 1e2), (0.2, 1e2, 1e3))
    spread: Spread = "uniform"
    widths: Widths = field(default_factory=lambda: MappingProxyType({1: 0.7, 2: 0.1, 4: 0.15, 8: 0.05}))

    @property
    def mean_duration(self) -> float:
        """Return the mean duration of a job, in minutes."""
        if self.spread == "uniform":
            return sum(p * (low + high) / 2 for p, low, high in self.durations)
        return sum(p * (high - low) / math.log(high / low) for p, low, high in self.durations)

    @property
    def max_jobs_per_minute(self) -> float:
        """Return the jobs a minute that all queues expect at the highest load."""
        width = sum(p * w for w, p in self.widths.items())
        return self.queues * self.gpus * self.load[1] * self.load_factor / (width * self.mean_duration)

    @property
    def mean_burst(self) -> float:
        """Return the expected GPUs of a burst: widths are drawn up to a target that is uniform on 1 to `gpus`."""
        expected = [0.0] * (self.gpus + 1)
        for left in range(1, self.gpus + 1):
            expected[left] = sum(p * (w + (expected[left - w] if w < left else 0.0)) for w, p in self.widths.items())
        return sum(expected) / self.gpus


BASE = SyntheticWorkload()
VARIANTS: Mapping[str, SyntheticWorkload] = MappingProxyType(
    {
        "base": BASE,
        "higher-load": replace(BASE, load_factor=1.05),
        "lower-load": replace(BASE, load_factor=0.75),
        "more-queues": replace(BASE, queues=8),
        "less-queues": replace(BASE, queues=2),
        "more-skewed": replace(BASE, durations=((0.9, SHORTEST, 1e2), (0.1, 1e2, 2e3))),
        "less-skewed": replace(BASE, durations=((1.0, SHORTEST, 3e2),)),
        "more-wide": replace(BASE, widths=MappingProxyType({1: 0.25, 2: 0.25, 4: 0.25, 8: 0.25})),
        "fewer-wide": replace(BASE, widths=MappingProxyType({1: 0.9, 2: 0.033, 4: 0.05, 8: 0.017})),
    }
)


def synthetic(
    variant: str | SyntheticWorkload = "base",
    seed: int = 0,
    *,
    days: float = 3.0,
    slot_minutes: float = 1.0,
    fairness_weight: float = 0.0,
) -> Instance[SiaOracle]:
    """Draw an instance of the workload of Appendix A.1 (`base`) or of a variant of Appendix C.

    Bursts come to each queue at exponential gaps that give the queue its load; the jobs of a burst are submitted
    together. Submissions and durations are drawn in minutes, the same for every `slot_minutes`, and rounded up to
    whole slots. Raises InputError for an unknown variant or a number out of range.

    - `variant`: name of a workload in VARIANTS, or a workload.
    - `seed`: seed of all that is drawn.
    - `days`: days within which jobs are submitted.
    - `slot_minutes`: length of a slot.
    - `fairness_weight`: weight β of fairness in the objective.
    """
    if isinstance(variant, str) and variant not in VARIANTS:
        raise InputError(f"variant: must be one of {', '.join(VARIANTS)}, got {variant!r}{meant(VARIANTS, variant)}")
    refuse_seed(seed)
    refuse_unless_positive("days", days, LONGEST_DAYS)
    refuse_unless_positive("slot_minutes", slot_minutes)
    workload = VARIANTS[variant] if isinstance(variant, str) else variant
    refuse_too_many("days", days * 1440 * workload.max_jobs_per_minute)
    drawn: list[tuple[float, int, int, float, int]] = []
    for queue, stream in enumerate(np.random.SeedSequence(seed).spawn(workload.queues)):
        drawn += [(t, queue, k, d, w) for k, (t, d, w) in enumerate(_queue(workload, days * 1440.0, stream))]
    if not drawn:
        raise InputError(f"days: no job is submitted in {days:g} days with seed {seed}")
    jobs = [
        {
            "id": f"q{queue}-{k}",
            "pool": f"q{queue}",
            "submit": whole_slots(submit, slot_minutes),
            "duration": max(1, whole_slots(duration, slot_minutes)),
            "gpus": width,
        }
        for submit, queue, k, duration, width in sorted(drawn)
    ]
    pools = [{"name": f"q{i}", "gpus": workload.gpus} for i in range(workload.queues)]
    data = {"slot_minutes": slot_minutes, "pools": pools, "jobs": jobs, "fairness_weight": fairness_weight}
    name = variant if isinstance(variant, str) else "custom"
    source = "SIA, Appendix A.1" if name == "base" else "SIA, Appendix C"
    return instance_of(data, f"{name}-{days:g}d-{slot_minutes:g}min-seed-{seed}", source)


def _queue(
    workload: SyntheticWorkload, minutes: float, stream: np.random.SeedSequence
) -> list[tuple[float, float, int]]:
    """Draw (submission, duration, GPUs) of the jobs of one queue."""
    rng = np.random.default_rng(stream)
    load = rng.uniform(*workload.load) * workload.load_factor
    gap = workload.mean_burst * workload.mean_duration / (load * workload.gpus)
    kinds, chances = list(workload.widths), list(workload.widths.values())
    modes = [p for p, _, _ in workload.durations]
    jobs, now = [], rng.exponential(gap)
    while now < minutes:
        target, total = int(rng.integers(1, workload.gpus + 1)), 0
        while total < target:
            width = kinds[rng.choice(len(kinds), p=chances)]
            _, low, high = workload.durations[rng.choice(len(modes), p=modes)]
            if workload.spread == "uniform":
                duration = rng.uniform(low, high)
            else:
                duration = math.exp(rng.uniform(math.log(low), math.log(high)))
            jobs.append((now, float(duration), int(width)))
            total += width
        now += rng.exponential(gap)
    return jobs


@dataclass(frozen=True)
class Queue:
    """A queue of Table 12: GPUs owned, width of the jobs, median of log-normal durations in minutes, load."""

    gpus: int
    width: int
    median: float
    load: float


TABLE_12 = (Queue(3, 1, 86.0, 0.48), Queue(16, 8, 1340.0, 0.63), Queue(2, 1, 2.0, 0.67), Queue(8, 4, 1280.0, 0.65))
"""The four queues of the paper's Table 12; a VM is taken to have one GPU, and jobs to have the median width."""


def four_queues(seed: int = 0, *, days: float = 21.0, sigma: float = 1.5) -> Instance[SiaOracle]:
    """Draw the queues of Table 12 with log-normal durations of the paper's medians and of `sigma`.

    The paper does not publish the durations. Bursts use at most as many GPUs as the queue owns, and come at exponential
    gaps that give the queue its load.
    """
    rows: list[tuple[float, int, float, int]] = []
    for k, (queue, stream) in enumerate(zip(TABLE_12, np.random.SeedSequence(seed).spawn(len(TABLE_12)), strict=True)):
        rng = np.random.default_rng(stream)
        most = queue.gpus // queue.width
        mean_work = queue.width * queue.median * math.exp(sigma**2 / 2) * (most + 1) / 2
        gap = mean_work / (queue.load * queue.gpus)
        now = rng.exponential(gap)
        while now < days * 1440.0:
            for _ in range(int(rng.integers(1, most + 1))):
                rows.append((now, k, float(rng.lognormal(math.log(queue.median), sigma)), queue.width))
            now += rng.exponential(gap)
    jobs = [
        {"id": f"j{i}", "pool": f"q{k}", "submit": int(t) + 1, "duration": max(1, math.ceil(d)), "gpus": width}
        for i, (t, k, d, width) in enumerate(sorted(rows))
    ]
    pools = [{"name": f"q{k}", "gpus": queue.gpus} for k, queue in enumerate(TABLE_12)]
    data = {"slot_minutes": 1.0, "pools": pools, "jobs": jobs}
    return instance_of(data, f"table-12-seed-{seed}", "SIA, Table 12")
