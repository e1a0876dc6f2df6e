"""Draw Eva's families of small instances, with their optima by enumeration in fractions."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

from heuristics.eva import full_reconfiguration, full_reconfiguration_artifact, full_reconfiguration_first, no_packing
from heuristics.eva import round as rounds
from instances import InputError
from instances.eva import EvaPacking, EvaReconfiguration, Running
from models.eva import exact, literal
from models.eva.parameters import EvaExactParameters
from models.eva.reconfiguration import exact_reconfiguration, literal_reconfiguration, short_list
from tests.attacks.families import Family

Counts = tuple[int, ...]  # tasks of each entry
RATES = (0.0, 0.5, 0.8, 0.9, 0.9, 0.95, 0.999999999, 1.0)


class Tasks:
    """The tasks of an instance: what they are worth together, and what an instance of a type can hold."""

    def __init__(self, data: Any) -> None:
        self.data, self.kinds, self.entries = data, data.instance_types, data.tasks
        self.usd = [number(kind.usd_per_hour) for kind in self.kinds]
        alone = [[i == j for j in range(len(self.entries))] for i in range(len(self.entries))]
        self.price = [
            min((usd for k, usd in enumerate(self.usd) if self.holds(k, tuple(map(int, one)))), default=Fraction(0))
            for one in alone
        ]
        self.whole = tuple(task.count for task in self.entries)

    def holds(self, k: int, counts: Counts) -> bool:
        """Return whether an instance of type k may hold these tasks."""
        kind, data = self.kinds[k], self.data
        there = [(n, task) for n, task in zip(counts, self.entries, strict=True) if n]
        for r in data.resources:
            needs = (n * number(task.demand.get(kind.family, task.demand["default"])[r]) for n, task in there)
            if sum(needs) > number(kind.capacity[r]):
                return False
        for n, task in there:
            allowed, most = getattr(task, "allowed_types", None), getattr(task, "max_per_instance", None)
            if (allowed is not None and kind.name not in allowed) or (most is not None and n > most):
                return False
        return all(
            sum(n for n, task in there if _key(task) in group.tasks) <= group.max_per_instance
            for group in getattr(data, "spread", ())
        )

    def contents(self, k: int, left: Counts) -> Iterator[Counts]:
        """Enumerate the sets of the remaining tasks that an instance of type k can hold, the empty set included."""
        return (counts for counts in itertools.product(*(range(n + 1) for n in left)) if self.fits(k, counts))

    @cache  # noqa: B019
    def fits(self, k: int, counts: Counts) -> bool:
        """Return `holds`, cached."""
        return self.holds(k, counts)

    @cache  # noqa: B019
    def worth(self, counts: Counts) -> Fraction:
        """Return the throughput-normalised reservation prices of tasks on one instance (sections 4.3 and 4.4)."""
        throughput = self.data.throughput
        pairs = {(w, o): v for w, o, v in throughput.pairwise} if throughput else {}
        default = throughput.default if throughput else 1.0
        total = Fraction(0)
        for i, n in enumerate(counts):
            rate = Fraction(1)
            for j, others in enumerate(counts if n else ()):
                pair = pairs.get((self.entries[i].workload, self.entries[j].workload), default)
                rate *= number(pair) ** (others - (i == j))
            total += n * (self.price[i] - (1 - rate) * self.job_price(i))
        return total

    def job_price(self, i: int) -> Fraction:
        """Return the reservation prices of all tasks of a task's job, including tasks that are not listed."""
        task = self.entries[i]
        own = [
            (other.count, self.price[j]) for j, other in enumerate(self.entries) if task.job and other.job == task.job
        ]
        own = own or [(1, self.price[i])]
        more = (task.tasks_in_job or 0) - sum(n for n, _ in own)
        return sum((n * usd for n, usd in own), Fraction(0)) + max(0, more) * self.price[i]


def limits(data: EvaPacking) -> list[tuple[set[int], int]]:
    """Return, for each limit of the data, the indices of the types and the maximum number of their instances."""
    most = [(k, kind.max_instances) for k, kind in enumerate(data.instance_types)]
    return [({k}, m) for k, m in most if m is not None]


