"""Spaces of packings: the workloads of Table 7 in any numbers, and full bins cut in pieces, whose packing is known."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from experiments.harness.experiment import Quick, Study
from experiments.worst_cases.space import Chosen, RepeatedEntries, Space
from experiments.worst_cases.study import Sweep, study_of
from instances import Instance, Options, Solution
from instances.compiled import compile_lazily
from instances.eva import EvaPacking, InstanceType, Task, table_7
from instances.eva.packing import DEFAULT

WORKLOADS_SEED = 0  # of a draw that is large enough to have all nine workloads
Cut = tuple[tuple[int, ...], ...]
BEST_FIT, DOT_PRODUCT = 1, 2
RULES = {"first-fit-decreasing": 0, "best-fit-decreasing": BEST_FIT, "dot-product": DOT_PRODUCT}
HEAT, COLD = 0.5, 0.02  # instances that a step may lose, at first and at last
RECUT = 0.1  # share of the steps that cut an instance again
BASE = 3  # instances of an annealing that starts from whole instances
ROUNDS, STEPS = 6, 30_000  # annealings, of which the best are kept, and steps of each


@dataclass(frozen=True)
class CutBins:
    """Instances of `eva-packing` on one type of price 1 whose optimum fills every rented instance completely.

    A thing is a way to cut an instance with `units` of each of `resources` resources into at most `pieces` pieces.
    Each piece is a task. The optimum is the number of things, because their instances are full.
    """

    resources: int
    units: int
    pieces: int

    problem = "eva-packing"
    grows = False

    @property
    def name(self) -> str:
        return f"cut-bins-{self.resources}d-{self.units}-units-{self.pieces}-pieces"

    @cached_property
    def cuts(self) -> list[Cut]:
        """Return the ways to cut, the pieces of each in rising order."""
        lines = list(_compositions(self.units, self.pieces))
        return sorted({_cut(zip(*shares, strict=True)) for shares in product(lines, repeat=self.resources)})

    @property
    def things(self) -> int:
        return len(self.cuts)

    def instance(self, chosen: Chosen) -> Instance[Any]:
        names = tuple(f"r{i + 1}" for i in range(self.resources))
        pieces = sorted((piece for place in chosen for piece in self.cuts[place] if any(piece)), reverse=True)
        tasks = tuple(
            Task(
                workload="-".join(map(str, piece)),
                count=pieces.count(piece),
                demand={DEFAULT: dict(zip(names, map(float, piece), strict=True))},
            )
            for piece in dict.fromkeys(pieces)
        )
        kind = InstanceType(
            name="bin", family="bin", capacity=dict.fromkeys(names, float(self.units)), usd_per_hour=1.0
        )
        data = EvaPacking(resources=names, instance_types=(kind,), tasks=tasks, objective="cost")
        name = f"{self.name}-" + "-".join(map(str, chosen))
        return Instance.of(data, name[:150], f"{len(chosen)} full instances, each cut into {self.pieces} tasks at most")

    def reference(self, chosen: Chosen) -> float:
        return float(len(chosen))

    def nearly(self, solution: Solution) -> float:
        """Return the minimum load of an instance: the heuristic rents one more when it is full."""
        loads = (
            sum(n * sum(map(int, name.split("-"))) for name, n in group["tasks"].items())
            for group in solution["instances"]
        )
        return min(loads) / (self.resources * self.units)

    def near(self, thing: int, rng: random.Random) -> int:
        """One unit of a resource goes from a piece to another; of several resources one after the other."""
        pieces = [list(piece) for piece in self.cuts[thing]]
        for _ in range(rng.randint(1, 2)):
            r, (giver, taker) = rng.randrange(self.resources), rng.sample(range(self.pieces), 2)
            if pieces[giver][r]:
                pieces[giver][r] -= 1
                pieces[taker][r] += 1
        return self._place.get(_cut(pieces), thing)

    def leads(self, heuristic: str, size: int, seed: int) -> list[Chosen]:
        """Yield the results of annealing on the cuts for one of the greedy rules, the worst last.

        Two and three instances are annealed from whole ones, in many rounds. Larger numbers start with copies of the
        worst results of smaller numbers, because a bad case that stays bad when doubled makes a family.
        """
        rule = RULES.get(heuristic)
        if rule is None:
            return []
        rng, whole = np.random.default_rng(seed), np.zeros((1, self.pieces, self.resources), dtype=np.int64)
        whole[0, 0] = self.units
        worst = {1: [whole]}
        for n in range(2, size + 1):
            found = [np.concatenate(two) for a in range(1, n // 2 + 1) for two in product(worst[a], worst[n - a])]
            found.sort(key=lambda bins: self._rank(bins, rule))
            if n <= BASE:
                starts = [np.repeat(whole, n, axis=0)] * ROUNDS
            else:
                starts = found[: ROUNDS // 3] if n == size else found[:1]
            found += [anneal_cuts(rng, bins, self.units, rule, STEPS) for bins in starts]
            found.sort(key=lambda bins: self._rank(bins, rule))
            worst[n] = found[:ROUNDS]
        return [tuple(sorted(self._place[_cut(bin_)] for bin_ in bins.tolist())) for bins in reversed(worst[size])]

    def _rank(self, bins: Any, rule: int) -> float:
        """Return a key that sorts the worst case first; the doubled case counts half."""
        twice = np.concatenate([bins, bins])
        return float(-height(bins, self.units, rule) - height(twice, self.units, rule) / 2)

    @cached_property
    def _place(self) -> dict[Cut, int]:
        return {cut: place for place, cut in enumerate(self.cuts)}

    def describe(self, chosen: Chosen) -> str:
        return "; ".join(" + ".join(str(list(p)) for p in self.cuts[place] if any(p)) for place in chosen)

    def features(self, chosen: Chosen) -> dict[str, float]:
        pieces = [piece for place in chosen for piece in self.cuts[place]]
        found = {}
        for r in range(self.resources):
            found[f"largest r{r + 1}"] = max(piece[r] / self.units for piece in pieces)
            found[f"tasks with over half of r{r + 1}"] = float(sum(2 * piece[r] > self.units for piece in pieces))
        return found

    def content(self) -> list[Any]:
        return [self.name]


def _cut(pieces: Iterable[Sequence[int]]) -> Cut:
    return tuple(sorted(tuple(piece) for piece in pieces))


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield the ordered ways to write `total` as a sum of `parts` non-negative integers."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield first, *rest


@compile_lazily
def anneal_cuts(rng, start, units, rule, steps):  # type: ignore[no-untyped-def]
    """Return the highest cuts that annealing reaches from a start; `start[i]`: pieces of one instance."""
    number, pieces, resources = start.shape
    bins, best, old = start.copy(), start.copy(), start[0].copy()
    now = top = height(bins, units, rule)
    for step in range(steps):
        i = rng.integers(0, number)
        old[:] = bins[i]
        if rng.random() < RECUT:
            bins[i, :, :] = 0
            for r in range(resources):
                left = units
                for p in range(pieces - 1):
                    bins[i, p, r] = rng.integers(0, left + 1)
                    left -= bins[i, p, r]
                bins[i, pieces - 1, r] = left
        else:
            for _ in range(rng.integers(1, 4)):
                giver, taker, r = rng.integers(0, pieces), rng.integers(0, pieces), rng.integers(0, resources)
                if bins[i, giver, r]:
                    bins[i, giver, r] -= 1
                    bins[i, taker, r] += 1
        heat = HEAT + (COLD - HEAT) * step / steps
        new = height(bins, units, rule)
        if new >= now or rng.random() < np.exp((new - now) / heat):
            now = new
        else:
            bins[i] = old
        if now > top:
            top = now
            best[:] = bins
    return best


@compile_lazily
def height(bins, units, rule):  # type: ignore[no-untyped-def]
    """Return the instances that a greedy rule takes for all pieces, and the smallest load as a share."""
    number, pieces, resources = bins.shape
    tasks = np.empty((number * pieces, resources), np.int64)
    keys = np.empty(number * pieces, np.int64)
    for i in range(number):
        for p in range(pieces):
            key = bins[i, p].sum()
            for r in range(resources):
                key = key * (units + 1) + bins[i, p, r]
            at = i * pieces + p
            while at > 0 and keys[at - 1] < key:  # the largest sum first, of equal ones the largest demand
                keys[at] = keys[at - 1]
                tasks[at] = tasks[at - 1]
                at -= 1
            keys[at] = key
            tasks[at] = bins[i, p]
    there = number * pieces
    while there and keys[there - 1] == 0:  # an empty piece is no task
        there -= 1
    tasks, free = tasks[:there], np.full((there, resources), units)
    used = _fill_instances(tasks, free) if rule == DOT_PRODUCT else _count_fitted(tasks, free, rule == BEST_FIT)
    most = 0
    for i in range(used):
        most = max(most, free[i].sum())
    return used + 1.0 - most / (units * resources)


@compile_lazily
def _count_fitted(tasks, free, best):  # type: ignore[no-untyped-def]
    """Return the number of instances of first or best fit, and write their free amounts to `free`."""
    used = 0
    for task in tasks:
        place = used
        for i in range(used):
            if (task <= free[i]).all() and (place == used or free[i].sum() < free[place].sum()):
                place = i
                if not best:
                    break
        free[place] -= task
        used = max(used, place + 1)
    return used


@compile_lazily
def _fill_instances(tasks, free):  # type: ignore[no-untyped-def]
    """Return the instances and the load of the dot-product rule, as above."""
    placed = np.zeros(len(tasks), np.bool_)
    left, used = len(tasks), 0
    while left:
        while True:
            chosen, most = -1, -1
            for t in range(len(tasks)):
                if not placed[t] and (tasks[t] <= free[used]).all():
                    product = (tasks[t] * free[used]).sum()
                    if product > most:
                        chosen, most = t, product
            if chosen < 0:
                break
            placed[chosen] = True
            free[used] -= tasks[chosen]
            left -= 1
        used += 1
    return used


def nine_workloads() -> RepeatedEntries:
    """Build the space of the nine workloads of Table 7 on Eva's 21 instance types, sorted by increasing demand."""
    base = table_7(1000, WORKLOADS_SEED)
    tasks = sorted(base.data.tasks, key=lambda task: [task.demand[DEFAULT][r] for r in base.data.resources])
    return RepeatedEntries(Instance.of(base.data.with_(tasks=tuple(tasks)), "eva-nine", "Eva (EuroSys'25), Table 7"))


SPACES: dict[str, dict[str, Callable[[], Space]]] = {
    "eva-packing": {
        "nine-workloads": nine_workloads,
        "cut-bins-2d": lambda: CutBins(2, 12, 3),
        "cut-bins-3d": lambda: CutBins(3, 6, 3),
        "cut-bins-4d": lambda: CutBins(4, 4, 3),
    }
}
SWEEPS = (
    Sweep("eva-packing", "nine-workloads", 7, (20,)),
    Sweep("eva-packing", "cut-bins-2d", 0, (2, 3, 4, 5, 6, 7, 8), tuple(RULES), seeds=1),
    Sweep("eva-packing", "cut-bins-3d", 0, (2, 3, 5, 8), tuple(RULES), seeds=1),
    Sweep("eva-packing", "cut-bins-4d", 0, (2, 3, 5, 8), tuple(RULES), seeds=1),
)


def worst_cases(options: Options, quick: Quick = False) -> Study:
    """Worst cases of the heuristics of Eva."""
    return study_of("eva", SWEEPS, options, quick)
