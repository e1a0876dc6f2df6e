"""Compute optima of small BOA allocations: all paths in fractions, mixed ones by the best price of money.

The code shares nothing with the project but the data classes. The checker grants a budget 2^-30 of itself, so that an
optimum is one of what it lets pass. Formulas of real widths are worked out in decimals of 40 digits, and where widths
are shared by several epochs in floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product

from instances.boa import BoaAllocation, Epoch, JobClass
from instances.boa.speedup import Curve

DIGITS = Context(prec=40)
WIDEST = 1e12  # GPUs of a formula without a max_width: tiny changes of width make millions worth their price
Corner = tuple[Fraction, Fraction]
Way = tuple[Fraction, Fraction]
"""What a way to run jobs costs, and how long it takes in the mean."""


def granted(data: BoaAllocation) -> Fraction:
    """Return the maximum cost of a policy that the checker accepts."""
    return Fraction(data.budget) * (1 + Fraction(1, 2**30))


def corners(data: BoaAllocation, curve: Curve, *, hull: bool) -> list[Corner]:
    """(width, speedup) between which a table is linear, up to the widest allowed: as measured, or of its hull."""
    points = [(Fraction(k), Fraction(s)) for k, s in zip(curve.table.gpus, curve.table.speedup, strict=True)]
    last = min(points[-1][0], data.max_width or points[-1][0])
    points = [(k, s) for k, s in points if k < last] + [(Fraction(last), between(points, Fraction(last)))]
    if not hull:
        return points
    top = max(s for _, s in points)
    points = [(k, s) for k, s in points if all(t < s for j, t in points if j < k)]
    while True:
        low = [
            b
            for a, b, c in zip(points, points[1:], points[2:], strict=False)
            if (b[1] - a[1]) * (c[0] - a[0]) <= (c[1] - a[1]) * (b[0] - a[0])
        ]
        if not low:
            return points if points[-1][0] == last else [*points, (Fraction(last), top)]
        points.remove(low[0])


def between(points: Sequence[Corner], width: Fraction) -> Fraction:
    """Interpolate linearly between points at a width."""
    for (k0, s0), (k1, s1) in pairwise(points):
        if k0 <= width <= k1:
            return s0 + (s1 - s0) * (width - k0) / (k1 - k0)
    assert width == points[0][0]
    return points[0][1]


def speed(data: BoaAllocation, curve: Curve, width: int) -> Fraction:
    """Return the speedup on an integer number of GPUs; powers have the 16 digits of a float."""
    if curve.amdahl is not None:
        return 1 / (1 - Fraction(curve.amdahl) + Fraction(curve.amdahl) / width)
    if curve.power is not None:
        return Fraction(float(width) ** curve.power)
    hull = data.widths == "continuous" or data.speedup_reading == "hull"
    return between(corners(data, curve, hull=hull), Fraction(width))


def last_width(data: BoaAllocation, curve: Curve) -> int:
    """Return the maximum allowed width, which exists."""
    ends = [data.max_width, curve.table and curve.table.gpus[-1]]
    return min(end for end in ends if end is not None)


def total_weight(data: BoaAllocation) -> Fraction:
    """Return the sum over all classes of weight times arrival rate."""
    return sum((Fraction(c.weight) * Fraction(c.arrivals_per_hour) for c in data.classes), Fraction(0))


def paths(data: BoaAllocation, job_class: JobClass) -> Iterator[Way]:
    """Every choice of a type and a whole width for each epoch."""
    rate, change = Fraction(job_class.arrivals_per_hour), Fraction(job_class.rescale_hours)
    value = Fraction(job_class.weight) * rate / total_weight(data)
    epochs = []
    for epoch in job_class.epochs:
        curves = [(t.name, Fraction(t.price), epoch.speedup.on(t.name)) for t in data.gpu_types]
        epochs.append(
            [
                ((name, k), price * k, Fraction(epoch.size_hours) / speed(data, curve, k))
                for name, price, curve in curves
                for k in range(1, last_width(data, curve) + 1)
            ]
        )
    for row in product(*epochs):
        cost = time = Fraction(0)
        before = None
        for at, price, hours in row:
            hours += change if at != before else 0
            cost, time, before = cost + price * hours, time + hours, at
        yield rate * cost, value * time


def undominated(ways: Iterator[Way]) -> list[Way]:
    """Those than which none is both cheaper and faster."""
    found: list[Way] = []
    for cost, time in sorted(ways):
        if not found or time < found[-1][1]:
            found.append((cost, time))
    return found


def best_paths(data: BoaAllocation) -> Fraction | None:
    """Return the minimum mean completion time within the budget, with one path per class."""
    most, known = granted(data), [(Fraction(0), Fraction(0))]
    for job_class in data.classes:
        ways = undominated(paths(data, job_class))
        known = undominated((a + c, b + d) for a, b in known for c, d in ways if a + c <= most)
    return known[-1][1] if known else None


Priced = Callable[[Decimal], tuple[Decimal, Decimal]]
"""The cost and time of the way that is best at a price of money."""


def listed(ways: Sequence[Way]) -> Priced:
    """Return the best ways of a list."""
    numbers = [(_decimal(cost), _decimal(time)) for cost, time in ways]
    return lambda price: min(numbers, key=lambda way: (way[1] + price * way[0], way[0]))


def best_mix(groups: Sequence[Priced], most: Fraction) -> Fraction:
    """Return the minimum time of mixed ways within the budget, as the best price of money proves it."""
    with localcontext(DIGITS):
        budget = _decimal(most)

        def at(price: Decimal) -> tuple[Decimal, Decimal]:
            ways = [group(price) for group in groups]
            spent, time = (sum(part, Decimal(0)) for part in zip(*ways, strict=True))
            return time + price * (spent - budget), spent - budget

        low, high = Decimal("1e-60"), Decimal("1e60")
        for _ in range(180):
            middle = (low * high).sqrt()
            low, high = (low, middle) if at(middle)[1] <= 0 else (middle, high)
        return Fraction(max(at(low)[0], at(high)[0]))


def _decimal(value: Fraction) -> Decimal:
    with localcontext(DIGITS):
        return Decimal(value.numerator) / Decimal(value.denominator)


def best_shares(data: BoaAllocation) -> Fraction:
    """Where nothing is rescaled and the jobs of an epoch are shared out: the best mix of types and widths."""
    groups = []
    for job_class in data.classes:
        rate = Fraction(job_class.arrivals_per_hour)
        value = Fraction(job_class.weight) * rate / total_weight(data)
        for epoch in job_class.epochs:
            kinds = [_on_type(data, epoch, t.name, rate * Fraction(t.price), value) for t in data.gpu_types]
            groups.append(
                lambda price, kinds=kinds: min((kind(price) for kind in kinds), key=lambda w: w[1] + price * w[0])
            )
    return best_mix(groups, granted(data))


def _on_type(data: BoaAllocation, epoch: Epoch, name: str, price: Fraction, value: Fraction) -> Priced:
    """Return an epoch's cost and time on one type by price; for a formula, the width has derivative 0."""
    curve, size = epoch.speedup.on(name), Fraction(epoch.size_hours)
    if curve.table is not None:
        hull = data.widths == "continuous" or data.speedup_reading == "hull"
        points = corners(data, curve, hull=hull)
        return listed([(price * size * k / s, value * size / s) for k, s in points])
    share, power = (None if x is None else _decimal(Fraction(x)) for x in (curve.amdahl, curve.power))
    dear, worth = _decimal(price * size), _decimal(value * size)

    def best(money: Decimal) -> tuple[Decimal, Decimal]:
        if share is not None:
            serial = dear * money * (1 - share)
            k = (worth * share / serial).sqrt() if serial else Decimal("1e30")
        else:
            serial = dear * money * (1 - power)
            k = worth * power / serial if serial else Decimal("1e30")
        k = max(Decimal(1), min(k, Decimal(data.max_width or 10**30)))
        whole = {Decimal(math.floor(k)), min(Decimal(math.ceil(k)), Decimal(data.max_width or 10**30))}
        ways = []
        for width in whole if data.widths == "integer" else (k,):
            hours = 1 - share + share / width if share is not None else width**-power
            ways.append((dear * width * hours, worth * hours))
        return min(ways, key=lambda way: way[1] + money * way[0])

    return best