def packing_optimum(data: EvaPacking) -> Fraction | None:
    """Return the minimum cost or the maximum saving; `None` if the limits leave a task without a place."""
    tasks = Tasks(data)
    saving = data.objective == "net-saving"
    prices: list[list[Fraction]] = []  # of the first instances of a type, the cheapest first
    rows = limits(data)
    for k, (kind, own) in enumerate(zip(data.instance_types, tasks.usd, strict=True)):
        running = [r for r in data.running if r.type == kind.name and r.usd_per_hour is not None]
        of_type = [number(r.usd_per_hour) for r in running for _ in range(r.count)]
        of_type = sorted([min(usd, own) for usd in of_type] + [own] * sum(tasks.whole))
        prices.append(of_type[: min((most for kinds, most in rows if k in kinds), default=None)])

    @cache
    def best(left: Counts, used: Counts) -> Fraction | None:
        """Return the minimum price less value at which the remaining tasks fit in addition to the used instances."""
        if not any(left):
            return Fraction(0)
        first, found = next(i for i, n in enumerate(left) if n), []
        for k, of_type in enumerate(prices):
            if used[k] == len(of_type):
                continue
            more = tuple(n + (i == k) for i, n in enumerate(used))
            if any(sum(more[i] for i in kinds) > most for kinds, most in rows):
                continue
            for counts in tasks.contents(k, left):
                rest = best(_less(left, counts), more) if counts[first] else None
                if rest is not None:
                    found.append(rest + of_type[used[k]] - (tasks.worth(counts) if saving else 0))
        return min(found, default=None)

    least = best(tasks.whole, (0,) * len(prices))
    return -least if saving and least is not None else least


def round_optimum(data: EvaReconfiguration) -> Fraction:
    """Return the maximum value of a round, USD."""
    tasks, horizon = Tasks(data), number(data.horizon_hours)
    place = {kind.name: k for k, kind in enumerate(data.instance_types)}
    kind_of = [place[instance.type] for instance in data.existing]
    before = [tuple(instance.tasks.get(_key(task), 0) for task in data.tasks) for instance in data.existing]
    start = [number(kind.start_usd) for kind in data.instance_types]
    moving = {task.job: number(task.migration_usd) for task in data.tasks if task.job}

    @cache
    def new(left: Counts) -> Fraction:
        """Return the maximum value of new instances with the remaining tasks."""
        if not any(left):
            return Fraction(0)
        first = next(i for i, n in enumerate(left) if n)
        return max(
            new(_less(left, counts)) + horizon * (tasks.worth(counts) - usd) - start[k]
            for k, usd in enumerate(tasks.usd)
            for counts in tasks.contents(k, left)
            if counts[first]
        )

    @cache
    def best(e: int, left: Counts, moved: frozenset[str]) -> Fraction:
        """Return the maximum value from the existing instance e on, if these jobs already move."""
        if e == len(kind_of):
            return new(left) - sum((moving[job] for job in moved), Fraction(0))
        found = []
        for counts in tasks.contents(kind_of[e], left):
            lost = [(max(0, was - n), task) for was, n, task in zip(before[e], counts, data.tasks, strict=True)]
            usd = sum((n * number(task.migration_usd) for n, task in lost if not task.job), Fraction(0))
            more = moved | {task.job for n, task in lost if n and task.job}
            worth = horizon * (tasks.worth(counts) - tasks.usd[kind_of[e]]) if any(counts) else Fraction(0)
            found.append(best(e + 1, _less(left, counts), more) + worth - usd)
        return max(found)

    return best(0, tasks.whole, frozenset())


def number(written: float) -> Fraction:
    """Return the decimal number as it is written."""
    return Fraction(repr(written))


def _key(task: Any) -> str:
    return task.workload if task.job is None else f"{task.workload}@{task.job}"


def _less(left: Counts, taken: Counts) -> Counts:
    return tuple(a - b for a, b in zip(left, taken, strict=True))


def _prices(draw: random.Random) -> Callable[[], float]:
    """Prices of one instance: plain, of nine decimals, a step apart, huge, tiny, or of all of these."""
    base = draw.choice((1.0, 10.0, 1000.0, 1e6))
    styles: list[Callable[[], float]] = [
        lambda: draw.randint(1, 20) / 2,
        lambda: draw.randint(1, 4) * 1.5,
        lambda: round(draw.uniform(0.01, 100.0), 9),
        lambda: round(draw.randint(1, 3) * base + draw.randint(0, 2) * 1e-9, 9),
        lambda: draw.randint(1, 9) * 1e-9,
        lambda: round(10 ** draw.uniform(-9, 6), 9),
    ]
    return draw.choice(styles)


