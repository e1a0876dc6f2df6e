"""Compiled search for patterns (numba): branch and bound over the classes of one instance type."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from instances.compiled import compile_lazily

Int = NDArray[np.int64]
Float = NDArray[np.float64]


class Tasks(NamedTuple):
    """The n classes of a search, in the order of the search, on a type of R resources.

    - `demand` (n, R), `capacity` (R,): integer amounts.
    - `most` (n,): most tasks of each class.
    - `fixed`, `scaled` (n,): a task at throughput t adds fixed + t * scaled to the net.
    - `pair` (n, n): throughput of a task co-located with one other task.
    - `decay` (n, n): -ln of this throughput, with an upper limit.
    - `price`: price of the type.
    - `after` (n,): a class that must be used up before this one, because it only differs by a larger value; -1 for
      none.
    """

    demand: Int
    capacity: Int
    most: Int
    fixed: Float
    scaled: Float
    pair: Float
    decay: Float
    price: float
    after: Int


@compile_lazily
def knapsack(gain: Float, need: Int, room: float, copies: Int, first: int, spent: Float) -> float:
    """Return the value of the fractional knapsack over the classes from `first` on, for one resource.

    - `gain`, `need` (n,): gain and demand of a task of each class.
    - `room`: capacity.
    - `copies` (n,): most tasks of each class.
    - `spent` (n,): working memory for the gain per demand.
    """
    total, n = 0.0, len(gain)
    for c in range(first, n):
        spent[c] = 0.0
        if copies[c] > 0 and gain[c] > 0.0:
            if need[c] == 0:
                total += gain[c] * copies[c]
            else:
                spent[c] = gain[c] / need[c]
    while room > 0:
        best, at = 0.0, -1
        for c in range(first, n):
            if spent[c] > best:
                best, at = spent[c], c
        if at < 0:
            break
        taken = min(room, copies[at] * need[at])
        total += best * taken
        room -= taken
        spent[at] = 0.0
    return total


@compile_lazily
def _bound(
    t: Tasks,
    net: float,
    free: Int,
    used: Int,
    members: Int,
    number: int,
    rate: Float,
    outside: Float,
    first: int,
    threshold: float,
    room: tuple[Float, Int, Float, Int],
) -> float:
    """Return a bound on the net of a pattern after adding tasks of the classes from `first` on.

    - `net`: present net of the pattern.
    - `free` (R,), `used` (n,): free capacity, and tasks of each class in the pattern.
    - `members`, `rate`, `number`: the tasks of the pattern, their throughputs, and their number.
    - `outside` (n,): throughput of one more task of each class.
    - `threshold`: a bound up to this is not improved further.
    - `room`: working memory.

    A new task adds at most its value next to the present tasks alone. A present task loses the share 1 - exp(-x) of its
    value, with x the sum of the decays of the new tasks. This share is concave in x, so it is at least the chord from 0
    to the largest x.
    """
    n, resources = t.demand.shape
    gain, copies, spent, ones = room
    least = np.full(resources, np.iinfo(np.int64).max)
    number_more = 0
    for c in range(first, n):
        gain[c], copies[c] = t.fixed[c] + t.scaled[c] * outside[c], 0
        if gain[c] <= 0.0:
            continue
        copies[c] = t.most[c] - used[c]
        for r in range(resources):
            if t.demand[c, r] > 0:
                copies[c] = min(copies[c], free[r] // t.demand[c, r])
        if copies[c] > 0:
            number_more += copies[c]
            for r in range(resources):
                least[r] = min(least[r], t.demand[c, r])
    for r in range(resources):
        if least[r] > 0:
            number_more = min(number_more, free[r] // least[r])
    if number_more == 0:
        return net
    for m in range(number):
        most = 0.0
        own = members[m]
        for c in range(first, n):
            if copies[c] > 0:
                most = max(most, t.decay[own, c])
        if most > 0.0:
            span = most * number_more
            slope = t.scaled[own] * rate[m] * (1.0 - np.exp(-span)) / span
            for c in range(first, n):
                gain[c] -= slope * t.decay[own, c]
    bound = net + knapsack(gain, ones, float(number_more), copies, first, spent)
    for r in range(resources):
        if bound <= threshold:
            break
        bound = min(bound, net + knapsack(gain, t.demand[:, r], float(free[r]), copies, first, spent))
    return bound


@compile_lazily
def search(
    t: Tasks, threshold: float, share: float, most_found: int, most_nodes: int
) -> tuple[int, NDArray[np.int16], Float, float, int]:
    """Find patterns of net above `threshold` by branch and bound over the tasks, class by class.

    - `share`: the threshold rises to this share of the best net found; 0 finds every pattern above it.
    - `most_found`: limit on the patterns. It ends the search if `share` is 0; otherwise the worst one is replaced.
    - `most_nodes`: node limit of the search.

    Returns the number of patterns, the patterns (n each), their nets, a bound on all other nets, and the number of
    nodes.
    """
    n, resources = t.demand.shape
    depth_most = 1
    for c in range(n):
        depth_most += t.most[c]
    for r in range(resources):
        least = np.iinfo(np.int64).max
        for c in range(n):
            least = min(least, t.demand[c, r])
        if n and least > 0:
            depth_most = min(depth_most, t.capacity[r] // least + 1)
    found = np.zeros((most_found, n), dtype=np.int16)
    nets = np.zeros(most_found)
    members = np.zeros(depth_most + 1, dtype=np.int64)
    rate = np.ones((depth_most + 1, depth_most + 1))
    outside = np.ones((depth_most + 1, n))
    net = np.zeros(depth_most + 1)
    free = np.zeros((depth_most + 1, resources), dtype=np.int64)
    at = np.zeros(depth_most + 1, dtype=np.int64)
    upper = np.zeros(depth_most + 1)
    used = np.zeros(n, dtype=np.int64)
    room = (np.empty(n), np.empty(n, dtype=np.int64), np.empty(n), np.ones(n, dtype=np.int64))
    free[0] = t.capacity
    net[0] = -t.price
    number, nodes, best, d = 0, 0, threshold, 0
    upper[0] = _bound(t, net[0], free[0], used, members, 0, rate[0], outside[0], 0, threshold, room)
    if upper[0] <= threshold:
        return 0, found[:0], nets[:0], threshold, 0
    limit = threshold
    while d >= 0:
        c = at[d]
        if c == n or upper[d] <= limit:
            d -= 1
            if d >= 0:
                used[members[d]] -= 1
                at[d] += 1
            continue
        first = t.after[c]
        fits = used[c] < t.most[c] and (first < 0 or used[first] == t.most[first])
        for r in range(resources):
            if t.demand[c, r] > free[d, r]:
                fits = False
        if not fits:
            at[d] += 1
            continue
        if nodes >= most_nodes:
            break
        nodes += 1
        value = -t.price
        for m in range(d):
            rate[d + 1, m] = rate[d, m] * t.pair[members[m], c]
            value += t.fixed[members[m]] + t.scaled[members[m]] * rate[d + 1, m]
        rate[d + 1, d] = outside[d, c]
        value += t.fixed[c] + t.scaled[c] * outside[d, c]
        members[d] = c
        used[c] += 1
        if value > limit:
            if number == most_found:
                if share == 0.0:
                    used[c] -= 1
                    break
                number = most_found - 1
                worst = 0
                for q in range(most_found):
                    if nets[q] < nets[worst]:
                        worst = q
                found[worst], nets[worst] = found[number], nets[number]
            for q in range(n):
                found[number, q] = used[q]
            nets[number] = value
            number += 1
            best = max(best, value)
            limit = max(threshold, share * best) if share > 0.0 else threshold
        net[d + 1] = value
        for r in range(resources):
            free[d + 1, r] = free[d, r] - t.demand[c, r]
        for q in range(c, n):
            outside[d + 1, q] = outside[d, q] * t.pair[q, c]
        upper[d + 1] = _bound(t, value, free[d + 1], used, members, d + 1, rate[d + 1], outside[d + 1], c, limit, room)
        if upper[d + 1] > limit:
            at[d + 1] = c
            d += 1
        else:
            used[c] -= 1
            at[d] += 1
    bound = limit
    if d >= 0:
        for q in range(d + 1):
            bound = max(bound, upper[q])
    return number, found[:number], nets[:number], bound, nodes


@compile_lazily
def search_in_order(
    order: Int,
    fixed: Float,
    every: tuple[Int, Int, Int, Float, Float, Float, Int],
    price: float,
    threshold: float,
    share: float,
    most_found: int,
    most_nodes: int,
) -> tuple[int, NDArray[np.int16], Float, float, int]:
    """Run `search` over some classes in an order; among classes of equal `kin`, each must be used up before the next.

    - `order` (m,): the classes.
    - `fixed` (n,), `price`: see `Tasks`.
    - `every`: demand, capacity, most, scaled, pair, decay as in `Tasks`, and `kin` (n,), for all n classes.
    - `threshold`, `share`, `most_found`, `most_nodes`: see `search`.
    """
    demand, capacity, most, scaled, pair, decay, kin = every
    m = len(order)
    chosen_pair, chosen_decay = np.empty((m, m)), np.empty((m, m))
    after = np.full(m, -1, dtype=np.int64)
    for i in range(m):
        for j in range(m):
            chosen_pair[i, j] = pair[order[i], order[j]]
            chosen_decay[i, j] = decay[order[i], order[j]]
        for j in range(i):
            if kin[order[j]] == kin[order[i]]:
                after[i] = j
    need, room = add_surrogate(demand[order], capacity, most[order], fixed[order] + scaled[order])
    tasks = Tasks(need, room, most[order], fixed[order], scaled[order], chosen_pair, chosen_decay, price, after)
    return search(tasks, threshold, share, most_found, most_nodes)


WHOLE = 2**40  # approximate capacity of the surrogate, of which a resource has a share; its sums are exact
HALVINGS = 12


@compile_lazily
def add_surrogate(demand: Int, capacity: Int, most: Int, gain: Float) -> tuple[Int, Int]:
    """Return demands and capacities with one more resource: a sum of all others with integer weights (Glover, 1968).

    A pattern that fits each resource fits the sum, so any weights are valid. The function looks for weights that
    minimise the fractional knapsack. For one resource after another, a ternary search finds its best share relative to
    the earlier resources.

    - `demand` (n, R), `capacity` (R,), `most` (n,): see `Tasks`.
    - `gain` (n,): gain of a task of each class.
    """
    n, resources = demand.shape
    multiple, other = np.zeros(resources, dtype=np.int64), np.zeros(resources, dtype=np.int64)
    share, spent = np.zeros(resources), np.empty(n)
    need: Int = np.zeros((n, resources + 1), dtype=np.int64)
    room: Int = np.zeros(resources + 1, dtype=np.int64)
    need[:, :resources], room[:resources] = demand, capacity
    first = True
    for r in range(resources):
        if capacity[r] <= 0 or capacity[r] > WHOLE or not demand[:, r].any():
            continue
        if first:
            share[r], first = 1.0, False
            continue
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            left, right = low + (high - low) / 3.0, high - (high - low) / 3.0
            _mix_weights(share, r, left, capacity, multiple)
            _mix_weights(share, r, right, capacity, other)
            if _bound_by_sum(demand, capacity, most, gain, multiple, spent) <= _bound_by_sum(
                demand, capacity, most, gain, other, spent
            ):
                high = right
            else:
                low = left
        share *= 1.0 - low
        share[r] = low
    _mix_weights(share, 0, share[0], capacity, multiple)
    for r in range(resources):
        need[:, resources] += multiple[r] * demand[:, r]
        room[resources] += multiple[r] * capacity[r]
    return need, room


@compile_lazily
def _mix_weights(share: Float, at: int, own: float, capacity: Int, multiple: Int) -> None:
    """Set the integer weights `multiple` (R,): resource `at` gets the share `own`, the others the rest by `share`."""
    rest = share.sum() - share[at]
    for r in range(len(share)):
        part = own if r == at else (share[r] * (1.0 - own) / rest if rest > 0.0 else 0.0)
        multiple[r] = int(part * WHOLE / capacity[r]) if capacity[r] > 0 else 0


@compile_lazily
def _bound_by_sum(demand: Int, capacity: Int, most: Int, gain: Float, multiple: Int, spent: Float) -> float:
    """Return the value of the fractional knapsack over the sum of resources with weights `multiple` (R,)."""
    n, resources = demand.shape
    need, room = np.zeros(n, dtype=np.int64), 0
    for r in range(resources):
        need += multiple[r] * demand[:, r]
        room += multiple[r] * capacity[r]
    return knapsack(gain, need, float(room), most, 0, spent)


@compile_lazily
def values(on_it: Int, fixed: Float, scaled: Float, pair: Float) -> Float:
    """Return the value (P,) of the tasks `on_it` (P, N) of patterns: the sum of fixed + throughput * scaled."""
    found = np.zeros(len(on_it))
    there = np.empty(on_it.shape[1], dtype=np.int64)
    for p in range(len(on_it)):
        number = 0
        for c in range(on_it.shape[1]):
            if on_it[p, c]:
                there[number] = c
                number += 1
        for i in range(number):
            c, rate = there[i], 1.0
            for j in range(number):
                other = there[j]
                for _ in range(on_it[p, other] - (i == j)):
                    rate *= pair[c, other]
            found[p] += on_it[p, c] * (fixed[c] + scaled[c] * rate)
    return found


@compile_lazily
def find_first_type(on_it: Int, kinds: Int, demand: Int, capacity: Int, fits: NDArray[np.bool_]) -> Int:
    """Return for each pattern (P,) the first of the types `kinds` that holds its tasks `on_it` (P, N), or -1.

    - `demand` (K, N, R), `capacity` (K, R): demands and capacities for all types.
    - `fits` (K, N): whether a task of a class fits on a type.
    """
    patterns, n = on_it.shape
    found = np.full(patterns, -1, dtype=np.int64)
    for p in range(patterns):
        for k in kinds:
            holds = True
            for c in range(n):
                if on_it[p, c] and not fits[k, c]:
                    holds = False
                    break
            for r in range(capacity.shape[1]):
                if not holds:
                    break
                used = 0
                for c in range(n):
                    used += on_it[p, c] * demand[k, c, r]
                holds = used <= capacity[k, r]
            if holds:
                found[p] = k
                break
    return found
