"""What the tasks on an instance are worth: throughput-normalised reservation prices by the tasks' keys."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from instances import InputError
from instances.eva import EvaPacking, Task, packing_arrays


class Worth:
    """Values of sets of tasks of `data`, in USD/h."""

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
        """Tasks of this key in the cluster; none where the key is unknown."""
        return self._tasks[key].count if key in self._tasks else 0

    def job_size(self, task: Task) -> int | None:
        """Tasks in the job of `task`; `None` where it has no job and says nothing of its size."""
        if task.tasks_in_job is not None or task.job is None:
            return task.tasks_in_job
        return self._size[task.job]

    def price(self, instance_type: str) -> float:
        """Price of an instance type. Raises InputError where it is unknown."""
        if instance_type not in self._price:
            raise InputError(f"current configuration: unknown instance type {instance_type!r}")
        return self._price[instance_type]

    def saving(self, instance_type: str, tasks: Mapping[str, int]) -> float:
        """TNRP(T) - C_k: what the tasks on one instance are worth beyond its price."""
        on_it = np.zeros(self.arrays.classes, dtype=np.int64)
        for key, k in tasks.items():
            if key not in self._class:
                raise InputError(f"current configuration: unknown task {key!r}")
            on_it[self._class[key]] += k
        return float(self.arrays.value(on_it)) * float(self.arrays.price_unit) - self.price(instance_type)
