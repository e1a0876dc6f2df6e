"""Check certificates of `boa-allocation`: Lagrangian prices, near-shortest paths, and runs at real widths."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from math import inf, isqrt
from typing import Any

from tests.certificates.second.reading import (
    CHILDREN,
    GaveUp,
    Object,
    exact,
    fields,
    leaves,
    listed,
    rational,
    record,
    see,
    whole,
    word,
)

FAR, WIDEST = 1 << 61, 100_000
DIGITS = Context(prec=60, Emax=10**9, Emin=-(10**9))
NEAR = Fraction(1, 10**40)  # more than sixty digits are rounded by
LOOSE = Fraction(1, 10**8)  # what is stated of a run is no farther below its least length
Label = tuple[int, int]  # time and cost


def checked(data: Object, content: Object) -> Fraction:
    """Return the bound that a certificate proves."""
    rescales = any(c["rescale_hours"] for c in data["classes"])
    if rescales and data["widths"] == "continuous":
        return Runs(data).checked(content)
    if not rescales and (data["widths"] == "continuous" or len(data["gpu_types"]) > 1):
        return lagrangian(data, content)
    return Units(data, content).checked()


class Curves:
    """The speedups of an instance, which epochs may share."""

    def __init__(self, data: Object) -> None:
        self.data = data
        self.known: dict[tuple[str, str], Curve] = {}

    def of(self, speedup: Object, kind: str) -> Curve:
        key = repr(speedup), kind
        if key not in self.known:
            self.known[key] = Curve(self.data, speedup, kind)
        return self.known[key]


class Curve:
    """A speedup on one type of GPU: `end` is the last width, `None` where there is none."""

    def __init__(self, data: Object, speedup: Object, kind: str) -> None:
        form = speedup.get(kind) or speedup
        self.amdahl, self.power, table = form["amdahl"], form["power"], form["table"]
        self.end, self.corners = data["max_width"], None
        self.known: dict[Fraction, Fraction] = {}
        if table is not None:
            measured = [(k, exact(s)) for k, s in zip(table["gpus"], table["speedup"], strict=True)]
            last = table["gpus"][-1]
            self.end = last if self.end is None else min(self.end, last)
            points = [(k, s) for k, s in measured if k <= self.end]
            if points[-1][0] < self.end:
                points.append((self.end, on_a_line(measured, self.end)))
            whole_widths = data["widths"] == "integer" and data["speedup_reading"] == "measured"
            rescales = any(c["rescale_hours"] for c in data["classes"])
            self.corners = points if whole_widths and (rescales or len(data["gpu_types"]) == 1) else hull(points)
        elif self.amdahl is not None:  # next to 1 the checker's floats may have less left
            self.serial = min(1 - exact(self.amdahl), Fraction(1 - self.amdahl))
            self.parallel = exact(self.amdahl)

    def time(self, width: Fraction) -> Fraction:
        """1/s at a width, of a power next to it."""
        if width not in self.known:
            self.known[width] = self.worked_out(width)
        return self.known[width]

    def worked_out(self, width: Fraction) -> Fraction:
        if self.corners is not None:
            return 1 / on_a_line(self.corners, width)
        if self.amdahl is not None:
            return self.serial + self.parallel / width
        return to_the(1 / width, exact(self.power))

    def slope(self, width: Fraction) -> Fraction:
        """Return the derivative of 1/s, to the right of a corner."""
        if self.corners is not None:
            at = min(bisect_right(self.corners, (width, inf)), len(self.corners))
            if at == len(self.corners):
                return Fraction(0)
            (k0, s0), (k1, s1) = self.corners[at - 1 : at + 1]
            return -(s1 - s0) / (k1 - k0) * self.time(width) ** 2
        if self.amdahl is not None:
            return -self.parallel / width**2
        return -exact(self.power) * self.time(width) / width


def to_the(base: Fraction, exponent: Fraction) -> Fraction:
    root = DIGITS.divide(Decimal(base.numerator), Decimal(base.denominator))
    return Fraction(DIGITS.power(root, DIGITS.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))))


def on_a_line(points: Sequence[tuple[int, Fraction]], width: Any) -> Fraction:
    """Interpolate between points at a width, linearly, and constant after the last point."""
    at = bisect_right(points, (width, inf))
    if at == len(points):
        return points[-1][1]
    (k0, s0), (k1, s1) = points[at - 1 : at + 1]
    return s0 + (s1 - s0) * (width - k0) / (k1 - k0)


def hull(points: Sequence[tuple[int, Fraction]]) -> list[tuple[int, Fraction]]:
    """Return the corners of the least concave function above points, up to its maximum."""
    found: list[tuple[int, Fraction]] = []
    for k, s in points:
        while len(found) > 1:
            (k0, s0), (k1, s1) = found[-2:]
            if (s1 - s0) * (k - k1) > (s - s1) * (k1 - k0):
                break
            found.pop()
        if not found or s > found[-1][1]:
            found.append((k, s))
    return found


def budget(data: Object) -> Fraction:
    """Return the budget that the checker grants in floats: 2^-30 more, and 10^-12 of it for rounding."""
    return Fraction(data["budget"] * (1 + 2**-30) * (1 + 1e-12))


def share(data: Object, job_class: Object) -> Fraction:
    """Return the weight of a class's time in the mean."""
    total = sum(exact(c["weight"]) * exact(c["arrivals_per_hour"]) for c in data["classes"])
    return exact(job_class["weight"]) * exact(job_class["arrivals_per_hour"]) / total