def best_randomised(data: BoaAllocation) -> Fraction:
    """Return the minimum mean completion time if the jobs of a class may draw one of several paths."""
    return best_mix([listed(undominated(paths(data, c))) for c in data.classes], granted(data))


def best_runs(data: BoaAllocation) -> Fraction:
    """Real widths with rescaling: every division of the epochs into runs of one width, and the best price of each."""
    per_class = [[list(runs) for runs in _divided(data, c)] for c in data.classes]
    return Fraction(min(_best_widths([run for runs in chosen for run in runs], data) for chosen in product(*per_class)))


Run = tuple[float, float, float, Callable[[float], float]]
"""What a run's time is worth, what a GPU-hour costs, its widest, and its hours at a width."""


def _divided(data: BoaAllocation, job_class: JobClass) -> Iterator[tuple[Run, ...]]:
    n, total = len(job_class.epochs), float(total_weight(data))
    rate, change = job_class.arrivals_per_hour, job_class.rescale_hours
    for cuts in product([False, True], repeat=n - 1):
        ends = [0, *(j + 1 for j, cut in enumerate(cuts) if cut), n]
        stretches = [job_class.epochs[a:b] for a, b in pairwise(ends)]
        for kinds in product(data.gpu_types, repeat=len(stretches)):
            yield tuple(
                (job_class.weight * rate / total, rate * kind.price, *_hours(data, stretch, kind.name, change))
                for stretch, kind in zip(stretches, kinds, strict=True)
            )


