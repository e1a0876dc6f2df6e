"""Check solutions of Eva's problems independently: feasibility and objective from the data, in rational arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from decimal import Context
from fractions import Fraction
from functools import lru_cache
from operator import le
from typing import Any

from instances.errors import MalformedSolution
from instances.eva.packing import EvaPacking, PackedTasks, PricedType, Task, TaskEntry
from instances.eva.reconfiguration import EvaReconfiguration
from instances.fields import LARGEST, STEPS, Verdict, steps
from instances.options import Solution
from instances.validation import show

MANY = 1_000  # With more tasks, a throughput is computed to `DIGITS` instead of as a fraction.
DIGITS = 100  # Decimal digits of the throughput with many tasks.


def check_packing(data: EvaPacking, solution: Solution) -> Verdict:
    """Check `{"instances": [{"type": name, "count": n, "tasks": {workload or workload@job: k}}]}`.

    Every task must be on exactly one instance of an allowed type. No instance may exceed its capacity or the limit of a
    group of tasks, and no limit on the number of instances may be exceeded. The cheapest instances of a type are used
    first, which are the running ones with a price below that of the type. The objective is recomputed in rational
    numbers. With more than a thousand tasks on one instance, throughputs have a hundred digits. Raises
    MalformedSolution.
    """
    book = Book(data)
    placed = dict.fromkeys(book.tasks, 0)
    used, value = Counter[str](), Fraction(0)
    violations: list[str] = []
    for group in groups_of(solution):
        if group["type"] not in book.kinds:
            raise MalformedSolution(f"unknown instance type {group['type']!r:.80}")
        for key, k in group["tasks"].items():
            if key not in placed:
                raise MalformedSolution(f"unknown task {key!r:.80}")
            placed[key] += k * group["count"]
        kind, on_it = book.kinds[group["type"]], {key: k for key, k in group["tasks"].items() if k}
        violations += book.overfull(kind, on_it) + _check_places(data, book, kind, on_it)
        used[kind.name] += group["count"]
        if data.objective == "net-saving":
            value += group["count"] * book.worth(on_it)
    violations += book.misplaced(placed)
    for limit in data.limits:
        names = [data.instance_types[k].name for k in limit.types]
        if (together := sum(used[name] for name in names)) > limit.most:
            violations.append(f"{together} instances of {', '.join(names)}, at most {limit.most}")
    cost = _cost(data, used)
    return Verdict(float(cost if data.objective == "cost" else value - cost), tuple(violations))


def _check_places(data: EvaPacking, book: Book, kind: PricedType, on_it: Mapping[str, int]) -> list[str]:
    """Return violations of allowed types, and of limits on groups of tasks on an instance."""
    found = [f"task {key} is on a {kind.name}, which it may not use" for key in on_it if not book.is_allowed(key, kind)]
    for key, k in on_it.items():
        most = data.tasks[book.place[key]].max_per_instance
        if most is not None and k > most:
            found.append(f"a {kind.name} holds {k} tasks {key}, at most {most}")
    for group in data.spread:
        together = sum(on_it.get(key, 0) for key in group.tasks)
        if together > group.max_per_instance:
            names = f"{group.tasks[0]}, ..." if len(group.tasks) > 1 else group.tasks[0]
            found.append(f"a {kind.name} holds {together} tasks of {names}, at most {group.max_per_instance}")
    return found


def _cost(data: EvaPacking, used: Mapping[str, int]) -> Fraction:
    """Return the price of `used` instances of each type, the cheapest running ones first."""
    cost = Fraction(0)
    for kind in data.instance_types:
        left, own = used.get(kind.name, 0), exact(kind.usd_per_hour)
        running = [r for r in data.running if r.type == kind.name and r.usd_per_hour is not None]
        for price, count in sorted((exact(r.usd_per_hour or 0.0), r.count) for r in running):
            if price < own:
                cost += min(left, count) * price
                left -= min(left, count)
        cost += left * own
    return cost


def groups_of(solution: Solution) -> list[dict[str, Any]]:
    """Return the instances of a solution and check their form. Raises MalformedSolution."""
    groups = solution.get("instances") if isinstance(solution, Mapping) else None
    if not isinstance(groups, list | tuple):
        raise MalformedSolution("must be an object with the list `instances`")
    for group in groups:
        if not isinstance(group, Mapping) or set(group) != {"type", "count", "tasks"}:
            raise MalformedSolution(f"an instance must have type, count and tasks, got {show(group)}")
        if not isinstance(group["type"], str):
            raise MalformedSolution(f"the type of an instance must be a name, got {show(group['type'])}")
        see_tasks(group["tasks"], group["count"])
    return list(groups)


def see_tasks(tasks: Any, *more: Any) -> None:
    """Raise MalformedSolution unless `tasks` is an object of counts, and `more` are counts."""
    if not isinstance(tasks, Mapping):
        raise MalformedSolution(f"tasks of an instance must be an object, got {show(tasks)}")
    for number in (*more, *tasks.values()):
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= LARGEST:
            raise MalformedSolution(f"counts must be whole numbers of 0 to {LARGEST:g}, got {show(number)}")


class Book:
    """An index of tasks and instance types by name."""

    def __init__(self, data: PackedTasks) -> None:
        self.data = data
        self.kinds = {kind.name: kind for kind in data.instance_types}
        self.tasks = {task.key: task for task in data.tasks}
        self.place = {task.key: i for i, task in enumerate(data.tasks)}
        throughput = data.throughput
        self.default = exact(throughput.default) if throughput else Fraction(1)
        self.pairwise = {(w, o): exact(v) for w, o, v in throughput.pairwise} if throughput else {}
        self._prices: dict[str, Fraction] = {}
        self._cheapest_first = sorted(self.kinds.values(), key=lambda kind: kind.usd_per_hour)
        self._capacity = {
            name: [_steps(kind.capacity[resource]) for resource in data.resources] for name, kind in self.kinds.items()
        }
        self._needs: dict[tuple[str, str], list[int]] = {}
        self._of_job: dict[str, list[TaskEntry]] = {}
        for task in data.tasks:
            if task.job is not None:
                self._of_job.setdefault(task.job, []).append(task)

    def overfull(self, kind: PricedType, on_it: Mapping[str, int]) -> list[str]:
        """Return violations of the capacity of an instance of a type by the tasks `on_it`."""
        used = [0] * len(self.data.resources)
        for key, k in on_it.items():
            for r, need in enumerate(self._need(key, kind.family)):
                used[r] += k * need
        found = []
        for resource, amount, capacity in zip(self.data.resources, used, self._capacity[kind.name], strict=True):
            if amount > capacity:
                holds = float(Fraction(amount, STEPS))
                found.append(f"a {kind.name} holds {holds:g} {resource}, and has {kind.capacity[resource]:g}")
        return found

    def misplaced(self, placed: Mapping[str, int]) -> list[str]:
        """Return violations of the number of tasks of each entry, if `placed` of them are on instances."""
        return [
            f"task {key} is placed {placed[key]} times, not {task.count}"
            for key, task in self.tasks.items()
            if placed[key] != task.count
        ]

    def is_allowed(self, key: str, kind: PricedType) -> bool:
        """Return whether a task is allowed on a type."""
        task = self.tasks[key]
        return not isinstance(task, Task) or task.allowed_types is None or kind.name in task.allowed_types

    def _need(self, key: str, family: str) -> list[int]:
        """Return the demand of a task on a family in steps of the grid, because integers are faster than fractions."""
        need = self._needs.get((key, family))
        if need is None:
            demand = self.tasks[key].demand_on(family)
            need = self._needs[key, family] = [_steps(demand[resource]) for resource in self.data.resources]
        return need

    def normalise_price(self, key: str, on_it: Mapping[str, int]) -> Fraction:
        """Return TNRP(τ, T): RP(τ) less the loss of τ's whole job by co-location on the instance (section 4.4)."""
        return self.price(key) - (1 - self.rate(key, on_it)) * self.job_price(key)

    def worth(self, on_it: Mapping[str, int]) -> Fraction:
        """Return TNRP(T) of the tasks `on_it` on one instance, USD/h (section 4.3)."""
        return sum((k * self.normalise_price(key, on_it) for key, k in on_it.items()), Fraction(0))

    def rate(self, key: str, on_it: Mapping[str, int]) -> Fraction:
        """Return the throughput of a task on the instance: the product of pairwise throughputs (section 4.3)."""
        rate, workload = Fraction(1), self.tasks[key].workload
        for other, k in on_it.items():
            pair = self.pairwise.get((workload, self.tasks[other].workload), self.default)
            rate *= _power(pair, k - (other == key))
        return rate

    def price(self, key: str) -> Fraction:
        """Return RP(τ): the price of the cheapest allowed instance type on which τ fits alone (section 4.2)."""
        if key not in self._prices:
            fitting = (k for k in self._cheapest_first if self.is_allowed(key, k) and self._fits(key, k))
            self._prices[key] = exact(next(fitting).usd_per_hour)
        return self._prices[key]

    def _fits(self, key: str, kind: PricedType) -> bool:
        """Return whether a task fits on an empty instance of a type."""
        return all(map(le, self._need(key, kind.family), self._capacity[kind.name]))

    def job_price(self, key: str) -> Fraction:
        """Return the sum of the reservation prices of all tasks of τ's job; tasks not listed in the data equal τ."""
        task = self.tasks[key]
        if task.job is None:
            return (task.tasks_in_job or 1) * self.price(key)
        listed = self._of_job[task.job]
        known = sum((other.count * self.price(other.key) for other in listed), Fraction(0))
        return known + max(0, (task.tasks_in_job or 0) - sum(other.count for other in listed)) * self.price(key)


