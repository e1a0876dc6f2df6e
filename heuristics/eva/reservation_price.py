"""Throughput-normalised reservation prices (TNRP, sections 4.2 to 4.4) of the tasks on rented instances."""

from __future__ import annotations

import numpy as np

from instances import InputError
from instances.eva import EvaPacking, RentedInstance, Task, packing_arrays


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
        """The number of tasks of a key in the cluster, 0 where the key is unknown."""
        return self._tasks[key].count if key in self._tasks else 0

    def job_size(self, task: Task) -> int | None:
        """The number of tasks in the job of `task`; `None` where the task has no job and does not say."""
        if task.tasks_in_job is not None or task.job is None:
            return task.tasks_in_job
        return self._size[task.job]

    def price(self, instance_type: str) -> float:
        """Price of an instance type, USD/h. Raises InputError for an unknown type."""
        if instance_type not in self._price:
            raise InputError(f"current configuration: unknown instance type {instance_type!r}")
        return self._price[instance_type]

    def saving(self, instance: RentedInstance) -> float:
        """Saving TNRP(T) - C_k of an instance, USD/h: the TNRP of the tasks there less the price of the type.

        Raises InputError for an unknown task or type.
        """
        on_it = np.zeros(self.arrays.classes, dtype=np.int64)
        for key, k in instance.tasks.items():
            if key not in self._class:
                raise InputError(f"current configuration: unknown task {key!r}")
            on_it[self._class[key]] += k
        return float(self.arrays.value(on_it)) * float(self.arrays.price_unit) - self.price(instance.instance_type)
