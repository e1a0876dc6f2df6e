"""Compiled loops of ruin and recreate (numba): they empty some instances and pack the tasks again.

T tasks, I instances, F families, K types, R resources. Sizes, capacities and prices are int64, so costs are exact.
Values of tasks and of resources are float64 and only guide the search.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.compiled import compile_lazily
from instances.eva.arrays import PackingArrays
from models.eva.configuration import Column, Configuration, price
from models.eva.greedy import ResourcePrices
from models.eva.parameters import ColumnGenerationParameters

Int = NDArray[np.int64]
Float = NDArray[np.float64]
State = NDArray[np.uint64]
"""The state of the random numbers, one integer."""


class Guide(NamedTuple):
    """The constant data of the search.

    - `size` (F, T, R), `room` (K, R), `family` (K,), `price` (K,): demands of the tasks; capacities, families and
      prices of the types.
    - `useful`: types that can hold a task.
    - `value` (T,): value of each task.
    - `worth` (F, R): value of a unit of each resource, at least the value of any task per unit. So the value of the
      tasks on an instance is at most the value of its capacity.
    - `others`: most instances that a ruin empties in addition to the first.
    - `pool`: most tasks on the emptied instances.
    - `nodes`: node limit of the search for the tasks of one instance.
    - `tries`: number of attempts to pack the tasks of a ruin.
    """

    size: Int
    room: Int
    family: Int
    price: Int
    useful: Int
    value: Float
    worth: Float
    others: int
    pool: int
    nodes: int
    tries: int


class LinkedPacking(NamedTuple):
    """A packing, changed in place, with the tasks of each instance as a linked list.

    - `kind` (I,): type of each instance; -1 without one.
    - `head` (I,): first task of each instance; -1 without one.
    - `after` (T,): next task on the same instance; -1 at the end.
    - `waste` (I,): price of each instance less the value of its tasks.
    - `used` (1,): number of instances, which come first in the arrays.
    """

    kind: Int
    head: Int
    after: Int
    waste: Float
    used: Int


@compile_lazily
def uniform(state: State) -> float:
    """Return a random number in [0, 1), by a 64-bit linear congruential generator with Knuth's MMIX multiplier."""
    state[0] = state[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return float(state[0] >> np.uint64(11)) * 2.0**-53


@compile_lazily
def shuffle(state: State, items: Int) -> Int:
    """Return the items in random order."""
    key = np.empty(len(items))
    for i in range(len(items)):
        key[i] = uniform(state)
    return items[np.argsort(key)]


@compile_lazily
def fill(guide: Guide, kind: int, task: Int, free: NDArray[np.bool_], forced: bool, chosen: NDArray[np.bool_]) -> float:
    """Choose the free tasks of largest value for a type by depth-first search in the order of `task`.

    Return the value, or -1 if no task fits, or the forced task does not. The chosen tasks are marked in `chosen` (m,).

    - `kind`: the type.
    - `free` (m,): which of the tasks `task` (m,) are free.
    - `forced`: whether the first free task must be chosen.
    """
    f, room = guide.family[kind], guide.room[kind]
    m, resources = len(task), len(room)
    order = np.flatnonzero(free)
    suffix = np.zeros(len(order) + 1)
    for i in range(len(order) - 1, -1, -1):
        suffix[i] = suffix[i + 1] + guide.value[task[order[i]]]
    left = room.copy()
    stack = np.empty(len(order) + 1, dtype=np.int64)
    best, value, depth, used, j = -1.0, 0.0, 0, 0, 0
    n = len(order)
    while True:
        while j < n:
            rest = 0.0
            for r in range(resources):
                rest += guide.worth[f, r] * left[r]
            if value + min(suffix[j], rest) <= best * (1 + 1e-12) + 1e-9:
                j = n
                break
            fits = True
            for r in range(resources):
                if guide.size[f, task[order[j]], r] > left[r]:
                    fits = False
                    break
            if fits:
                break
            if forced and depth == 0:
                return -1.0
            j += 1
        if j < n:
            used += 1
            t = task[order[j]]
            for r in range(resources):
                left[r] -= guide.size[f, t, r]
            value += guide.value[t]
            stack[depth] = j
            depth += 1
            if value > best:
                best = value
                for i in range(m):
                    chosen[i] = False
                for d in range(depth):
                    chosen[order[stack[d]]] = True
            if used > guide.nodes:
                return best
            j += 1
            continue
        if depth <= (1 if forced else 0):
            return best
        depth -= 1
        j = stack[depth]
        t = task[order[j]]
        for r in range(resources):
            left[r] += guide.size[f, t, r]
        value -= guide.value[t]
        j += 1


@compile_lazily
def cheapest(guide: Guide, task: Int, chosen: NDArray[np.bool_], kind: int) -> int:
    """Return the cheapest type that holds the chosen tasks; `kind` is a type that holds them."""
    families, resources = guide.size.shape[0], guide.size.shape[2]
    best = kind
    for f in range(families):
        load = np.zeros(resources, dtype=np.int64)
        for i in range(len(task)):
            if chosen[i]:
                for r in range(resources):
                    load[r] += guide.size[f, task[i], r]
        for k in guide.useful:
            if guide.family[k] == f and guide.price[k] < guide.price[best]:
                holds = True
                for r in range(resources):
                    if load[r] > guide.room[k, r]:
                        holds = False
                        break
                if holds:
                    best = k
    return best


@compile_lazily
def recreate(guide: Guide, state: State, task: Int, kinds: Int, ceiling: int, piece: Int, made: Int) -> int:
    """Pack the tasks `task` (m,) at a price of at most `ceiling`; return the number of instances, or -1.

    The types are drawn from `kinds` or at random. The function fills `piece` (m,) with the instance of each task, and
    `made` with the types.
    """
    m = len(task)
    free = np.ones(m, dtype=np.bool_)
    chosen = np.zeros(m, dtype=np.bool_)
    worth = 0.0
    for t in task:
        worth += guide.value[t]
    waiting = shuffle(state, kinds)
    count, cost, left, at = 0, 0, m, 0
    while left > 0:
        k = -1
        for _ in range(6):
            if at < len(waiting) and uniform(state) < 0.7:
                k = waiting[at]
                at += 1
            else:
                k = guide.useful[int(uniform(state) * len(guide.useful))]
            if cost + guide.price[k] <= ceiling:
                break
            k = -1
        if k < 0:
            return -1
        value = fill(guide, k, task, free, uniform(state) < 0.5, chosen)
        if value < 0:
            return -1
        k = cheapest(guide, task, chosen, k)
        cost += guide.price[k]
        worth -= value
        if cost + worth > ceiling + 1e-6:
            return -1
        for i in range(m):
            if chosen[i] and free[i]:
                piece[i] = count
                free[i] = False
                left -= 1
        made[count] = k
        count += 1
    return count


@compile_lazily
def draw(guide: Guide, state: State, packing: LinkedPacking, first: int) -> int:
    """Draw an instance, with a preference for large waste, and for the family of `first` unless that is -1."""
    best, n = -1, packing.used[0]
    rounds = 1 if uniform(state) < 0.5 and first >= 0 else 4
    same = first >= 0 and uniform(state) < 0.8
    tries = 0
    while rounds > 0 and tries < 40:
        tries += 1
        i = int(uniform(state) * n)
        if i == first or (same and guide.family[packing.kind[i]] != guide.family[packing.kind[first]]):
            continue
        rounds -= 1
        if best < 0 or packing.waste[i] > packing.waste[best]:
            best = i
    return best


@compile_lazily
def ruin_and_recreate(guide: Guide, packing: LinkedPacking, iterations: int, state: State, tolerance: float) -> int:
    """Empty a few instances and pack their tasks again, `iterations` times; return the saving in price units.

    A packing is accepted if it costs less. At equal cost, it is accepted if its waste is in fewer instances. Then the
    sum of squares of the waste must be larger, or smaller by at most a random part of `tolerance`.
    """
    saved = 0
    ruined = np.empty(guide.others + 1, dtype=np.int64)
    buffer = np.empty(guide.pool, dtype=np.int64)
    for _ in range(iterations):
        if packing.used[0] < 2:
            return saved
        wanted = 2 + int(uniform(state) * guide.others)
        count, m, cost, potential = 0, 0, 0, 0.0
        for _ in range(wanted):
            i = draw(guide, state, packing, ruined[0] if count else -1)
            known = i < 0
            for d in range(count):
                known = known or ruined[d] == i
            if known:
                continue
            before, t = m, packing.head[i]
            while t >= 0 and m < len(buffer):
                buffer[m] = t
                m += 1
                t = packing.after[t]
            if t >= 0:
                m = before
                continue
            ruined[count] = i
            count += 1
            cost += guide.price[packing.kind[i]]
            potential += packing.waste[i] ** 2
        if count < 2:
            continue
        kinds = np.empty(count, dtype=np.int64)
        for d in range(count):
            kinds[d] = packing.kind[ruined[d]]
        piece, made = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
        for _ in range(guide.tries):
            noise = 0.3 * uniform(state)
            key = np.empty(m)
            for i in range(m):
                key[i] = -guide.value[buffer[i]] * (1 + noise * (uniform(state) - 0.5))
            task = buffer[:m][np.argsort(key)]
            pieces = recreate(guide, state, task, kinds, cost, piece, made)
            if pieces < 0:
                continue
            waste = np.zeros(pieces)
            paid = 0
            for d in range(pieces):
                waste[d] = guide.price[made[d]]
                paid += guide.price[made[d]]
            for i in range(m):
                waste[piece[i]] -= guide.value[task[i]]
            if paid == cost and (waste**2).sum() <= potential * (1 - tolerance * uniform(state)):
                continue
            saved += cost - paid
            for d in range(max(pieces, count)):
                if d < count:
                    at = ruined[d]
                else:
                    at = packing.used[0]
                    packing.used[0] += 1
                packing.head[at] = -1
                packing.kind[at] = made[d] if d < pieces else -1
                if d < pieces:
                    packing.waste[at] = waste[d]
                    for i in range(m):
                        if piece[i] == d:
                            packing.after[task[i]] = packing.head[at]
                            packing.head[at] = task[i]
            # The last instances take the indices of the removed ones.
            for at in -np.sort(-ruined[:count]):
                if packing.kind[at] < 0:
                    last = packing.used[0] - 1
                    packing.kind[at], packing.head[at] = packing.kind[last], packing.head[last]
                    packing.waste[at] = packing.waste[last]
                    packing.kind[last] = -1
                    packing.used[0] = last
            break
    return saved


class Ruin:
    """Local search over the instances of a configuration, whose cost never increases.

    The search handles single tasks instead of classes. The values of tasks and resources guide it. `cost` is the cost
    of the present configuration, and `rounds` counts the rounds so far.

    - `arrays`: the instance.
    - `prices`: values of resources and tasks.
    - `parameters`: the constants.
    - `seed`: seed of all draws.
    """

    def __init__(
        self,
        arrays: PackingArrays,
        prices: ResourcePrices,
        parameters: ColumnGenerationParameters,
        seed: int,
    ) -> None:
        self.arrays, self.parameters = arrays, parameters
        self._state = np.random.default_rng(seed).integers(2**63, size=1).astype(np.uint64)
        self.rounds = 0
        self._class_of = np.repeat(np.arange(arrays.classes), arrays.count)
        self._guide = Guide(
            np.ascontiguousarray(arrays.demand[:, self._class_of]),
            np.ascontiguousarray(arrays.capacity),
            np.ascontiguousarray(arrays.family.astype(np.int64)),
            np.ascontiguousarray(arrays.price),
            np.flatnonzero(arrays.fits.any(axis=1)),
            np.ascontiguousarray(prices.duals[self._class_of]),
            np.ascontiguousarray(prices.unit),
            parameters.ruined - 1,
            parameters.ruined_tasks,
            parameters.recreate_nodes,
            parameters.recreate_tries,
        )
        self.cost = 0
        self._packing: LinkedPacking

    def set(self, configuration: Configuration) -> None:
        """Start from a configuration that holds each task once."""
        guide, tasks = self._guide, len(self._class_of)
        begin = np.concatenate([[0], np.cumsum(self.arrays.count)[:-1]]).tolist()
        packing = LinkedPacking(
            np.full(tasks + 1, -1, dtype=np.int64),
            np.full(tasks + 1, -1, dtype=np.int64),
            np.full(tasks, -1, dtype=np.int64),
            np.zeros(tasks + 1),
            np.zeros(1, dtype=np.int64),
        )
        i = 0
        for column, copies in configuration.items():
            for _ in range(copies):
                packing.kind[i], packing.waste[i] = column.type, guide.price[column.type]
                for c, q in column.pattern:
                    for t in range(begin[c], begin[c] + q):
                        packing.after[t], packing.head[i] = packing.head[i], t
                        packing.waste[i] -= guide.value[t]
                    begin[c] += q
                i += 1
        packing.used[0] = i
        self._packing, self.cost = packing, price(self.arrays, configuration)

    def run(self, iterations: int) -> int:
        """Ruin and recreate `iterations` times; return the saving in price units."""
        self.rounds += 1
        tolerance = self.parameters.ruin_tolerances[self.rounds % len(self.parameters.ruin_tolerances)]
        saved = int(ruin_and_recreate(self._guide, self._packing, iterations, self._state, tolerance))
        self.cost -= saved
        return saved

    @property
    def configuration(self) -> Configuration:
        """Return the present configuration."""
        found: Counter[Column] = Counter()
        for i in range(int(self._packing.used[0])):
            on_it: Counter[int] = Counter()
            t = int(self._packing.head[i])
            while t >= 0:
                on_it[int(self._class_of[t])] += 1
                t = int(self._packing.after[t])
            found[Column.of(int(self._packing.kind[i]), on_it.items())] += 1
        return dict(found)