def _amounts(draw: random.Random) -> tuple[Callable[[], float], Callable[[], float]]:
    """Demands and capacities: whole, or with decimals that fit exactly or miss by a step."""
    if draw.random() < 0.6:
        return lambda: draw.choice((0, 1, 1, 1, 2, 2, 3)), lambda: draw.choice((0, 2, 3, 4, 4, 6, 8))
    unit = draw.choice((0.1, 1 / 3, 1e-9, 12345.678901234))
    step = draw.choice((0.0, 1e-9, -1e-9))
    return (
        lambda: round(draw.randint(0, 3) * unit, 9),
        lambda: max(0.0, round(draw.randint(1, 7) * unit + draw.choice((0.0, step)), 9)),
    )


def _long_amounts(draw: random.Random) -> tuple[Callable[[], float], Callable[[], float]]:
    """Amounts of nine decimals, which fit together exactly or miss by a step, and amounts a billion times another."""
    step, base = (0.0, 0.0, 1e-9, -1e-9), draw.choice((1.0, 2.0, 3.999999999))
    pool = draw.choice(
        (
            [round(draw.uniform(0.01, 3.0), 9) for _ in range(3)],
            [0.5, 0.500000001, 0.499999999],
            [1e-9, 2e-9, 1.0, base, 0.999999999, 1.000000001],
        )
    )

    def capacity() -> float:
        together = sum(draw.choice(pool) for _ in range(draw.randint(1, 4)))
        return max(0.0, round(draw.choice((together, together, base)) + draw.choice(step), 9))

    return lambda: draw.choice(pool), capacity


Amounts = Callable[[random.Random], tuple[Callable[[], float], Callable[[], float]]]


def _packed(draw: random.Random, most_tasks: int, most_entries: int, amounts: Amounts = _amounts) -> dict[str, Any]:
    """Types and tasks that every problem of Eva's has."""
    demand, capacity = amounts(draw)
    price = _prices(draw)
    resources = [f"r{i}" for i in range(draw.choice((1, 1, 1, 2, 2, 3)))]
    families = draw.choice(("f", "f", "fg"))
    kinds = [
        {
            "name": f"k{k}",
            "family": draw.choice(families),
            "capacity": {r: capacity() for r in resources},
            "usd_per_hour": max(1e-9, price()),
        }
        for k in range(draw.randint(1, 3))
    ]
    here = sorted({kind["family"] for kind in kinds})
    tasks: list[dict[str, Any]] = []
    left = draw.randint(1, most_tasks)
    while left and len(tasks) < most_entries:
        count = draw.randint(1, min(left, draw.choice((1, 2, 4))))
        needs = {"default": {r: demand() for r in resources}}
        if draw.random() < 0.25:
            needs[draw.choice(here)] = {r: demand() for r in resources}
        tasks.append({"workload": f"w{len(tasks)}", "count": count, "demand": needs})
        left -= count
    return {"resources": resources, "instance_types": kinds, "tasks": tasks}


