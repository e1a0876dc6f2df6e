"""Eva's packing in HiGHS: all maximal patterns, each on the cheapest type that holds it, and how many of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version

import numpy as np

from experiments.peers.highs import solve_highs
from instances import Answer, InputError, Options, Report, Solution, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.eva import EvaPacking, PackingArrays, constraints_of, packing_arrays
from instances.eva.arrays import Group
from instances.eva.arrays import contents as contents_of
from instances.eva.packing import Objective
from instances.method import method
from models.core.highs import LinearModel, Solved, solve_arrays
from models.core.safe_bounds import real_bound

Pattern = tuple[int, ...]
"""Tasks of each class on one instance."""


def maximal_patterns(arrays: PackingArrays) -> dict[Pattern, int]:
    """Return the patterns to which no task can be added, and the cheapest type of each."""
    cheapest: dict[Pattern, int] = {}
    price = arrays.price.tolist()
    for kind in range(len(price)):
        for pattern in _maximal_of_type(arrays, kind):
            if kind == cheapest.setdefault(pattern, kind) or price[kind] < price[cheapest[pattern]]:
                cheapest[pattern] = kind
    return cheapest


def _maximal_of_type(arrays: PackingArrays, kind: int) -> Iterator[Pattern]:
    """Depth first over the classes, each with the most tasks first."""
    needs, count = arrays.demand_of_type[kind].tolist(), arrays.count.tolist()

    def compute_max_count(c: int, free: list[int]) -> int:
        return min([count[c], *(f // d for f, d in zip(free, needs[c], strict=True) if d)])

    def extend(pattern: Pattern, free: list[int]) -> Iterator[Pattern]:
        c = len(pattern)
        if c == len(count):
            if any(pattern) and not any(k < count[i] and compute_max_count(i, free) for i, k in enumerate(pattern)):
                yield pattern
            return
        for k in range(compute_max_count(c, free), -1, -1):
            yield from extend((*pattern, k), [f - k * d for f, d in zip(free, needs[c], strict=True)])

    yield from extend((), arrays.capacity[kind].tolist())


def build_patterns(data: EvaPacking) -> tuple[LinearModel, Callable[[FloatArray], Solution]]:
    """minimise Σ_p c_p y_p where Σ_p a_pi y_p >= n_i for each class i of n_i tasks, y_p whole."""
    arrays = packing_arrays(data)
    found = maximal_patterns(arrays)
    patterns, kinds = list(found), list(found.values())
    return covering(arrays, patterns, kinds)


def covering(
    arrays: PackingArrays, patterns: list[Pattern], kinds: list[int]
) -> tuple[LinearModel, Callable[[FloatArray], Solution]]:
    """Return the model over some patterns, each on its type. Its objective is in price units."""
    model = LinearModel(
        cost=arrays.price[kinds].astype(float),
        matrix=np.array(patterns, dtype=float).T,
        row_lower=arrays.count.astype(float),
        row_upper=np.inf,
        integer=True,
    )

    def read(x: FloatArray) -> Solution:
        copies = {p: round(number) for p, number in enumerate(x.tolist()) if number > 0.5}
        return arrays.solution(_drop_surplus(arrays, [(kinds[p], patterns[p], n) for p, n in copies.items()]))

    return model, read


def _drop_surplus(arrays: PackingArrays, covered: list[tuple[int, Pattern, int]]) -> Iterator[Group]:
    """Return the instances of a cover, with tasks as long as there are any."""
    left = arrays.count.tolist()
    for kind, pattern, copies in covered:
        for _ in range(copies):
            held: Mapping[int, int] = {c: min(k, left[c]) for c, k in enumerate(pattern) if min(k, left[c])}
            for c, k in held.items():
                left[c] -= k
            if held:
                yield kind, held, 1


def refuse_other_packings(data: EvaPacking, objective: Objective = "cost") -> None:
    """Raise InputError for a packing with another objective, or with constraints beyond capacities."""
    if data.objective != objective:
        raise InputError(f"data.objective: must be {objective} for this peer, got {data.objective}")
    for name in constraints_of(data):
        raise InputError(f"data.{name}: this peer has no such constraint")


@method("exact")
def patterns(data: EvaPacking, options: Options, report: Report) -> Answer:
    """Solve the packing by HiGHS over all maximal patterns."""
    refuse_other_packings(data)
    return solve_highs(build_patterns, data, options, report, float(packing_arrays(data).price_unit))


MOST = 1_000_000  # contents of a type that are listed


class TooManyContents(Exception):
    """An instance type holds more contents than are listed."""


def saving_contents(arrays: PackingArrays) -> dict[Pattern, tuple[float, int]]:
    """Return the contents that save something, each with its largest saving, in price units, and the type."""
    data = arrays.data
    class_of = {entry: c for c, entries in enumerate(arrays.members) for entry in entries}
    best: dict[Pattern, tuple[float, int]] = {}
    for kind, place in enumerate(arrays.type_of):
        listed = contents_of(data, data.instance_types[place], MOST)
        if listed is None:
            raise TooManyContents(f"{data.instance_types[place].name} holds more than {MOST:,} contents")
        held = np.zeros((len(listed), arrays.classes), dtype=np.int64)
        for row, content in zip(held, listed, strict=True):
            for entry, k in content.items():
                row[class_of[entry]] += k
        saved = arrays.value(held) - arrays.price[kind]
        for p in np.flatnonzero(saved > 0).tolist():
            pattern = tuple(held[p].tolist())
            best[pattern] = max(best.get(pattern, (0.0, kind)), (float(saved[p]), kind))
    return best


def build_contents(data: EvaPacking) -> tuple[LinearModel, Callable[[FloatArray], Solution]]:
    """maximise Σ_p s_p y_p where Σ_p a_pi y_p <= n_i for each class i of n_i tasks, y_p whole.

    A task in none of these contents is alone on its cheapest type, which saves nothing.
    """
    arrays = packing_arrays(data)
    found = saving_contents(arrays)
    patterns, (saved, kinds) = list(found), zip(*found.values(), strict=True) if found else ((), ())
    model = LinearModel(
        cost=np.array(saved, dtype=float),
        matrix=np.array(patterns, dtype=float).reshape(-1, arrays.classes).T,
        row_lower=-np.inf,
        row_upper=arrays.count.astype(float),
        integer=True,
        sense="maximize",
    )

    def read(x: FloatArray) -> Solution:
        copies = {p: round(number) for p, number in enumerate(x.tolist()) if number > 0.5}
        groups = [(kinds[p], {c: k for c, k in enumerate(patterns[p]) if k}, n) for p, n in copies.items()]
        alone = arrays.count - sum((n * np.array(patterns[p]) for p, n in copies.items()), np.zeros_like(arrays.count))
        cheapest = zip(arrays.cheapest_type.tolist(), alone.tolist(), strict=True)
        return arrays.solution([*groups, *((kind, {c: 1}, n) for c, (kind, n) in enumerate(cheapest) if n)])

    return model, read


@method("exact")
def contents(data: EvaPacking, options: Options, report: Report) -> Answer:
    """Solve the net saving by HiGHS over all contents; no solution if they are too many to list."""
    refuse_other_packings(data, "net-saving")
    try:
        return solve_highs(build_contents, data, options, report, float(packing_arrays(data).price_unit))
    except TooManyContents as error:
        return Answer(None, reason=str(error))


FOR_COLUMNS = 0.75  # of the time limit, the rest being for the integer program
OVER_COLUMNS = "an integer program over the columns found"
CLOSED = 1e-6  # relative: the linear program and its bound are one


def build_pricing(arrays: PackingArrays, kind: int, dual: FloatArray) -> LinearModel:
    """maximise Σ_i π_i a_i where Σ_i d_ir a_i <= q_r for each resource r of the type, a_i <= n_i whole."""
    holds = arrays.fits[kind]
    return LinearModel(
        cost=dual,
        matrix=arrays.demand_of_type[kind].T.astype(float),
        row_lower=-np.inf,
        row_upper=arrays.capacity[kind].astype(float),
        upper=np.where(holds, arrays.count, 0).astype(float),
        integer=True,
        sense="maximize",
    )


class _Columns:
    """The columns of the restricted master, at first each class alone on its cheapest type."""

    def __init__(self, arrays: PackingArrays, options: Options) -> None:
        self.arrays, self.options = arrays, options
        self.patterns: list[Pattern] = []
        self.kinds: list[int] = []
        self.known: set[tuple[int, Pattern]] = set()
        self.bound = 0.0
        for c, kind in enumerate(arrays.cheapest_type.tolist()):
            needs, room = arrays.demand_of_type[kind, c], arrays.capacity[kind]
            most = min([int(arrays.count[c]), *(int(q // d) for q, d in zip(room, needs, strict=True) if d)])
            self._add(kind, tuple(most if i == c else 0 for i in range(arrays.classes)))

    def _add(self, kind: int, pattern: Pattern) -> bool:
        new = (kind, pattern) not in self.known
        if new:
            self.known.add((kind, pattern))
            self.patterns.append(pattern)
            self.kinds.append(kind)
        return new

    def _solve(self, model: LinearModel, seconds: float) -> Solved:
        limit = None if self.options.time_limit is None else max(1e-3, seconds)
        return solve_arrays(model, replace(self.options, time_limit=limit, gap=0.0))

    def generate(self, seconds: float) -> None:
        """Price columns until no type has any or the time is gone: greedily, and exactly where that finds none.

        Exact pricing goes from type to type, from where the last column was found. Σ_i π_i n_i over the most that any
        type's content is worth of its price is a bound (Farley, 1990).
        """
        until, kinds = Stopwatch(seconds), len(self.arrays.price)
        turn, worth = 0, list[float]()
        master = self._master(until)
        while master.duals is not None and len(worth) < kinds and not until.has_expired:
            new = sum(self._pays(kind, self._greedy(kind, master.duals), master.duals) for kind in range(kinds))
            if not new:
                kind, turn = turn % kinds, turn + 1
                priced = self._solve(build_pricing(self.arrays, kind, master.duals), until.remaining_s)
                worth.append(self._worth(priced, kind))
                new = priced.x is not None and self._pays(kind, np.rint(priced.x).astype(np.int64), master.duals)
            if new:
                again = self._master(until)
                if again.duals is None:  # out of time: the last one that was solved has a bound
                    break
                master, worth = again, []
        if master.duals is not None and master.objective is not None:
            if len(worth) < kinds:  # the linear programs of the contents have bounds, too
                relaxed = (replace(build_pricing(self.arrays, k, master.duals), integer=False) for k in range(kinds))
                worth = [self._worth(self._solve(one, seconds), k) for k, one in enumerate(relaxed)]
            self.bound = real_bound(master.objective / max(1.0, *worth))

    def _greedy(self, kind: int, dual: FloatArray) -> IntArray:
        """Return a content of a type: those first that are worth most for what they take of it."""
        needs, free = self.arrays.demand_of_type[kind], self.arrays.capacity[kind].copy()
        held = np.zeros(self.arrays.classes, dtype=np.int64)
        size = (needs / np.maximum(free, 1)).sum(axis=1)
        for c in np.argsort(-dual / np.maximum(size, 1e-12), kind="stable"):
            if self.arrays.fits[kind, c] and dual[c] > 0:
                fitting = [int(f // d) for f, d in zip(free, needs[c], strict=True) if d]
                held[c] = min([int(self.arrays.count[c]), *fitting])
                free -= held[c] * needs[c]
        return held

    def _pays(self, kind: int, held: IntArray, dual: FloatArray) -> bool:
        """Whether a content is worth more than its price, and a new column."""
        return float(held @ dual) > self.arrays.price[kind] * (1 + CLOSED) and self._add(kind, tuple(held.tolist()))

    def _worth(self, priced: Solved, kind: int) -> float:
        """Return the most that a content of a type is worth of its price."""
        most = np.inf if priced.bound is None else real_bound(priced.bound, "maximize")
        return float(most / self.arrays.price[kind])

    def _master(self, until: Stopwatch) -> Solved:
        """Return the linear program over the columns."""
        model, _ = covering(self.arrays, self.patterns, self.kinds)
        return self._solve(replace(model, integer=False), until.remaining_s)


@method("exact")
def columns(data: EvaPacking, options: Options, report: Report) -> Answer:
    """Solve the packing by column generation."""
    refuse_other_packings(data)
    with Stopwatch(options.time_limit) as clock:
        arrays = packing_arrays(data)
        made = _Columns(arrays, options)
        made.generate(FOR_COLUMNS * clock.remaining_s)
        bound = arrays.usd(1) * made.bound
        report(None, bound)
        model, read = covering(arrays, made.patterns, made.kinds)
        limit = None if options.time_limit is None else max(1e-3, clock.remaining_s)
        solved = solve_arrays(
            model,
            replace(options, time_limit=limit),
            watch=lambda x, _: report(None if x is None else read(x), None),
        )
    return Answer(
        solution=None if solved.x is None else read(solved.x),
        bound=bound,
        termination=solved.termination,
        reason=solved.reason or OVER_COLUMNS,
        build_s=0.0,
        solve_s=clock.cpu_s,
        info={"columns": len(made.patterns), "solver": f"HiGHS {version('highspy')}"},
    )
