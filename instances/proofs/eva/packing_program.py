"""The packing that the programs of Eva's proofs share: amounts in whole steps, and numbers of instances by pattern.

A pattern is the set of tasks on an instance. The program of the cost has its dual in a certificate of its own form
(`certificate.py`). The programs of the net saving and of a round are written to VIPR files, with their patterns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from instances.eva.constraints import OwnResource
from instances.eva.packing import PackedTasks
from instances.fields import steps
from instances.proofs.vipr import Direction, ProgramBuilder


class PackingAmounts:
    """Amounts in steps of the grid: `demand` (F, T, R) by family and entry, `capacity` (K, R), and `family` (K,).

    `own`: the resources that represent constraints; they follow those of the data.
    """

    def __init__(self, data: PackedTasks, own: Sequence[OwnResource] = ()) -> None:
        families = data.families
        self.family = [families.index(kind.family) for kind in data.instance_types]
        self.demand = [
            [
                [*(steps(task.demand_on(family)[r]) for r in data.resources), *(o.demand[t] for o in own)]
                for t, task in enumerate(data.tasks)
            ]
            for family in families
        ]
        self.capacity = [
            [*(steps(kind.capacity[r]) for r in data.resources), *(o.capacity[k] for o in own)]
            for k, kind in enumerate(data.instance_types)
        ]

    def need(self, k: int) -> Sequence[Sequence[int]]:
        """Return the demand (T, R) of a task of each entry on type k."""
        return self.demand[self.family[k]]


class PatternProgram(ProgramBuilder):
    """A program in which integers count the instances that hold each pattern; `count` tasks of each entry exist."""

    def __init__(self, count: Sequence[int]) -> None:
        super().__init__()
        self.count = count
        self._on: list[dict[int, int]] = [{} for _ in count]
        self._numbers = Counter[str]()

    def add_pattern(self, prefix: str, on_it: Mapping[int, int], net: Fraction, most: int | None = None) -> int:
        """Add the number of instances that hold the tasks `on_it`, by entry, each worth `net`; return its index.

        - `prefix`: its name without the number of the pattern.
        - `most`: its upper bound; by default as many as the tasks suffice for.
        """
        if most is None:
            most = min(self.count[t] // n for t, n in on_it.items() if n)
        i = self.add_variable(f"{prefix}_{self._numbers[prefix]}", most, net)
        self._numbers[prefix] += 1
        for t, n in on_it.items():
            self._on[t][i] = n
        return i

    def add_task_rows(self, direction: Direction) -> None:
        """Add the rows `tasks_t` that limit or fix the tasks of each entry on instances to their number."""
        for t, (n, on) in enumerate(zip(self.count, self._on, strict=True)):
            if any(on.values()):
                self.add_row(f"tasks_{t}", direction, n, on)

    def add_type_row(self, k: int, patterns: Iterable[int], provided: Iterable[int]) -> None:
        """Add the row `type_k`: the `patterns` of type k use as many instances as the variables `provided` count."""
        self.add_row(f"type_{k}", "E", 0, dict.fromkeys(patterns, 1) | dict.fromkeys(provided, -1))
