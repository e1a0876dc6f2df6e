"""The best content of each node at given prices of the pods, by depth-first search in compiled code.

A node's content is worth what its pods are, and 1 for each of those in place that stays, which are items of their
own. What a partial content can still gain is bounded by the room that is left in one mix of the resources, filled
in the order of worth for room (Dantzig, 1957); of a few mixes the one that says least at the root is taken.
"""

from __future__ import annotations

import numpy as np

from instances.compiled import compiled

NOTHING = 1e-9


@compiled
def best_contents(price, now, room, need, count, mixes, target, margin, steps):  # type: ignore[no-untyped-def]
    """The best content (M, N) of each node, and the most that any is worth (M,).

    `price` (N,) of the pods, `now` (M, N), `room` (M, R), `need` (N, R), `count` (N,), `mixes` (X, R). A content that
    is worth no more than `target` (M,), or than another one and the `margin`, is not looked for; a search that takes
    more than `steps` ends with a bound.
    """
    nodes, classes = now.shape
    resources = need.shape[1]
    contents = np.zeros((nodes, classes), dtype=np.int64)
    most = target.copy()
    item = np.zeros(2 * classes, dtype=np.int64)
    value = np.zeros(2 * classes)
    copies = np.zeros(2 * classes, dtype=np.int64)
    size = np.zeros(2 * classes)
    best_order = np.zeros(2 * classes, dtype=np.int64)
    for m in range(nodes):
        n = 0
        for c in range(classes):
            fit = count[c]
            for r in range(resources):
                if need[c, r] > 0:
                    fit = min(fit, room[m, r] // need[c, r])
            if fit <= 0:
                continue
            here = min(fit, now[m, c])
            if here > 0:
                item[n], value[n], copies[n] = c, price[c] + 1.0, here
                n += 1
            come = min(fit, count[c] - now[m, c])
            if come > 0 and price[c] > NOTHING:
                item[n], value[n], copies[n] = c, price[c], come
                n += 1
        least, mix = np.inf, 0
        for x in range(len(mixes)):
            whole = 0.0
            for r in range(resources):
                whole += mixes[x, r] * (1.0 if room[m, r] > 0 else 0.0)
            if whole == 0.0:  # of what the node has nothing the pods that fit take nothing
                whole = np.inf
            for i in range(n):
                size[i] = 1e-12
                for r in range(resources):
                    if room[m, r] > 0:
                        size[i] += mixes[x, r] * need[item[i], r] / room[m, r]
            order = np.argsort(-(value[:n] / size[:n]))
            gain, left = 0.0, whole
            for i in order:
                taken = min(float(copies[i]), left / size[i])
                gain += taken * value[i]
                left -= taken * size[i]
                if left <= 1e-12:
                    break
            if gain < least:
                least, mix = gain, x
                best_order[:n] = order
        if n == 0 or least <= target[m] + margin:
            most[m] = max(target[m], least)
            continue
        demand = np.zeros((n, resources), dtype=np.int64)
        worths, number, sizes = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n)
        rest = 0.0
        for r in range(resources):
            rest += mixes[mix, r] * (1.0 if room[m, r] > 0 else 0.0)
        if rest == 0.0:
            rest = np.inf
        for k in range(n):
            i = best_order[k]
            worths[k], number[k] = value[i], copies[i]
            sizes[k] = 1e-12
            for r in range(resources):
                demand[k, r] = need[item[i], r]
                if room[m, r] > 0:
                    sizes[k] += mixes[mix, r] * need[item[i], r] / room[m, r]
        best, taken, complete = _search(demand, room[m], sizes, rest, number, worths, target[m], margin, steps)
        most[m] = min(least, best + margin) if complete else least
        if best > target[m]:
            for k in range(n):
                contents[m, item[best_order[k]]] += taken[k]
    return contents, most


@compiled
def _search(demand, room, size, whole, count, value, target, margin, steps):  # type: ignore[no-untyped-def]
    """The most worth over `target`, how many of each item, and whether the search came to its end."""
    n, resources = demand.shape
    filled, valued = np.zeros(n + 1), np.zeros(n + 1)  # what the mix takes, and is worth, of all items before
    for i in range(n):
        filled[i + 1] = filled[i] + count[i] * size[i]
        valued[i + 1] = valued[i] + count[i] * value[i]
    left = np.zeros((n + 1, resources), dtype=np.int64)
    rest, gained = np.zeros(n + 1), np.zeros(n + 1)
    taken, found = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    left[0], rest[0] = room, whole
    best, depth, done, entering = target, 0, 0, True
    while depth >= 0:
        done += 1
        if done > steps:
            return best, found, False
        if entering:
            if gained[depth] > best:
                best = gained[depth]
                found[:depth] = taken[:depth]
                found[depth:] = 0
            end = filled[depth] + rest[depth]
            j = np.searchsorted(filled[depth:], end, side="right") + depth - 1
            gain = valued[j] - valued[depth]
            if j < n:
                gain += (end - filled[j]) * value[j] / size[j]
            if depth == n or gained[depth] + gain <= best + margin:
                depth -= 1
                entering = False
                continue
            most = count[depth]
            for r in range(resources):
                if demand[depth, r] > 0:
                    most = min(most, left[depth, r] // demand[depth, r])
            taken[depth] = most
        else:
            if taken[depth] == 0:
                depth -= 1
                continue
            taken[depth] -= 1
        for r in range(resources):
            left[depth + 1, r] = left[depth, r] - taken[depth] * demand[depth, r]
        rest[depth + 1] = rest[depth] - taken[depth] * size[depth]
        gained[depth + 1] = gained[depth] + taken[depth] * value[depth]
        depth += 1
        entering = True
    return best, found, True
