"""Check certificates of `eva-packing` (cost) and `node-placement`: duals and surrogate covers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import Any

from tests.certificates.second.reading import (
    CHILDREN,
    GaveUp,
    Object,
    fields,
    leaves,
    listed,
    record,
    see,
    steps,
    whole,
    word,
)

Amounts = Sequence[int]
MOST_SUMS = 200_000  # above it the lowest price says which sums count


def multiples(numbers: Iterable[int]) -> int:
    return gcd(*numbers) or 1


class Room:
    """Tasks of equal demand and worth that go into so much: what is the most that fits worth?"""

    most_steps = 3_000_000

    def __init__(self, tasks: Iterable[tuple[int, Sequence[int], int]], room: Sequence[int]) -> None:
        """`tasks`: what one is worth, what it takes, and how many there are."""
        alike: dict[tuple[int, tuple[int, ...]], int] = {}
        for value, needs, count in tasks:
            if value > 0 and count > 0 and all(a <= q for a, q in zip(needs, room, strict=True)):
                alike[value, tuple(needs)] = alike.get((value, tuple(needs)), 0) + count
        felt = [r for r, q in enumerate(room) if sum(needs[r] * n for (_, needs), n in alike.items()) > q]
        self.room = [room[r] for r in felt]
        shares = [Fraction(1, max(1, q)) for q in self.room]
        unit = 1 << 60
        mixes = [[int(s == r) for s in range(len(felt))] for r in range(len(felt))]
        mixes += [[int(share * unit) for share in shares]] if len(felt) > 1 else []
        listed = []
        for (value, needs), count in alike.items():
            own = [needs[r] for r in felt]
            listed.append((value, own, [sum(m * a for m, a in zip(mix, own, strict=True)) for mix in mixes], count))
        listed.sort(key=lambda one: Fraction(one[0], one[2][-1] or 1) if mixes else one[0], reverse=True)
        self.items, self.mixes = listed, mixes
        self.suffix = [self._rates(place) for place in range(len(listed) + 1)]
        self.order = [
            sorted(range(len(listed)), key=lambda i, m=m: _rate(listed[i], m), reverse=True) for m in range(len(mixes))
        ]

    def _rates(self, place: int) -> list[tuple[int, int, int]]:
        """Of the tasks from a place on, in each mix: the best worth for what is taken, and what is free."""
        found = []
        for m in range(len(self.mixes)):
            some = self.items[place:]
            best = max(
                ((v, mixed[m]) for v, _, mixed, _ in some if mixed[m]), key=lambda p: Fraction(*p), default=(0, 1)
            )
            found.append((*best, sum(v * n for v, _, mixed, n in some if not mixed[m])))
        return found

    def bound(self, place: int, left: Sequence[int]) -> int:
        """No less than the tasks from a place on can add in what is left."""
        if not self.mixes:
            return sum(v * n for v, _, _, n in self.items[place:])
        least = None
        for m, mix in enumerate(self.mixes):
            amount = sum(a * b for a, b in zip(mix, left, strict=True))
            value, taken, free = self.suffix[place][m]
            most = free + amount * value // taken
            if least is None or most < least:
                least = most
        return least or 0

    def tight(self, place: int, left: Sequence[int]) -> int:
        """Return the same bound with the tasks in order of value per use, none beyond its number."""
        least = None
        for m, mix in enumerate(self.mixes):
            amount, total = sum(a * b for a, b in zip(mix, left, strict=True)), 0
            for i in self.order[m]:
                value, _, mixed, count = self.items[i]
                if i < place:
                    continue
                if mixed[m] * count > amount:
                    total += amount * value // mixed[m]
                    break
                amount -= mixed[m] * count
                total += value * count
            if least is None or total < least:
                least = total
        return least or 0

    def exceeds(self, target: int) -> int | None:
        """Return the value of a pattern above the target, `None` if there is none."""
        if target < 0:
            return 0
        if not self.mixes:
            return total if (total := self.bound(0, ())) > target else None
        seen: dict[tuple[int, tuple[int, ...]], int] = {}
        stack = [(0, tuple(self.room), 0)]
        done = 0
        while stack:
            place, left, worth = stack.pop()
            if worth > target:
                return worth
            done += 1
            if done > self.most_steps:
                raise GaveUp("the search for what fits is too long")
            if place == len(self.items) or worth + self.bound(place, left) <= target:
                continue
            if seen.get((place, left), -1) >= worth or worth + self.tight(place, left) <= target:
                continue
            seen[place, left] = worth
            value, needs, _, count = self.items[place]
            most = min([count, *(q // a for a, q in zip(needs, left, strict=True) if a)])
            for n in range(most + 1):
                stack.append((place + 1, tuple(q - n * a for a, q in zip(needs, left, strict=True)), worth + n * value))
        return None

    def most(self) -> int:
        """Return the maximum value of a pattern."""
        best, more = 0, self.exceeds(0)
        while more is not None:
            best, more = more, self.exceeds(more)
        return best


def _rate(item: Any, m: int) -> Fraction:
    return Fraction(item[0], item[2][m]) if item[2][m] else Fraction(10**60)


def own_resources(
    entries: Sequence[Any], places: Sequence[str], spread: Sequence[Object]
) -> list[tuple[list[int], list[int]]]:
    """Return the resources that represent constraints: the use of each entry's task, and the capacity of each place.

    `entries`: key, count, where they may be and how many on one place.
    """
    found = []
    allowed_sets = dict.fromkeys(frozenset(allowed) for _, _, allowed, _ in entries if allowed is not None)
    for allowed in allowed_sets:
        if len(allowed) < len(places):
            takes = [int(own is not None and frozenset(own) == allowed) for _, _, own, _ in entries]
            all_of_them = sum(n for (_, n, _, _), one in zip(entries, takes, strict=True) if one)
            found.append((takes, [all_of_them if name in allowed else 0 for name in places]))
    groups = [([key], most) for key, _, _, most in entries if most is not None]
    groups += [(group["tasks"], group["max_per_instance"]) for group in spread]
    for keys, most in groups:
        takes = [int(key in keys) for key, *_ in entries]
        if sum(n for (_, n, _, _), one in zip(entries, takes, strict=True) if one) > most:
            found.append((takes, [most] * len(places)))
    return found


@dataclass(frozen=True)
class Decision:
    """So much at most, or at least, on types: of instances, of price units spent, or of tasks of entries placed."""

    kind: str
    of: tuple[int, ...]
    tasks: tuple[int, ...]
    least: bool
    amount: int


def limits(data: Object) -> list[tuple[set[int], int]]:
    """Return, for each limit of the data, the indices of the types and the maximum number of their instances."""
    most = [(k, kind["max_instances"]) for k, kind in enumerate(data["instance_types"])]
    return [({k}, m) for k, m in most if m is not None]


@dataclass
class Packing:
    """Types in the order of the offers: `price` in units, `most` of each, `room`; entries with their `needs`."""

    data: Object
    price: list[int] = field(default_factory=list)
    most: list[int | None] = field(default_factory=list)
    of: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        data = self.data
        for k, kind in enumerate(data["instance_types"]):
            own = steps(kind["usd_per_hour"])
            left = min((most for kinds, most in limits(data) if k in kinds), default=None)
            cheaper: dict[int, int] = {}
            for one in data["running"]:
                cost = own if one["usd_per_hour"] is None else steps(one["usd_per_hour"])
                if one["type"] == kind["name"] and cost < own:
                    cheaper[cost] = cheaper.get(cost, 0) + one["count"]
            before = len(self.of)
            for cost, count in [*sorted(cheaper.items()), (own, None)]:
                most = count if left is None else left if count is None else min(left, count)
                if left is not None:
                    left -= most
                if most != 0:
                    self.offer(k, cost, most)
            if len(self.of) == before:
                self.offer(k, own, 0)
        self.unit = multiples(self.price)
        self.price = [price // self.unit for price in self.price]
        self.count = [task["count"] for task in data["tasks"]]
        self.family = [data["instance_types"][k]["family"] for k in self.of]
        extra = own_resources(
            [(key(t), t["count"], t["allowed_types"], t["max_per_instance"]) for t in data["tasks"]],
            [kind["name"] for kind in data["instance_types"]],
            data["spread"],
        )
        names = data["resources"]
        self.room = [
            [steps(data["instance_types"][k]["capacity"][r]) for r in names] + [has[k] for _, has in extra]
            for k in self.of
        ]
        self.needs = {
            family: [
                [steps(t["demand"].get(family, t["demand"]["default"])[r]) for r in names]
                + [takes[i] for takes, _ in extra]
                for i, t in enumerate(data["tasks"])
            ]
            for family in dict.fromkeys(self.family)
        }
        for r in range(len(self.room[0])):
            unit = multiples([q[r] for q in self.room] + [d[r] for needs in self.needs.values() for d in needs])
            for one in [*self.room, *(d for needs in self.needs.values() for d in needs)]:
                one[r] //= unit

    def offer(self, kind: int, cost: int, most: int | None) -> None:
        self.of.append(kind)
        self.price.append(cost)
        self.most.append(most)

    def checked(self, content: Object) -> Fraction:
        kinds, entries = len(self.price), len(self.count)
        places = listed(whole())
        branch = record(
            {"kind": word("instances", "spent", "placed"), "of": places, "amount": whole()}, {"tasks": places}
        )
        read = {"scale": whole(1), "tasks": listed(whole(), entries), "decisions": listed(whole())}
        read |= {"types": listed(whole(1 - (1 << 62)), kinds), "bound": signed}
        weights = listed(listed(whole(), len(self.room[0])), kinds)
        cover = record(
            {"weights": weights, "divisor": whole(1, 1 << 120)},
            {"tasks": listed(whole(), entries), "searched": listed(whole(0, kinds))},
        )
        totals = record({"covers": listed(cover), "bound": whole()})
        node = record({}, {"branch": branch, "children": CHILDREN, "leaf": record(read), "totals": totals})
        stated = fields(content, {"unit": whole(1), "bound": whole(), "nodes": listed(node)})
        see(stated["unit"] == self.unit, "prices are multiples of another unit")
        rows = [((k,), m) for k, m in enumerate(self.most) if m is not None]
        joint = [(kinds, m) for kinds, m in limits(self.data) if len(kinds) > 1]
        rows += [(tuple(o for o, k in enumerate(self.of) if k in kinds), m) for kinds, m in joint]
        limited = tuple(Decision("instances", of, (), False, m) for of, m in rows)
        proved = []
        for leaf, decided in leaves(stated["nodes"], limited, self.sides):
            see((leaf["leaf"] is None) != (leaf["totals"] is None), "a leaf of nothing, or of both")
            proved.append(
                self.by_totals(leaf["totals"], decided)
                if leaf["leaf"] is None
                else self.by_duals(leaf["leaf"], decided)
            )
        see(proved and min(proved) == stated["bound"], f"{min(proved, default=None)} is proved")
        return Fraction(stated["bound"] * self.unit, 10**9)

    def sides(self, node: Object, decided: tuple[Decision, ...]) -> Sequence[tuple[Decision, ...]]:
        b = node["branch"]
        see(node["leaf"] is None and node["totals"] is None, "a leaf with children")
        kind, of, tasks, amount = b["kind"], tuple(b["of"]), tuple(b["tasks"] or ()), b["amount"]
        for some, end in ((of, len(self.price)), (tasks, len(self.count))):
            see(len(set(some)) == len(some) and all(i < end for i in some), "a branch on what there is not")
        see(of and bool(tasks) == (kind == "placed"), "a branch without types, or on tasks without any")
        if kind == "placed":
            family = {k for k, f in enumerate(self.family) if f == self.family[of[0]]}
            see(len(of) == 1 or set(of) == family, "tasks placed on neither a type nor a family")
            others = tuple(k for k in range(len(self.price)) if k not in of)
            few = Decision(kind, others, tasks, True, sum(self.count[t] for t in tasks) - amount)
            return [(*decided, few), (*decided, Decision(kind, of, tasks, True, amount + 1))]
        step = multiples(self.price[k] for k in of) if kind == "spent" else 1
        see(amount % step == 0, "an amount that cannot be spent")
        return [
            (*decided, Decision(kind, of, (), False, amount)),
            (*decided, Decision(kind, of, (), True, amount + step)),
        ]

    def by_duals(self, leaf: Object, decided: Sequence[Decision]) -> int:
        """Return the bound that the duals of a leaf prove, after checking that no pattern violates them."""
        see(len(leaf["decisions"]) == len(decided), "a dual for each decision")
        value = sum(n * y for n, y in zip(self.count, leaf["tasks"], strict=True))
        worth, mu = [list(leaf["tasks"]) for _ in self.price], [0] * len(self.price)
        for d, dual in zip(decided, leaf["decisions"], strict=True):
            sign = dual if d.least else -dual
            value += sign * d.amount
            for k in d.of:
                if d.kind != "placed":
                    mu[k] += sign * (self.price[k] if d.kind == "spent" else 1)
                for t in d.tasks:
                    worth[k][t] += dual
        see(mu == leaf["types"], "the decisions add something else to the types")
        see(leaf["bound"] == Fraction(value, leaf["scale"]), "the duals add up to another bound")
        for k, price in enumerate(self.price):
            room = Room(zip(worth[k], self.needs[self.family[k]], self.count, strict=True), self.room[k])
            see(
                room.exceeds(leaf["scale"] * price - mu[k]) is None,
                f"a pattern of type {k} is worth more than its price",
            )
        return self.sums.at_least(-(-value // leaf["scale"]))

    @cached_property
    def sums(self) -> Sums:
        return Sums([price for price in self.price if price])

    @cached_property
    def fits(self) -> list[list[int]]:
        """The types on which a task of each entry fits."""
        found = [
            [k for k, f in enumerate(self.family) if fit(self.needs[f][t], self.room[k])]
            for t in range(len(self.count))
        ]
        if not all(found):
            raise GaveUp("a task fits nowhere")
        return found

    @cached_property
    def holds(self) -> list[list[int]]:
        """What of its room a type can fill: multiples of what the tasks that fit there take multiples of."""
        found = []
        for k, f in enumerate(self.family):
            here = [self.needs[f][t] for t, kinds in enumerate(self.fits) if k in kinds]
            units = [gcd(*(d[r] for d in here)) for r in range(len(self.room[k]))]
            found.append([q // u * u if u else 0 for q, u in zip(self.room[k], units, strict=True)])
        return found

    @cached_property
    def content(self) -> list[list[int]]:
        """The same, and no more than what the tasks that take of a resource can take, as each takes of the others."""
        found = [list(held) for held in self.holds]
        for k, held in enumerate(self.holds):
            here = [self.needs[self.family[k]][t] for t, kinds in enumerate(self.fits) if k in kinds]
            for r in range(len(held)):
                asking = [d for d in here if d[r]]
                for s in range(len(held)):
                    if s != r and asking and all(d[s] for d in asking):
                        found[k][r] = min(found[k][r], int(max(Fraction(d[r], d[s]) for d in asking) * held[s]))
        return found

    def by_totals(self, leaf: Object, decided: Sequence[Decision]) -> int:
        """Return the bound of totals: no cheaper instances satisfy all covers."""
        low, most = [0] * len(self.price), [None] * len(self.price)  # type: list[int], list[int | None]
        for d in decided:
            if d.kind == "instances" and len(d.of) == 1:
                k, known = d.of[0], most[d.of[0]]
                if d.least:
                    low[k] = max(low[k], d.amount)
                else:
                    most[k] = d.amount if known is None else min(known, d.amount)
        spent = sum(n * price for n, price in zip(low, self.price, strict=True))
        if spent >= leaf["bound"]:
            return int(leaf["bound"])
        more = [None if m is None else max(0, m - n) for m, n in zip(most, low, strict=True)]
        rooms, amounts = [], []
        for cover in leaf["covers"]:
            room, amount = self.cover(cover)
            rooms.append(room)
            amounts.append(amount - sum(n * w for n, w in zip(low, room, strict=True)))
        search = Multisets(self.price, more, rooms, amounts, *self.needless(more))
        see(not search.below(leaf["bound"] - spent), "instances that cost less meet all totals")
        return int(leaf["bound"])

    def cover(self, cover: Object) -> tuple[list[int], int]:
        """Return the amount of an instance of each type, and the total of all tasks."""
        weights, searched = cover["weights"], set(cover["searched"] or ())
        values = []
        for t, kinds in enumerate(self.fits):
            taken = [dot(weights[k], self.needs[self.family[k]][t]) for k in kinds if k not in searched]
            values.append(min(taken if cover["tasks"] is None else [cover["tasks"][t], *taken], default=0))
        rooms = [dot(w, held) for w, held in zip(weights, self.holds, strict=True)]
        for k in searched:
            rooms[k] = Room(zip(values, self.needs[self.family[k]], self.count, strict=True), self.room[k]).most()
        return rooms, dot(self.count, values)

    def needless(self, most: Sequence[int | None]) -> tuple[list[bool], list[list[bool]]]:
        """Types that another stands for, and pairs of instances, which takes all that they can hold at no more."""
        kinds = range(len(self.price))
        gone, apart = [False for _ in kinds], [[False for _ in kinds] for _ in kinds]
        for t in (t for t in kinds if most[t] is None):
            alike = [a for a in kinds if self.needs[self.family[a]] == self.needs[self.family[t]]]
            for a in alike:
                earlier = (self.price[t], t) < (self.price[a], a)
                gone[a] |= earlier and fit(self.content[a], self.room[t])
                for b in alike:
                    if a <= b and self.price[t] <= self.price[a] + self.price[b]:
                        both = [x + y for x, y in zip(self.content[a], self.content[b], strict=True)]
                        apart[a][b] |= fit(both, self.room[t])
                        apart[b][a] = apart[a][b]
        return gone, apart


class Multisets:
    """Numbers of instances that have room for all covers: whether any cost less than a limit."""

    most_steps, entries = 2_000_000, 20_000

    def __init__(self, price: Any, most: Any, rooms: Any, amounts: Any, gone: Any, apart: Any) -> None:
        self.kinds = sorted((k for k in range(len(price)) if not gone[k] and most[k] != 0), key=lambda k: -price[k])
        self.price, self.most, self.apart = price, most, apart
        self.covers = [(room, amount) for room, amount in zip(rooms, amounts, strict=True) if amount > 0]
        self.tables = [self.table(room, amount) for room, amount in self.covers]

    def table(self, room: Sequence[int], amount: int) -> tuple[int, list[float]]:
        """Return a divisor of the amount, and the minimum price of instances by capacity in multiples of it."""
        part = -(-amount // self.entries)
        least: list[float] = [0] + [float("inf")] * -(-amount // part)
        own = [(-(-room[k] // part), self.price[k]) for k in self.kinds if room[k] > 0]
        for parts in range(1, len(least)):
            least[parts] = min((least[max(0, parts - n)] + price for n, price in own), default=float("inf"))
        return part, least

    def below(self, limit: int) -> bool:
        """Return whether there are any: one instance more at each step, the dearest types first."""
        if not self.covers:
            return limit > 0
        self.steps = 0
        return self.deeper(0, [amount for _, amount in self.covers], 0, limit, {})

    def deeper(self, first: int, left: list[int], spent: int, limit: int, counts: dict[int, int]) -> bool:
        for place in range(first, len(self.kinds)):
            k = self.kinds[place]
            if (self.most[k] is not None and counts.get(k, 0) >= self.most[k]) or any(self.apart[j][k] for j in counts):
                continue
            self.steps += 1
            if self.steps > self.most_steps:
                raise GaveUp("the search for instances that meet all totals is too long")
            rest = [a - room[k] for a, (room, _) in zip(left, self.covers, strict=True)]
            more = [least[-(-a // part)] for a, (part, least) in zip(rest, self.tables, strict=True) if a > 0]
            if spent + self.price[k] + max(more, default=0) >= limit:
                continue
            if not more or self.deeper(place, rest, spent + self.price[k], limit, counts | {k: counts.get(k, 0) + 1}):
                return True
        return False


class Sums:
    """What prices can add up to, each as often as one likes."""

    def __init__(self, prices: Sequence[int]) -> None:
        self.prices = sorted(set(prices))

    def at_least(self, amount: int) -> int:
        """Return the minimum sum of prices >= an amount; beyond Schur's Frobenius bound, every multiple is a sum."""
        if amount <= 0 or not self.prices or self.prices[0] > MOST_SUMS:
            return max(0, amount)
        unit, low, high = multiples(self.prices), self.prices[0], self.prices[-1]
        least = -(-amount // unit)
        if least >= (low // unit - 1) * (high // unit - 1):
            return least * unit
        reached, end = 1, least + low // unit + 1
        for price in self.prices:  # a bit for each sum
            step = price // unit
            while step < end:
                reached |= reached << step
                reached &= (1 << end) - 1
                step *= 2
        above = reached >> least
        return (least + (above & -above).bit_length() - 1) * unit


def placement(data: Object, content: Object) -> Fraction | None:
    """Return the proven minimum number of moves, `None` if infeasibility is proven."""
    nodes, pods, names = data["nodes"], data["pods"], data["resources"]
    duals = record({"scale": whole(), "pods": listed(whole(), len(pods)), "nodes": listed(whole(), len(nodes))})
    stated = fields(
        content,
        {"bound": lambda v: v if v is None else whole()(v)},
        {"duals": duals, "weights": listed(listed(whole()))},
    )
    see((stated["duals"] is None) != (stated["weights"] is None), "neither duals nor weights, or both")
    extra = own_resources(
        [(p["name"], p["count"], p["allowed_nodes"], p["max_per_node"]) for p in pods],
        [node["name"] for node in nodes],
        data["spread"],
    )
    needs = [[steps(p["demand"][r]) for r in names] + [takes[i] for takes, _ in extra] for i, p in enumerate(pods)]
    rooms = [[steps(m["capacity"][r]) for r in names] + [has[i] for _, has in extra] for i, m in enumerate(nodes)]
    for r in range(len(rooms[0])):
        unit = multiples([q[r] for q in rooms] + [d[r] for d in needs])
        for one in [*rooms, *needs]:
            one[r] //= unit
    now = [[m["pods"].get(p["name"], 0) for p in pods] for m in nodes]
    count = [p["count"] for p in pods]
    if stated["duals"] is None:
        see(
            stated["bound"] is None and weights_refute(stated["weights"], needs, rooms, count),
            "there is room by the weights",
        )
        return None
    found = by_duals(stated["duals"], data["movable"], now, count, needs, rooms)
    see(found == stated["bound"], f"{found} moves are proved")
    return None if found is None else Fraction(found)


def weights_refute(weights: Any, needs: Any, rooms: Any, count: Any) -> bool:
    """Return whether all nodes have less than all pods take."""
    see(needs and [len(w) for w in weights] == [len(q) for q in rooms], "a weight for each resource of each node")
    had, taken = 0, 0
    for w, q in zip(weights, rooms, strict=True):
        here = [d for d in needs if fit(d, q)]
        units = [gcd(*(d[r] for d in here)) for r in range(len(q))]
        had += sum(a * (b // u * u) for a, b, u in zip(w, q, units, strict=True) if u)
    for d, n in zip(needs, count, strict=True):
        fitting = [dot(w, d) for w, q in zip(weights, rooms, strict=True) if fit(d, q)]
        if not fitting:
            raise GaveUp("a pod fits nowhere")
        taken += n * min(fitting)
    return had < taken


def by_duals(duals: Any, movable: bool, now: Any, count: Any, needs: Any, rooms: Any) -> int | None:
    """Return the minimum number of moves that duals prove, `None` if they prove infeasibility."""
    scale, in_place = duals["scale"], sum(map(sum, now))
    for node, (here, room, most) in enumerate(zip(now, rooms, duals["nodes"], strict=True)):
        kept = 0
        tasks = []
        for n, all_of_them, y, d in zip(here, count, duals["pods"], needs, strict=True):
            tasks += [(y + scale, d, n if movable else 0), (y, d, all_of_them - n)]
            if not movable:
                room = [q - n * a for q, a in zip(room, d, strict=True)]
                kept += n * (y + scale)
        if min(room, default=0) < 0:  # more is there than may stay, and nothing may move
            return None
        see(Room(tasks, room).exceeds(most - kept) is None, f"what fits on node {node} may be worth more")
    value = dot(count, duals["pods"]) + scale * in_place - sum(duals["nodes"])
    if value > scale * (in_place if movable else 0):
        return None
    return max(0, -(-value // scale)) if scale else 0


def key(task: Object) -> str:
    return task["workload"] if task["job"] is None else f"{task['workload']}@{task['job']}"


def dot(one: Amounts, other: Amounts) -> int:
    return sum(a * b for a, b in zip(one, other, strict=True))


def fit(needs: Amounts, room: Amounts) -> bool:
    return all(a <= q for a, q in zip(needs, room, strict=True))


def signed(value: Any) -> Fraction:
    see(isinstance(value, str), "no text")
    top, mark, under = value.removeprefix("-").partition("/")
    digits = all(part.isascii() and part.isdigit() and len(part) <= 61 for part in ([top, under] if mark else [top]))
    see(digits and (not mark or under[0] != "0"), f"{value[:40]} is no rational number")
    return Fraction(value)
