"""Partial Reconfiguration, and the criterion that chooses between it and Full Reconfiguration (section 4.5).

Both use throughput-normalised reservation prices (TNRP, sections 4.2 to 4.4) of the tasks on rented instances. The
criterion is equation (1): S_F D - M_F > S_P D - M_P.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from heuristics.eva.reconfiguration import ROUNDING, TieBreak, reconfigure
from instances import InputError
from instances.eva import EvaPacking, RentedInstance, Task, continue_instances, packing_arrays


class ReservationPrices:
    """Reservation prices of sets of tasks of `data`, by the keys of the tasks, in USD/h."""

    def __init__(self, data: EvaPacking) -> None:
        self.arrays = packing_arrays(data)
        self._tasks = {task.key: task for task in data.tasks}
        self._class = {data.tasks[i].key: c for c, entries in enumerate(self.arrays.members) for i in entries}
        self._price = {kind.name: kind.usd_per_hour for kind in data.instance_types}
        self._size: dict[str, int] = {}
        for task in data.tasks:
            if task.job is not None:
                self._size[task.job] = self._size.get(task.job, 0) + task.count

    def count(self, key: str) -> int:
        """Return the number of tasks of a key in the cluster, 0 for an unknown key."""
        return self._tasks[key].count if key in self._tasks else 0

    def job_size(self, task: Task) -> int | None:
        """Return the number of tasks in the job of `task`; `None` if it has no job and no given number."""
        if task.tasks_in_job is not None or task.job is None:
            return task.tasks_in_job
        return self._size[task.job]

    def price(self, instance_type: str) -> float:
        """Return the price of an instance type, USD/h; raises InputError for an unknown type."""
        if instance_type not in self._price:
            raise InputError(f"current configuration: unknown instance type {instance_type!r}")
        return self._price[instance_type]

    def saving(self, instance: RentedInstance) -> float:
        """Return the saving TNRP(T) - C_k of an instance, USD/h: the TNRP of its tasks less the price of its type.

        Raises InputError for an unknown task or type.
        """
        on_it = np.zeros(self.arrays.classes, dtype=np.int64)
        for key, k in instance.tasks.items():
            if key not in self._class:
                raise InputError(f"current configuration: unknown task {key!r}")
            on_it[self._class[key]] += k
        return float(self.arrays.value(on_it)) * float(self.arrays.price_unit) - self.price(instance.instance_type)


def partial_reconfiguration(
    data: EvaPacking, current: Sequence[RentedInstance], tie_break: TieBreak = "alignment"
) -> tuple[RentedInstance, ...]:
    """Run Partial Reconfiguration (section 4.5), which keeps the current instances that pay.

    An instance pays if the TNRP of its tasks reaches the price of its type. The tasks of other instances, and the tasks
    of `data` that are not in `current`, are placed by Algorithm 1. Instances without tasks are terminated.

    - `current`: rented instances, without tasks that have ended.
    - `tie_break`: rule for ties of Algorithm 1.

    Return the kept instances, in order and with their ids, and then the new ones, without ids. Raises InputError if
    `current` has a task or type that is not in `data`, or too many of a task. It also raises InputError for limits of
    instances and prices of running ones, which the method does not handle.
    """
    if data.has_limits:
        raise InputError("data: Partial Reconfiguration supports neither limits of instances nor running instances")
    prices = ReservationPrices(data)
    placed = Counter[str]()
    for hosted in current:
        placed.update(hosted.tasks)
    for key, k in placed.items():
        if k > prices.count(key):
            raise InputError(f"current configuration: {k} tasks {key} on instances, {prices.count(key)} in the cluster")
    kept = [h for h in current if any(h.tasks.values()) and prices.saving(h) >= -ROUNDING]
    staying = Counter[str]()
    for hosted in kept:
        staying.update(hosted.tasks)
    moved = [
        # The size of a task's job is that of all its tasks, including those that stay.
        task.model_copy(update={"count": task.count - staying[task.key], "tasks_in_job": prices.job_size(task)})
        for task in data.tasks
        if task.count > staying[task.key]
    ]
    if not moved:
        return tuple(kept)
    subset = packing_arrays(data.model_copy(update={"tasks": tuple(moved)}))
    groups = subset.solution(reconfigure(subset, tie_break))["instances"]
    new = (RentedInstance(group["type"], group["tasks"]) for group in groups for _ in range(group["count"]))
    return (*kept, *new)


SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True)
class MigrationDelays:
    """Migration delays in seconds (Table 1): of an instance until it is ready, and of each task by key."""

    ready_s: float
    checkpoint_s: Mapping[str, float]
    launch_s: Mapping[str, float]


def provision_saving(data: EvaPacking, configuration: Sequence[RentedInstance]) -> float:
    """Return the provision saving S of a configuration, USD/h: the sum over instances of TNRP(T) - C_k.

    Raises InputError for an unknown task or type.
    """
    prices = ReservationPrices(data)
    return math.fsum(prices.saving(instance) for instance in configuration)


def migration_cost(
    data: EvaPacking, current: Sequence[RentedInstance], planned: Sequence[RentedInstance], delays: MigrationDelays
) -> float:
    """Return the migration cost M (section 4.5), USD: the price of instances while tasks that move are not running.

    A planned instance continues a current one as in `instances.eva.continue_instances`: by id, or by tasks in common.
    Each instance that loses tasks is paid while the slowest of them is checkpointed. Each instance that gains tasks is
    paid while the slowest of them is launched, and a new one until it is ready. Raises InputError as
    `continue_instances` does, for an unknown type, and for a task that moves and has no delay.
    """
    prices = ReservationPrices(data)
    after = continue_instances(current, planned)
    before = {instance.id: instance for instance in current}
    seconds_of: list[tuple[str, float]] = []
    for new in after:
        old = None if new.id is None else before.pop(new.id)
        held: Mapping[str, int] = old.tasks if old else {}
        seconds = 0.0 if old else delays.ready_s
        seconds += _slowest(delays.launch_s, (key for key, k in new.tasks.items() if k > held.get(key, 0)))
        seconds += _slowest(delays.checkpoint_s, (key for key, k in held.items() if k > new.tasks.get(key, 0)))
        seconds_of.append((new.instance_type, seconds))
    for given_up in before.values():
        seconds = _slowest(delays.checkpoint_s, (key for key, k in given_up.tasks.items() if k))
        seconds_of.append((given_up.instance_type, seconds))
    return math.fsum(seconds / SECONDS_PER_HOUR * prices.price(name) for name, seconds in seconds_of)


def _slowest(delay_s: Mapping[str, float], keys: Iterable[str]) -> float:
    """Return the longest delay of some tasks in seconds, 0 for none; raises InputError for a task without a delay."""
    slowest = 0.0
    for key in keys:
        if key not in delay_s:
            raise InputError(f"delays: none for task {key!r}")
        slowest = max(slowest, delay_s[key])
    return slowest


def expected_duration(events_per_hour: float, probability: float) -> float:
    """Return D-hat = -1 / (lambda ln(1 - p)), the expected hours to the next Full Reconfiguration (section 4.5).

    - `events_per_hour`: lambda, the rate of arrivals and completions.
    - `probability`: p, the probability that one of them triggers a Full Reconfiguration.

    Raises InputError unless lambda > 0 and 0 <= p <= 1.
    """
    if not (math.isfinite(events_per_hour) and events_per_hour > 0):
        raise InputError(f"events_per_hour: must be > 0, got {events_per_hour}")
    if not 0 <= probability <= 1:
        raise InputError(f"probability: must be in [0, 1], got {probability}")
    if probability == 0:
        return math.inf
    if probability == 1:
        return 0.0
    return -1.0 / (events_per_hour * math.log1p(-probability))


def prefers_full(
    saving_full: float, cost_full: float, saving_partial: float, cost_partial: float, duration_hours: float
) -> bool:
    """Return whether Full Reconfiguration pays more than Partial Reconfiguration, by equation (1) of section 4.5.

    - `saving_full`, `saving_partial`: provision savings S_F and S_P, USD/h.
    - `cost_full`, `cost_partial`: migration costs M_F and M_P, USD.
    - `duration_hours`: expected duration D of the configuration, hours. If it is infinite, the larger saving wins, and
      at equal savings the smaller migration cost.
    """
    if math.isinf(duration_hours):
        return (saving_full, -cost_full) > (saving_partial, -cost_partial)
    return saving_full * duration_hours - cost_full > saving_partial * duration_hours - cost_partial