def lagrangian(data: Object, content: Object) -> Fraction:
    """Return the bound that the price of a Lagrangian proves; formulas are exact but for roots and powers."""
    stated = fields(content, {"kind": word("lagrangian"), "price": rational, "bound": rational})
    total, price = Fraction(0), stated["price"]
    for c in data["classes"]:
        value, paid = share(data, c), price * exact(c["arrivals_per_hour"])
        for epoch in c["epochs"]:
            least = (
                least_length(Curve(data, epoch["speedup"], t["name"]), value, paid * exact(t["price"]), data["widths"])
                for t in data["gpu_types"]
            )
            total += exact(epoch["size_hours"]) * min(least)
    spent = price * budget(data)
    room = NEAR * (total + spent) if rounded(data) else Fraction(0)
    see(abs(max(total - spent, Fraction(0)) - stated["bound"]) <= room, "the price proves another")
    return Fraction(stated["bound"])


def rounded(data: Object) -> bool:
    """Return whether there are formulas, whose roots and powers are rounded."""
    speedups = [e["speedup"] for c in data["classes"] for e in c["epochs"]]
    return any((s.get(t["name"]) or s)["table"] is None for s in speedups for t in data["gpu_types"])


def least_length(curve: Curve, value: Fraction, price: Fraction, widths: str) -> Fraction:
    """Return the minimum of (value + price k) / s(k) over the widths k."""

    def length(k: Any) -> Fraction:
        return (value + price * k) * curve.time(Fraction(k))

    if curve.corners is not None:
        return min(length(k) for k, _ in curve.corners)
    share = exact(curve.amdahl if curve.amdahl is not None else curve.power)
    rest = 1 - share if curve.amdahl is None else curve.serial
    if not share:
        return value + price
    if not price or share == 1:  # it falls, and never rises
        if curve.end is None:
            see(not price and share < 1, "a length that falls for ever")
            return value * rest if curve.amdahl is not None else Fraction(0)
        return length(curve.end)
    best = value * share / (price * rest)
    if curve.amdahl is not None:
        best = Fraction(isqrt(best.numerator * 10**100 // best.denominator), 10**50)
    best = max(Fraction(1), best if curve.end is None else min(best, Fraction(curve.end)))
    if widths == "integer":
        return min(length(k) for k in (int(best), int(best) + 1) if curve.end is None or k <= curve.end)
    return length(best)


class Units:
    """Whole widths: all times and costs in whole units, rounded down, and the paths near the shortest."""

    def __init__(self, data: Object, content: Object) -> None:
        bits, large = whole(0, 201), whole(0, (1 << 62) + 1)
        read = {"kind": word("units"), "time_bits": bits, "cost_bits": bits, "scale": whole(1, (1 << 40) + 1)}
        read |= {"price": whole(0, (1 << 60) + 1), "shortest": large, "bound": large, "closed": word(True, False)}
        self.stated = fields(content, read)
        self.scale, self.price = self.stated["scale"], self.stated["price"]
        hour, coin = 2 ** self.stated["time_bits"], 2 ** self.stated["cost_bits"]
        self.budget, self.curves = int(budget(data) * coin) + 1, Curves(data)
        self.last = widest(data, self.curves)
        self.classes = [self.of_class(data, c, hour, coin) for c in data["classes"]]
        times = sum(sum(max(a for a, _ in runs.values()) + most for runs in rows) for rows, most, _ in self.classes)
        costs = sum(
            sum(max(b for _, b in runs.values()) + max(paid.values()) for runs in rows)
            for rows, _, paid in self.classes
        )
        longest = self.scale * times + self.price * (costs + self.budget)
        see(max(longest, costs + self.budget) < FAR, "units so fine that sums leave 64 bits")

    def of_class(
        self, data: Object, c: Object, hour: int, coin: int
    ) -> tuple[list[dict[Any, Label]], int, dict[Any, int]]:
        """Time and cost of the runs of each epoch by choice, the time of a change, and its cost by choice."""
        slow, charged = share(data, c) * hour, exact(c["arrivals_per_hour"]) * coin
        pause, prices = exact(c["rescale_hours"]), {t["name"]: exact(t["price"]) for t in data["gpu_types"]}
        rows: list[dict[Any, Label]] = []
        for epoch in c["epochs"]:
            size, runs = exact(epoch["size_hours"]), {}
            for name, price in prices.items():
                curve = self.curves.of(epoch["speedup"], name)
                for k in range(1, (self.last if curve.corners is None else curve.end) + 1):
                    hours = size * curve.time(Fraction(k))
                    if curve.power is not None:
                        hours *= 1 - NEAR
                    runs[name, k] = int(slow * hours), int(charged * hours * price * k)
            rows.append(runs)
        choices = {choice for runs in rows for choice in runs}
        return rows, int(slow * pause), {(t, k): int(charged * pause * prices[t] * k) for t, k in choices}

    def length(self, label: Label) -> int:
        return self.scale * label[0] + self.price * label[1]

    def ahead(self, rows: Any, pause: int, paid: Any) -> list[dict[Any, int]]:
        """By epoch and choice the shortest length from there to the end, and under `None` that with a change first."""
        found: list[dict[Any, int]] = [dict.fromkeys(paid, 0) | {None: 0}]
        for runs in reversed(rows):
            here = {x: self.length(run) + min(found[0].get(x, inf), found[0][None]) for x, run in runs.items()}
            here[None] = min(self.length((pause, paid[x])) + here[x] for x in runs)
            found.insert(0, here)
        return found

    def checked(self) -> Fraction:
        ahead = [self.ahead(*c) for c in self.classes]
        shortest = sum(a[0][None] for a in ahead)
        see(shortest == self.stated["shortest"], "the shortest paths have another length")
        bound, reach = self.stated["bound"], self.scale * self.stated["bound"] + self.price * self.budget
        if self.stated["closed"]:
            see(reach < FAR, "units so fine that sums leave 64 bits")
            found: Any = self.fastest(ahead, reach - shortest)
        else:
            found = -((self.price * self.budget - shortest) // self.scale)
        see(found == bound, f"{found} units are proved")
        return Fraction(bound, 2 ** self.stated["time_bits"])

    def fastest(self, ahead: Any, rest: int) -> int | None:
        """Return the minimum time of a policy within the budget whose paths exceed the shortest by at most the rest."""
        policies: list[Label] = [(0, 0)]
        left = sum(a[0][None] for a in ahead)
        most = left + rest
        for c, a in zip(self.classes, ahead, strict=True):
            left -= a[0][None]
            paths = self.paths(c, a, a[0][None] + rest)
            both = ((t + u, b + v) for t, b in policies for u, v in paths)
            fit = (
                p
                for p in both
                if self.length(p) + left <= most and p[1] <= self.budget and p[0] <= self.stated["bound"]
            )
            policies = best_of(fit)
        return min((t for t, _ in policies), default=None)

    def paths(self, c: Any, ahead: Any, most: int) -> list[Label]:
        """Time and cost of a class's paths up to a length, without those that another beats in both."""
        rows, pause, paid = c
        labels: dict[Any, list[Label]] = {None: [(0, 0)]}
        for runs, onward in zip(rows, ahead, strict=False):
            anew = sorted(best_of(one for some in labels.values() for one in some), key=self.length)
            after: dict[Any, list[Label]] = {}
            for x, (t, b) in runs.items():
                spent = onward[x] + self.length((pause, paid[x]))
                some = []
                for u, v in anew:
                    if self.length((u, v)) + spent > most:
                        break
                    some.append((u + pause + t, v + paid[x] + b))
                some += [(u + t, v + b) for u, v in labels.get(x, ()) if self.length((u, v)) + onward[x] <= most]
                if some:
                    after[x] = best_of(some)
            labels = after
        return best_of(one for some in labels.values() for one in some)


def best_of(labels: Iterable[Label]) -> list[Label]:
    """Those that no other beats in time and cost."""
    found: list[Label] = []
    for t, b in sorted(labels):
        if not found or b < found[-1][1]:
            found.append((t, b))
    return found


def widest(data: Object, curves: Curves) -> int:
    """Return the last width of any run; a formula without a near end ends where the remaining budget does."""
    least, ends = [], [1]
    for c in data["classes"]:
        least.append(Fraction(0))
        for epoch in c["epochs"]:
            of = [(curves.of(epoch["speedup"], t["name"]), exact(t["price"])) for t in data["gpu_types"]]
            cheapest = [price * min((k / s for k, s in hull(v.corners or [(1, Fraction(1))]))) for v, price in of]
            least[-1] += exact(epoch["size_hours"]) * min(cheapest)
    spare = budget(data) - sum(
        exact(c["arrivals_per_hour"]) * one for c, one in zip(data["classes"], least, strict=True)
    )
    for c, own in zip(data["classes"], least, strict=True):
        for epoch, t in ((epoch, t) for epoch in c["epochs"] for t in data["gpu_types"]):
            curve = curves.of(epoch["speedup"], t["name"])
            if curve.end is not None and (curve.corners or curve.end <= WIDEST):
                ends.append(curve.end)
                continue
            hours = (spare / exact(c["arrivals_per_hour"]) + own) / exact(t["price"])
            size, pause, low, high = exact(epoch["size_hours"]), exact(c["rescale_hours"]), 1, 2
            while high * (size * curve.worked_out(Fraction(high)) + pause) <= hours:
                low, high = high, 2 * high
                if low > WIDEST:
                    raise GaveUp("widths without an end")
            while high - low > 1:
                k = (low + high) // 2
                low, high = (k, high) if k * (size * curve.worked_out(Fraction(k)) + pause) <= hours else (low, k)
            ends.append(low)
    return max(ends)


class Runs:
    """Real widths with rescaling times: a tree, and in each leaf the Lagrangian of runs."""

    def __init__(self, data: Object) -> None:
        self.data, self.curves = data, Curves(data)
        self.known: dict[Any, Fraction] = {}

    def checked(self, content: Object) -> Fraction:
        at = whole(0, 10**9 + 1)
        branch = record({"job_class": at, "epoch": at}, {"type": at})
        node = record({}, {"branch": branch, "children": CHILDREN, "price": rational, "bound": rational})
        stated = fields(content, {"kind": word("runs"), "bound": rational, "nodes": listed(node)})
        proved = []
        for leaf, decided in leaves(stated["nodes"], (), self.sides):
            least = self.least(leaf["price"], decided)
            see(
                (leaf["price"] is None) == (leaf["bound"] is None) == (least is None),
                "a price where no policy is left, or none",
            )
            if least is not None:
                room = LOOSE * (least + leaf["price"] * budget(self.data))
                exceeds = leaf["bound"] > max(least - leaf["price"] * budget(self.data), Fraction(0))
                see(not exceeds, "a leaf proves less")
                see(leaf["bound"] >= least - leaf["price"] * budget(self.data) - room, "a leaf proves more")
                proved.append(leaf["bound"])
        see(proved and min(proved) == stated["bound"], "the leaves prove another bound")
        return Fraction(stated["bound"])

    def sides(self, node: Object, decided: tuple[Any, ...]) -> Sequence[tuple[Any, ...]]:
        b = node["branch"]
        see(node["price"] is None and node["bound"] is None, "a price at a branch")
        there = b["job_class"] < len(self.data["classes"])
        there = there and b["epoch"] < len(self.data["classes"][b["job_class"]]["epochs"])
        within = b["epoch"] > 0 if b["type"] is None else b["type"] < len(self.data["gpu_types"])
        see(there and within, "a branch on what there is not")
        return [(*decided, (b["job_class"], b["epoch"], b["type"], holds)) for holds in (True, False)]

    def least(self, price: Fraction | None, decided: Iterable[Any]) -> Fraction | None:
        """Return the total length of the shortest allowed paths of all classes, `None` if a class has none."""
        total = Fraction(0)
        for i, c in enumerate(self.data["classes"]):
            own = [d[1:] for d in decided if d[0] == i]
            best: list[Fraction | None] = [Fraction(0)]
            for end in range(1, len(c["epochs"]) + 1):
                lengths = [
                    before + self.run(price or Fraction(0), i, first, end, t)
                    for first, before in enumerate(best)
                    if before is not None
                    for t in range(len(self.data["gpu_types"]))
                    if all(allows(d, first, end, t) for d in own)
                ]
                best.append(min(lengths, default=None))
            if best[-1] is None:
                return None
            total += best[-1]
        return total

    def run(self, price: Fraction, i: int, first: int, end: int, kind: int) -> Fraction:
        """Return the minimum length of a run, or slightly less."""
        key = price, i, first, end, kind
        if key not in self.known:
            self.known[key] = self.searched(*key)
        return self.known[key]

    def searched(self, price: Fraction, i: int, first: int, end: int, kind: int) -> Fraction:
        """(v + p k) T(k) falls where its derivative p T + (v + p k) T' is below 0, and then rises: by halves."""
        c, t = self.data["classes"][i], self.data["gpu_types"][kind]
        v, p = share(self.data, c), price * exact(c["arrivals_per_hour"]) * exact(t["price"])
        parts = [(exact(e["size_hours"]), self.curves.of(e["speedup"], t["name"])) for e in c["epochs"][first:end]]
        pause = exact(c["rescale_hours"])

        def hours(k: Fraction) -> Fraction:
            return pause + sum((x * curve.time(k) for x, curve in parts), Fraction(0))

        def falls(k: Fraction) -> bool:
            return p * hours(k) + (v + p * k) * sum(x * curve.slope(k) for x, curve in parts) < 0

        ends = [curve.end for _, curve in parts if curve.end is not None]
        low, high = Fraction(1), Fraction(min(ends, default=2))
        while not ends and falls(high):
            low, high = high, 2 * high
            if high > 1 << 80:
                fixed = sum(
                    x * curve.serial if curve.amdahl is not None else 0 * x if curve.power else x for x, curve in parts
                )
                return (v + p) * (pause + fixed)
        while high - low > Fraction(1, 1 << 50):
            middle = (low + high) / 2
            low, high = (middle, high) if falls(middle) else (low, middle)
        return (v + p * low) * hours(high) * (1 - NEAR)


def allows(decision: Any, first: int, end: int, kind: int) -> bool:
    """Return whether the run of the epochs `first` to `end` - 1 is one of a policy for which a decision is so."""
    epoch, of_type, holds = decision
    if of_type is not None:
        return not first <= epoch < end or (kind == of_type) == holds
    return not first < epoch < end if holds else epoch not in (first, end)
