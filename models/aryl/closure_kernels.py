"""The bound of a node of the branch and bound over closures, and reduced costs (numba).

See `models/aryl/closure_tree.py` for the mathematics and `models/aryl/closure_flow.py` for the network and its flow.
"""

from __future__ import annotations

from instances.arrays import BoolArray
from instances.compiled import compiled
from models.aryl.closure_flow import FAR, FEWEST, NEED, TRAIL, UNIT, Network, Search, copy, maximum_flow, restrict


@compiled
def _line(net: Network, s: Search, chosen: BoolArray) -> tuple[int, int]:
    """Jobs of `chosen` that are not fixed, and the servers of groups alive that they free."""
    cost, freed = 0, 0
    for j in range(len(chosen)):
        chosen[j] = chosen[j] and s.fixed[j] < 0
        cost += chosen[j]
    for g in range(len(net.servers)):
        if s.alive[g]:
            every = True
            for e in range(net.first[g], net.first[g + 1]):
                if s.fixed[net.job[e]] < 0 and not chosen[net.job[e]]:
                    every = False
                    break
            if every:
                freed += net.servers[g]
    return cost, freed


@compiled
def _offer(s: Search, size: int, chosen: BoolArray) -> None:
    """Take the jobs that are preempted and the `chosen` ones, `size` in all, if they are fewer than the best."""
    if size < s.state[FEWEST]:
        s.state[FEWEST] = size
        for j in range(len(chosen)):
            s.best[j] = chosen[j] or s.fixed[j] == 1


@compiled
def _crossing(left_cost: int, left_freed: int, right_cost: int, right_freed: int, need: int) -> tuple[int, int]:
    """The price at which the lines of two closures cross, rounded down, and their height there, rounded up."""
    cost, freed = (right_cost - left_cost) * UNIT, right_freed - left_freed
    return max(0, cost // freed), left_cost * UNIT - (left_freed - need) * cost // freed + 1


@compiled
def evaluate(net: Network, s: Search, price: int, rounds: int, cutting: bool) -> tuple[int, int]:
    """The largest Lagrangian bound that `rounds` prices of a server give, with its price; at best that of the LP.

    Leaves the flow of that bound behind, and closures left and right of the servers needed. No price gives more than
    where the lines of two closures cross, so that is where to look next; evaluated only for `cutting` it off, a node
    that this says stays open is left (a bound of -FAR where no price was tried).
    """
    ones, total, need = 0, 0, s.state[NEED]
    for j in range(len(s.fixed)):
        ones += s.fixed[j] == 1
    for g in range(len(net.servers)):
        kept, free = False, True
        for e in range(net.first[g], net.first[g + 1]):
            kept = kept or s.fixed[net.job[e]] == 0
            free = free and s.fixed[net.job[e]] == 1
        s.alive[g] = not kept and not free
        total += net.servers[g] if s.alive[g] else 0
        need -= net.servers[g] if free else 0
    s.reached[:] = False
    if need <= 0:
        _offer(s, ones, s.reached)
        return FAR, price
    if total < need:
        return FAR, price
    left_cost, left_freed = _line(net, s, s.left)
    if left_freed >= need:
        _offer(s, ones + left_cost, s.left)
        s.left[:] = False
        left_cost, left_freed = 0, 0
    right_cost, right_freed = _line(net, s, s.right)
    if right_freed < need:
        s.right[:] = True
        right_cost, right_freed = _line(net, s, s.right)
    best, best_price, most = -FAR, price, (s.state[FEWEST] - 1) * UNIT
    price, above = _crossing(left_cost, left_freed, right_cost, right_freed, need)
    for _ in range(rounds):
        if cutting and ones * UNIT + above <= most:
            break
        restrict(net, s, price)
        maximum_flow(net, s, ones * UNIT + price * need - most)
        bound = ones * UNIT + price * need - s.spare.sum()
        if bound > best:
            best, best_price = bound, price
            copy(s.flow, s.kept)
        if best > most:
            break
        cost, freed = _line(net, s, s.reached)
        if freed >= need:
            _offer(s, ones + cost, s.reached)
            right_cost, right_freed = cost, freed
            copy(s.reached, s.right)
        else:
            left_cost, left_freed = cost, freed
            copy(s.reached, s.left)
        crossing, above = _crossing(left_cost, left_freed, right_cost, right_freed, need)
        if crossing in (price, best_price):
            break
        price = crossing
    if best > -FAR:
        copy(s.kept, s.flow)
    return best, best_price


@compiled
def fix_by_reduced_costs(net: Network, s: Search, bound: int, price: int) -> None:
    """Fix jobs of which the other value costs more than the best solution allows; `flow` is that of `bound`.

    No best solution of the linear relaxation has the other value either, so its bound stays.
    """
    restrict(net, s, price)
    most = (s.state[FEWEST] - 1) * UNIT
    for j in range(len(s.fixed)):
        if s.fixed[j] >= 0:
            continue
        lost = 0
        for k in range(net.begin[j], net.begin[j + 1]):
            lost += s.spare[net.group[net.pair[k]]]
        if bound + s.room[j] > most:
            fix(s, j, 0)
        elif bound + lost > most:
            fix(s, j, 1)


@compiled
def fix(s: Search, job: int, value: int) -> None:
    """Fix a job."""
    s.fixed[job] = value
    s.trail[s.state[TRAIL]] = job
    s.state[TRAIL] += 1
