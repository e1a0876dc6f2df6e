"""Compiled loops of Eva's rounds (numba): estimated throughput, values of sets of tasks, plans, and Algorithm 1.

Comments name the lines of Algorithm 1, which `provision` and `_fill` run as the authors' artifact does.
Tasks, classes, types and instances are indices. Sums and products are in the order of the authors' artifact, so that
ties are broken as there: equal values may differ in their last digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.arrays import BoolArray as Bool
from instances.arrays import FloatArray as Float
from instances.arrays import IntArray as Int
from instances.compiled import compile_lazily

Hash = NDArray[np.uint64]

NOBODY = -1


class Types(NamedTuple):
    """The types: `demand` (K, C, R), `capacity` (K, R), `price` (K,), and orders by decreasing and increasing price."""

    demand: Int
    capacity: Int
    price: Float
    falling: Int
    rising: Int


class Table(NamedTuple):
    """The learned throughput.

    - `pair` (C, C): throughput of a class next to one other task.
    - `known` (C,): whether there is any observation of a class.
    - `power` (L,): default throughput next to L other tasks, for a class without observations.
    - `weight` (C,): random numbers of the classes.
    - `keys`, `values`: a hash table of larger sets. The key of a class and its neighbours is computed from the sum of
      the neighbours' weights; 0 marks a free slot.
    """

    pair: Float
    known: Bool
    power: Float
    weight: Hash
    keys: Hash
    values: Float


class RoundTasks(NamedTuple):
    """The tasks of a round (n,): class, reservation price, number of tasks of the job, instance, and cheapest type."""

    kind: Int
    price: Float
    size: Int
    on: Int
    cheapest: Int


@compile_lazily
def key_of(weight: Hash, kind: int, others: np.uint64) -> np.uint64:
    """Return the key of a class next to other tasks, whose weights add up to `others`."""
    x = weight[kind] * np.uint64(0x9E3779B97F4A7C15) + others
    x ^= x >> np.uint64(31)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(29)
    return x if x != np.uint64(0) else np.uint64(1)


@compile_lazily
def slot_of(keys: Hash, key: np.uint64) -> np.uint64:
    """Return the slot of a key in the hash table, or the free one in which it belongs."""
    mask = np.uint64(len(keys) - 1)
    slot = key & mask
    while keys[slot] != np.uint64(0) and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@compile_lazily
def store(table: Table, kind: int, neighbours: Int, mean: float) -> bool:
    """Store the throughput of a class next to a set of others, and return whether the set is new."""
    others = np.uint64(0)
    for other in neighbours:
        others += table.weight[other]
    key = key_of(table.weight, kind, others)
    slot = slot_of(table.keys, key)
    new = table.keys[slot] == np.uint64(0)
    table.keys[slot], table.values[slot] = key, mean
    return new


@compile_lazily
def copy_sets(old: Table, new: Table) -> None:
    """Copy all sets of one table to another."""
    for i in range(len(old.keys)):
        if old.keys[i] != np.uint64(0):
            slot = slot_of(new.keys, old.keys[i])
            new.keys[slot], new.values[slot] = old.keys[i], old.values[i]


@compile_lazily
def _rate(table: Table, classes: Int, length: int, kind: int, total: np.uint64) -> float:
    """Return the estimated throughput of a class in a set: `classes` in order, with weights that add up to `total`."""
    if length == 1:
        return 1.0
    if not table.known[kind]:
        return table.power[length - 1]
    if length > 2:
        key = key_of(table.weight, kind, total - table.weight[kind])
        slot = slot_of(table.keys, key)
        if table.keys[slot] == key:
            return table.values[slot]
    rate, skipped = 1.0, False
    for i in range(length):
        if classes[i] == kind and not skipped:
            skipped = True
        else:
            rate *= table.pair[kind, classes[i]]
    return rate


@compile_lazily
def tnrp_of(tasks: RoundTasks, table: Table, members: Int, count: int, extra: int, whole_jobs: bool) -> float:
    """Return the TNRP of some tasks on one instance, and of `extra` unless it is NOBODY.

    With `whole_jobs`, the slowdown of a task counts for all tasks of its job, and its value is at least 0.
    """
    length = count + (extra != NOBODY)
    classes = np.empty(length, dtype=np.int64)
    total = np.uint64(0)
    for i in range(length):
        kind = tasks.kind[members[i] if i < count else extra]
        total += table.weight[kind]
        j = i
        while j > 0 and classes[j - 1] > kind:
            classes[j] = classes[j - 1]
            j -= 1
        classes[j] = kind
    rates = np.empty(length)
    for i in range(length):
        same = i > 0 and classes[i] == classes[i - 1]
        rates[i] = rates[i - 1] if same else _rate(table, classes, length, classes[i], total)
    value = 0.0
    for i in range(length):
        task = members[i] if i < count else extra
        kind, low, high = tasks.kind[task], 0, length - 1
        while low < high:
            middle = (low + high) // 2
            if classes[middle] < kind:
                low = middle + 1
            else:
                high = middle
        rate = rates[low]
        if whole_jobs:
            rate = max(0.0, 1 - (1 - rate) * tasks.size[task])
        value += tasks.price[task] * rate
    return value


class PlanArrays(NamedTuple):
    """A plan under construction, with at most P instances.

    - `length` (1,): number of instances.
    - `type`, `rented`, `held` (P,): type, rented instance or NOBODY, and number of tasks.
    - `members` (P, n): tasks in order.
    - `free` (P, R): free amounts.
    - `used` (I,): whether a rented instance is in the plan.
    """

    length: Int
    type: Int
    rented: Int
    held: Int
    members: Int
    free: Int
    used: Bool


@compile_lazily
def saving(tasks: RoundTasks, table: Table, plan: PlanArrays) -> float:
    """Return the TNRP of all instances of a plan."""
    value = 0.0
    for p in range(plan.length[0]):
        value += tnrp_of(tasks, table, plan.members[p], plan.held[p], NOBODY, False)
    return value


@compile_lazily
def _fits(need: Int, free: Int) -> bool:
    fits = True
    for r in range(len(free)):
        fits &= need[r] <= free[r]
    return fits


@compile_lazily
def _alignment(need: Int, free: Int, size: Int) -> float:
    score = 0.0
    for r in range(len(size)):
        if size[r]:
            score += (need[r] / size[r]) * (free[r] / size[r])
    return score


@compile_lazily
def add(plan: PlanArrays, types: Types, kind: int, rented: int) -> int:
    """Add an instance to a plan, and return its index."""
    p = plan.length[0]
    plan.length[0] += 1
    plan.type[p], plan.rented[p], plan.held[p] = kind, rented, 0
    plan.free[p] = types.capacity[kind]
    if rented != NOBODY:
        plan.used[rented] = True
    return p


@compile_lazily
def put(plan: PlanArrays, types: Types, tasks: RoundTasks, p: int, task: int) -> None:
    """Put a task on an instance of a plan."""
    plan.members[p, plan.held[p]] = task
    plan.held[p] += 1
    for r in range(plan.free.shape[1]):
        plan.free[p, r] -= types.demand[plan.type[p], tasks.kind[task], r]


@compile_lazily
def keep(plan: PlanArrays, types: Types, tasks: RoundTasks, kept: Int, instance_type: Int) -> None:
    """Put tasks on their current instances, which are added in the order of their tasks."""
    place = np.full(len(instance_type), NOBODY)
    for p in range(plan.length[0]):
        if plan.rented[p] != NOBODY:
            place[plan.rented[p]] = p
    for task in kept:
        instance = tasks.on[task]
        if place[instance] == NOBODY:
            place[instance] = add(plan, types, instance_type[instance], instance)
        put(plan, types, tasks, place[instance], task)


@compile_lazily
def pack(plan: PlanArrays, types: Types, tasks: RoundTasks, table: Table, waiting: Int) -> Int:
    """Put tasks on the instances of a plan while any fits, and return the tasks that remain.

    The pair of task and instance with the maximum TNRP comes next, even if it does not pay.
    """
    left = waiting.copy()
    n, instances = len(left), plan.length[0]
    value = np.full((n, instances), -1.0)
    while n:
        best_value, best_here, best_score = -1.0, False, -1.0
        best_i = best_p = NOBODY
        for i in range(n):
            task = left[i]
            for p in range(instances):
                kind = plan.type[p]
                need = types.demand[kind, tasks.kind[task]]
                if not _fits(need, plan.free[p]):
                    continue
                if value[i, p] < 0:
                    value[i, p] = tnrp_of(tasks, table, plan.members[p], plan.held[p], task, False)
                if value[i, p] < best_value:
                    continue
                here = plan.rented[p] != NOBODY and tasks.on[task] == plan.rented[p]
                score = _alignment(need, plan.free[p], types.capacity[kind])
                if value[i, p] > best_value or here > best_here or (here == best_here and score > best_score):
                    best_value, best_here, best_score, best_i, best_p = value[i, p], here, score, i, p
        if best_i == NOBODY:
            break
        put(plan, types, tasks, best_p, left[best_i])
        for i in range(best_i, n - 1):
            left[i] = left[i + 1]
            value[i] = value[i + 1]
        n -= 1
        value[:, best_p] = -1.0
    return left[:n].copy()


@compile_lazily
def _fill(
    types: Types, tasks: RoundTasks, table: Table, left: Int, n: int, kind: int, rented: int, chosen: Int
) -> tuple[int, float]:
    """Fill an instance by lines 5 to 13, and return the number of tasks in `chosen` and their TNRP."""
    free = types.capacity[kind].copy()
    taken = np.zeros(n, dtype=np.bool_)
    tried = np.full((types.demand.shape[1], 2), NOBODY)
    count, value = 0, 0.0  # line 6
    while True:  # line 7
        best_value, best_here, best_score, best = -1.0, False, -1.0, NOBODY
        for i in range(n):  # line 8
            task = left[i]
            if taken[i]:
                continue
            need = types.demand[kind, tasks.kind[task]]
            if not _fits(need, free):
                continue
            here = rented != NOBODY and tasks.on[task] == rented
            if tasks.size[task] == 1:
                if tried[tasks.kind[task], int(here)] == count:
                    continue  # an equal task was tried in this step
                tried[tasks.kind[task], int(here)] = count
            then = tnrp_of(tasks, table, chosen, count, task, True)
            if then < best_value:
                continue
            score = _alignment(need, free, types.capacity[kind])
            if then > best_value or here > best_here or (here == best_here and score > best_score):
                best_value, best_here, best_score, best = then, here, score, i
        if best == NOBODY or best_value < value:  # lines 7 and 9
            return count, value
        chosen[count] = left[best]  # line 12
        taken[best] = True
        count += 1
        value = best_value
        for r in range(len(free)):
            free[r] -= types.demand[kind, tasks.kind[left[best]], r]


@compile_lazily
def _find_fullest_instance(plan: PlanArrays, kind: int, instance_type: Int, ready: Bool, held: Int) -> int:
    """Return the ready rented instance of a type with the most tasks that is not in the plan; NOBODY if none."""
    best = NOBODY
    for i in range(len(instance_type)):
        if ready[i] and not plan.used[i] and instance_type[i] == kind and (best == NOBODY or held[i] > held[best]):
            best = i
    return best


@compile_lazily
def _cheapest_holding(types: Types, tasks: RoundTasks, kind: int, chosen: Int, count: int) -> int:
    """Return the cheapest type that holds the demands of the tasks, both on the tried type and on itself."""
    resources = types.capacity.shape[1]
    for other in types.rising:
        holds = True
        for r in range(resources):
            tried = own = 0
            for i in range(count):
                tried += types.demand[kind, tasks.kind[chosen[i]], r]
                own += types.demand[other, tasks.kind[chosen[i]], r]
            if max(tried, own) > types.capacity[other, r]:
                holds = False
                break
        if holds:
            return other
    return kind


@compile_lazily
def provision(
    plan: PlanArrays,
    types: Types,
    tasks: RoundTasks,
    table: Table,
    waiting: Int,
    instance_type: Int,
    ready: Bool,
    held: Int,
) -> None:
    """Run Algorithm 1 as in the artifact, for the tasks `waiting`.

    Rented instances that are not in the plan are used first. A set that pays goes to the cheapest type that holds it.
    If none pays, each task whose cheapest type is the current one gets an instance of its own.
    """
    left = waiting.copy()
    n = len(left)
    chosen = np.empty(n, dtype=np.int64)
    for kind in types.falling:  # lines 2 and 3
        while n:  # line 4
            rented = _find_fullest_instance(plan, kind, instance_type, ready, held)
            count, value = _fill(types, tasks, table, left, n, kind, rented, chosen)  # lines 5 to 13
            pays = types.price[kind] <= value or (count == 1 and tasks.cheapest[chosen[0]] == kind)  # line 14
            if pays:
                final = _cheapest_holding(types, tasks, kind, chosen, count)
                p = add(plan, types, final, rented if final == kind else NOBODY)
                for i in range(count):  # line 15
                    put(plan, types, tasks, p, chosen[i])
                n = _remove_chosen(left, n, chosen, count)
                continue
            count = 0
            for i in range(n):
                if tasks.cheapest[left[i]] == kind:
                    chosen[count] = left[i]
                    count += 1
            for i in range(count):
                p = add(plan, types, kind, _find_fullest_instance(plan, kind, instance_type, ready, held))
                put(plan, types, tasks, p, chosen[i])
            n = _remove_chosen(left, n, chosen, count)
            break  # line 17


@compile_lazily
def _remove_chosen(left: Int, n: int, chosen: Int, count: int) -> int:
    """Remove the chosen tasks from the first `n` of `left`, and return how many remain."""
    kept = 0
    for i in range(n):
        is_chosen = False
        for j in range(count):
            if chosen[j] == left[i]:
                is_chosen = True
                break
        if not is_chosen:
            left[kept] = left[i]
            kept += 1
    return kept