def _throughput(draw: random.Random, tasks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    rates = draw.choice((RATES, (0.9, 0.95, 1.0), (1.0, 0.9)))
    names = [task["workload"] for task in tasks]
    pairs = [(a, b, draw.choice(rates)) for a in names for b in names if draw.random() < 0.5]
    return {"default": draw.choice((1.0, 1.0, *rates)), "pairwise": pairs}


def _limit(draw: random.Random, data: dict[str, Any]) -> None:
    """Add limits, running instances, allowed types and spreading."""
    kinds, tasks = data["instance_types"], data["tasks"]
    names = [kind["name"] for kind in kinds]
    for kind in kinds:
        if draw.random() < 0.5:
            kind["max_instances"] = draw.choice((0, 1, 1, 2, 3))
    for task in tasks:
        if draw.random() < 0.3:
            task["max_per_instance"] = draw.randint(1, 2)
        if draw.random() < 0.3:
            task["allowed_types"] = draw.sample(names, draw.randint(1, len(names)))
    if draw.random() < 0.5:
        usd = [None, 0.0, *(kind["usd_per_hour"] for kind in kinds), 1e-9, draw.randint(1, 9) / 4]
        data["running"] = [
            {"type": draw.choice(names), "count": draw.randint(1, 2), "usd_per_hour": draw.choice(usd)}
            for _ in range(draw.randint(1, 2))
        ]
    if draw.random() < 0.4:
        keys = [t["workload"] + (f"@{t['job']}" if t.get("job") else "") for t in tasks]
        members = draw.sample(keys, draw.randint(1, len(keys)))
        data["spread"] = [{"tasks": members, "max_per_instance": draw.randint(1, 2)}]


def packing(draw: random.Random, objective: str, amounts: Amounts = _amounts) -> EvaPacking | None:
    """Draw a packing of up to six tasks, with or without the constraints of a user's cluster."""
    data = _packed(draw, most_tasks=6, most_entries=4, amounts=amounts)
    for task in data["tasks"]:
        if draw.random() < 0.4:
            task["job"] = draw.choice("ij")
        if objective == "net-saving" and draw.random() < 0.2:
            task.update(job=f"own{task['workload']}", tasks_in_job=draw.choice((4, 5, 1000)))
    if draw.random() < (0.6 if objective == "cost" else 0.4):
        _limit(draw, data)
    if objective == "net-saving":
        data["throughput"] = _throughput(draw, data["tasks"])
    return _valid(EvaPacking, {**data, "objective": objective})


def paid(draw: random.Random, objective: str) -> EvaPacking | None:
    """Draw a packing into running instances, some or all of them already paid, so that the optimum may be 0."""
    data = packing(draw, objective)
    if data is None:
        return None
    kinds = draw.sample(data.instance_types, draw.randint(1, len(data.instance_types)))
    running = [Running(type=kind.name, count=draw.choice((1, 3, 6)), usd_per_hour=0.0) for kind in kinds]
    return data.with_(running=tuple(running))


def tight(draw: random.Random) -> EvaPacking | None:
    """Two or three classes of tasks on types of which there are just enough, or too few: heuristics fail."""
    sizes = draw.sample(range(1, 10), draw.randint(2, 3))
    tasks = [
        {"workload": f"w{i}", "count": draw.randint(3, 9), "demand": {"default": {"c": size}}}
        for i, size in enumerate(sizes)
    ]
    total, number = sum(task["count"] * task["demand"]["default"]["c"] for task in tasks), draw.randint(2, 3)
    kinds = [
        {
            "name": f"k{k}",
            "family": "f",
            "capacity": {"c": max(sizes) + max(0, total // number - max(sizes)) + draw.randint(-1, 2)},
            "usd_per_hour": draw.randint(1, 9) / 2,
            "max_instances": 1,
        }
        for k in range(number)
    ]
    return _valid(EvaPacking, {"resources": ["c"], "objective": "cost", "instance_types": kinds, "tasks": tasks})


def many(draw: random.Random, times: int = 1) -> EvaPacking | None:
    """Hundreds of tasks of one unit and a few of two, on types of which some are few: patterns too many to list.

    `times`: as many tasks on as much larger instances.
    """
    price = draw.choice((lambda: round(draw.uniform(1.0, 100.0), 9), lambda: round(draw.uniform(1.0, 100.0), 3)))
    kinds = [{"name": f"k{k}", "family": "f", "capacity": {"c": size}} for k, size in enumerate((96, 48, 8, 4))]
    kinds = draw.sample(kinds, draw.randint(2, 3))
    ones, twos = draw.randint(20, 400) * times, draw.randint(0, 5) * times
    for kind in kinds:
        kind["usd_per_hour"] = round(price() * kind["capacity"]["c"] / 48 + 0.5, 9)
        if draw.random() < 0.4:
            kind["max_instances"] = draw.randint(0, 3)
        kind["capacity"]["c"] *= times
    kinds[0]["max_instances"] = 3
    tasks = [("w", ones, 1), ("v", twos, 2)]
    entries = [{"workload": w, "count": n, "demand": {"default": {"c": c}}} for w, n, c in tasks if n]
    return _valid(EvaPacking, {"resources": ["c"], "objective": "cost", "instance_types": kinds, "tasks": entries})


def billions(draw: random.Random) -> EvaPacking | None:
    """Up to billions of tasks on instances that hold millions of them."""
    return many(draw, times=10 ** draw.choice((3, 5, 6)))


def many_optimum(data: EvaPacking) -> Fraction | None:
    """Return the minimum cost of instances with capacity for all pairs, and then for all single units."""
    twos = sum(task.count for task in data.tasks if task.demand["default"]["c"] == 2)
    units = sum(task.count for task in data.tasks) + twos
    size = [int(kind.capacity["c"]) for kind in data.instance_types]
    usd = [number(kind.usd_per_hour) for kind in data.instance_types]
    most = [-(-units // c) for c in size]  # sizes are even: enough units are enough pairs
    most = [
        m if k.max_instances is None else min(m, k.max_instances)
        for m, k in zip(most, data.instance_types, strict=True)
    ]
    found = []
    for used in itertools.product(*(range(m + 1) for m in most[:-1])):
        left = units - sum(n * c for n, c in zip(used, size[:-1], strict=True))
        last = max(0, -(-left // size[-1]))
        if last <= most[-1]:
            found.append(sum((n * p for n, p in zip((*used, last), usd, strict=True)), Fraction(0)))
    return min(found, default=None)


def round_(draw: random.Random) -> EvaReconfiguration | None:
    """Draw a round of up to six tasks, up to three existing instances, and jobs with tasks of several entries."""
    data = _packed(draw, most_tasks=6, most_entries=4)
    kinds, tasks = data["instance_types"], data["tasks"]
    price = _prices(draw) if draw.random() < 0.5 else lambda: draw.choice((0.0, 0.25, 1.0, 2.0))
    for kind in kinds:
        kind["start_usd"] = draw.choice((0.0, 0.0, price()))
    migration = {job: price() for job in "ij"}
    for task in tasks:
        job = draw.choice((None, "i", "i", "j"))
        usd = draw.choice((0.0, price(), price())) if job is None else migration[job]
        task.update(migration_usd=usd, **({} if job is None else {"job": job}))
        if job is None and draw.random() < 0.2:
            task.update(job=f"own{task['workload']}", tasks_in_job=draw.choice((4, 1000)))
    data["throughput"] = _throughput(draw, tasks)
    data["horizon_hours"] = draw.choice((0.0, 1e-9, 0.25, 0.5, 1.0, 1.0, 10.0, 720.0))
    waiting = [task for task in tasks for _ in range(task["count"])]
    draw.shuffle(waiting)
    existing = []
    for e in range(draw.choice((0, 1, 1, 2, 3))):
        kind, most, held = draw.choice(kinds), draw.randint(1, 5), list[str]()
        room = {r: number(amount) for r, amount in kind["capacity"].items()}
        for task in list(waiting):
            needs = {r: number(q) for r, q in task["demand"].get(kind["family"], task["demand"]["default"]).items()}
            if len(held) < most and all(needs[r] <= room[r] for r in room):
                room = {r: room[r] - needs[r] for r in room}
                held.append(_key_of(task))
                waiting.remove(task)
        if held:
            counted = {key: held.count(key) for key in dict.fromkeys(held)}
            existing.append({"id": f"e{e}", "type": kind["name"], "tasks": counted})
    return _valid(EvaReconfiguration, {**data, "existing": existing})


def _key_of(task: dict[str, Any]) -> str:
    return task["workload"] + (f"@{task['job']}" if "job" in task else "")


def _valid(kind: type[Any], data: dict[str, Any]) -> Any:
    try:
        return kind.model_validate(data)
    except InputError:  # a task that fits nowhere, an instance too full, or sums beyond 64 bits
        return None


GENERATED = EvaExactParameters(saving_patterns=0)
PRICED = EvaExactParameters(branch_and_price=replace(EvaExactParameters().branch_and_price, listed_patterns=0))
PACKERS = {
    "no-packing": no_packing,
    "full-reconfiguration": full_reconfiguration,
    "full-reconfiguration-first": full_reconfiguration_first,
    "full-reconfiguration-artifact": full_reconfiguration_artifact,
}

FAMILIES = (
    Family(
        "eva-packing cost",
        partial(packing, objective="cost"),
        packing_optimum,
        methods={"exact": exact, "exact, no list": partial(exact, parameters=PRICED)},
        slow={"literal": literal},
        heuristics=PACKERS,
    ),
    Family(
        "eva-packing cost, long amounts",
        partial(packing, objective="cost", amounts=_long_amounts),
        packing_optimum,
        methods={"exact": exact},
        slow={"literal": literal},
    ),
    Family("eva-packing cost, many tasks", many, many_optimum, methods={"exact": exact}, heuristics=PACKERS),
    Family("eva-packing cost, billions of tasks", billions, many_optimum, methods={"exact": exact}),
    Family("eva-packing cost, paid for", partial(paid, objective="cost"), packing_optimum, methods={"exact": exact}),
    Family("eva-packing cost, tight limits", tight, packing_optimum, methods={"exact": exact}, heuristics=PACKERS),
    Family(
        "eva-packing net-saving, paid for",
        partial(paid, objective="net-saving"),
        packing_optimum,
        methods={"exact": exact},
    ),
    Family(
        "eva-packing net-saving",
        partial(packing, objective="net-saving"),
        packing_optimum,
        methods={"exact": exact, "exact, generated": partial(exact, parameters=GENERATED)},
        heuristics=PACKERS,
    ),
    Family(
        "eva-reconfiguration",
        round_,
        round_optimum,
        methods={"exact": exact_reconfiguration, "short-list": short_list},
        slow={"literal": literal_reconfiguration},
        heuristics={f.method.name: f for f in (rounds.stay, rounds.full, rounds.partial, rounds.eva_choice)},
    ),
)