def _power(base: Fraction, exponent: int) -> Fraction:
    """Return `base` to an integer power; a large power is rounded, because its fraction has millions of digits."""
    if exponent <= MANY or base in (0, 1):
        return base**exponent
    digits = Context(prec=DIGITS, Emin=-(10**9), Emax=10**9)
    power = digits.power(digits.divide(base.numerator, base.denominator), exponent)
    return Fraction(power) if power.adjusted() > -DIGITS else Fraction(0)


@lru_cache(maxsize=4096)
def exact(number: float) -> Fraction:
    """Return the decimal number as written, not the nearest binary number."""
    return Fraction(repr(number))


@lru_cache(maxsize=4096)
def _steps(number: float) -> int:
    """Return a number of the grid in steps of the grid."""
    return steps(number)


def check_reconfiguration(data: EvaReconfiguration, solution: Solution) -> Verdict:
    """Check `{"existing": {id: {key: k}}, "instances": [{"type": name, "count": n, "tasks": {key: k}}]}`.

    Every task must be on exactly one instance, and no instance may exceed its capacity. An existing instance that is
    missing or has no task is terminated. Raises MalformedSolution.
    """
    book = Book(data)
    kept, groups = _find_kept(data, solution), groups_of(solution)
    kinds = {instance.id: book.kinds[instance.type] for instance in data.existing}
    start_usd = {kind.name: exact(kind.start_usd) for kind in data.instance_types}
    placed = dict.fromkeys(book.tasks, 0)
    saving, started = Fraction(0), Fraction(0)
    violations: list[str] = []
    for tasks in (*kept.values(), *(group["tasks"] for group in groups)):
        for key in tasks:
            if key not in placed:
                raise MalformedSolution(f"unknown task {key!r:.80}")
    rented = [(kinds[name], tasks, 1) for name, tasks in kept.items() if any(tasks.values())]
    for group in groups:
        if group["type"] not in book.kinds:
            raise MalformedSolution(f"unknown instance type {group['type']!r:.80}")
        rented.append((book.kinds[group["type"]], group["tasks"], group["count"]))
        started += group["count"] * start_usd[group["type"]]
    for kind, tasks, count in rented:
        on_it = {key: k for key, k in tasks.items() if k}
        for key, k in on_it.items():
            placed[key] += k * count
        violations += book.overfull(kind, on_it)
        saving += count * (book.worth(on_it) - exact(kind.usd_per_hour))
    violations += book.misplaced(placed)
    total = saving * exact(data.horizon_hours) - started - _migrations(data, kept)
    return Verdict(float(total), tuple(violations))


def _find_kept(data: EvaReconfiguration, solution: Solution) -> Mapping[str, Mapping[str, int]]:
    """Return the new tasks of existing instances."""
    kept: Any = solution.get("existing") if isinstance(solution, Mapping) else None
    if not isinstance(kept, Mapping):
        raise MalformedSolution("must be an object with `existing`, an object")
    known = {instance.id for instance in data.existing}
    for name, tasks in kept.items():
        if name not in known:
            raise MalformedSolution(f"unknown existing instance {name!r:.80}")
        see_tasks(tasks)
    return kept


def _migrations(data: EvaReconfiguration, kept: Mapping[str, Mapping[str, int]]) -> Fraction:
    """Return the migration cost: per task without a job, and once per job if an instance loses any of its tasks."""
    entry = {task.key: task for task in data.tasks}
    total, moved = Fraction(0), set()
    for instance in data.existing:
        now = kept.get(instance.id, {})
        for key, k in instance.tasks.items():
            lost = max(0, k - now.get(key, 0))
            job = entry[key].job
            if lost and job is None:
                total += lost * exact(entry[key].migration_usd)
            elif lost and job not in moved:
                moved.add(job)
                total += exact(entry[key].migration_usd)
    return total