def _hours(
    data: BoaAllocation, stretch: Sequence[Epoch], name: str, change: float
) -> tuple[float, Callable[[float], float]]:
    curves = [epoch.speedup.on(name) for epoch in stretch]
    tables = [
        None if curve.table is None else [(float(k), float(s)) for k, s in corners(data, curve, hull=True)]
        for curve in curves
    ]
    ends = [data.max_width or WIDEST, *(points[-1][0] for points in tables if points)]
    parts = list(zip((epoch.size_hours for epoch in stretch), curves, tables, strict=True))

    def hours(width: float) -> float:
        spent = change
        for size, curve, points in parts:
            if curve.amdahl is not None:
                spent += size * (1 - curve.amdahl + curve.amdahl / width)
            elif curve.power is not None:
                spent += size * width**-curve.power
            else:
                j = max(i for i, (k, _) in enumerate(points) if k <= width or i == 0)
                (k0, s0), (k1, s1) = points[j], points[min(j + 1, len(points) - 1)]
                spent += size / (s0 + (s1 - s0) * (width - k0) / (k1 - k0) if k1 > k0 else s0)
        return spent

    return float(min(ends)), hours


def _best_widths(runs: Sequence[Run], data: BoaAllocation) -> float:
    """Return the best Lagrangian bound of these runs, which is tight because a run's cost is convex in its time."""
    budget = float(granted(data))

    def at(price: float) -> tuple[float, float]:
        least = spent = 0.0
        for value, rate, end, hours in runs:
            width = _lowest(lambda k, v=value, c=rate, h=hours: (v + price * c * k) * h(k), end)
            least += (value + price * rate * width) * hours(width)
            spent += rate * width * hours(width)
        return least - price * budget, spent

    low, high = 1e-12, 1e12
    best = at(low)[0]
    for _ in range(70):
        middle = math.sqrt(low * high)
        proven, spent = at(middle)
        best = max(best, proven)
        low, high = (low, middle) if spent <= budget else (middle, high)
    return best


def _lowest(function: Callable[[float], float], end: float) -> float:
    """Where a function of 1 to `end` that falls and then rises is least, by thirds of the logarithm."""
    low, high = 0.0, math.log(end)
    golden = (math.sqrt(5) - 1) / 2
    a, b = high - golden * (high - low), low + golden * (high - low)
    at_a, at_b = function(math.exp(a)), function(math.exp(b))
    while high - low > 1e-9:
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - golden * (high - low)
            at_a = function(math.exp(a))
        else:
            low, a, at_a = a, b, at_b
            b = low + golden * (high - low)
            at_b = function(math.exp(b))
    return min((1.0, end, math.exp((low + high) / 2)), key=function)
