"""Check solutions of `boa-allocation` independently: cost and mean completion time from the data and a solution."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from instances.boa.allocation import BoaAllocation, JobClass, allow_rounding
from instances.boa.speedup import Curve
from instances.errors import MalformedSolution
from instances.fields import Verdict
from instances.options import Solution
from instances.validation import show

# The noise is relative: a width this close to a limit is at the limit, and shares that add up to 1 this closely are
# scaled to 1.
NOISE = 1e-9
LARGE = 1e300  # Numbers from this on are rejected as widths.
Point = tuple[float, float]


def check_allocation(data: BoaAllocation, solution: Solution) -> Verdict:
    """Check a solution in one of three forms.

    `{"widths": {class: [per epoch]}}`: one width for each class and epoch. `{"paths": {class: [{probability,
    widths}]}}`: each job of the class draws one path. `{"assignment": {class: [[{type, width, fraction}]]}}`: with
    several GPU types, shares of the jobs of each epoch on (type, width).

    If the problem is not convex, a policy that mixes paths or widths is no policy of the exact problem, which asks
    for one width for each class and epoch: its objective stands, and the mix is the constraint it breaks.

    A job starts by being set up on its first width, which takes the rescaling time as every later change does. The
    time-average cost must keep the budget, as `instances.boa.allocation` says. Raises MalformedSolution.
    """
    forms: dict[str, Callable[[_Book, JobClass, Any], None]] = {
        "widths": _add_path,
        "paths": _paths,
        "assignment": _assignment,
    }
    if not isinstance(solution, Mapping) or len(solution) != 1 or next(iter(solution)) not in forms:
        raise MalformedSolution("must be an object with one of widths, paths, assignment")
    form, content = next(iter(solution.items()))
    if not isinstance(content, Mapping) or set(content) != {c.name for c in data.classes}:
        raise MalformedSolution(f"{form} must name every class once")
    if form != "assignment" and data.heterogeneous:
        raise MalformedSolution(f"{form} names no GPU type, of which there are several")
    book = _Book(data)
    for job_class in data.classes:
        forms[form](book, job_class, content[job_class.name])
    return book.verdict()


class _Book:
    """An accumulator of the times and costs of a solution, and of the constraints that it violates."""

    def __init__(self, data: BoaAllocation) -> None:
        self.data = data
        self.price = {t.name: t.price for t in data.gpu_types}
        self.violations: list[str] = []
        self._spent: list[float] = []
        self._waited: list[float] = []

    def visit(self, job_class: JobClass, share: float, kind: str, width: float, hours: float) -> None:
        """Add a run.

        - `job_class`: the class of the jobs.
        - `share`: share of the jobs of the class that take part.
        - `kind`, `width`: name of the GPU type and number of GPUs that are held.
        - `hours`: length of the run, a change of width included.
        """
        if share == 0:
            return
        self._waited.append(job_class.weight * job_class.arrivals_per_hour * share * hours)
        self._spent.append(job_class.arrivals_per_hour * share * hours * width * self.price[kind])

    def run(self, job_class: JobClass, j: int, kind: str, width: Any) -> tuple[float, float]:
        """Return the width of a run of epoch `j`, without noise at the limits, and its hours; record violations."""
        epoch, where = job_class.epochs[j], f"width of class {job_class.name}, epoch {j}"
        number = _number(width, where)
        if number < 1 - NOISE:
            raise MalformedSolution(f"{where} must be >= 1, got {number!r}")
        if self.data.widths == "integer" and number != round(number):
            self.violations.append(f"{where} is {number:g}, not a whole number")
        curve = epoch.speedup.on(kind)
        number = max(1.0, number)
        limits = [(self.data.max_width, "wider than max_width {}")]
        if curve.table is not None:
            limits.append((curve.table.gpus[-1], "past the last width {} of its table"))
        for limit, message in limits:
            if limit is not None and number > limit:
                if number > limit * (1 + NOISE):
                    self.violations.append(f"{where} is {number:g}, {message.format(limit)}")
                else:
                    number = float(limit)
        return number, epoch.size_hours / self._speedup(curve, number)

    def _speedup(self, curve: Curve, width: float) -> float:
        """Return the speedup s(k) at a width."""
        if curve.amdahl is not None:
            return width / (width * (1 - curve.amdahl) + curve.amdahl)
        if curve.power is not None:
            return math.exp(curve.power * math.log(width))
        assert curve.table is not None
        if self.data.widths == "integer" and self.data.speedup_reading == "measured":
            return read_hull([(float(k), s) for k, s in zip(curve.table.gpus, curve.table.speedup, strict=True)], width)
        hulls, last = curve.table.hull_cache, self.data.max_width
        if last not in hulls:
            hulls[last] = find_hull(curve.table.gpus, curve.table.speedup, last)
        return read_hull(hulls[last], width)

    def verdict(self) -> Verdict:
        """Return the mean completion time in hours and the violated constraints, the budget last."""
        spent, budget = _sum(self._spent), self.data.budget
        if spent > allow_rounding(budget):
            self.violations.append(f"costs {spent:.10g}, over the budget {budget:.10g} by {spent - budget:.3g}")
        total = math.fsum(c.weight * c.arrivals_per_hour for c in self.data.classes)
        return Verdict(_sum(self._waited) / total, tuple(self.violations))


def _add_path(book: _Book, job_class: JobClass, widths: Any, share: float = 1.0) -> None:
    """Add the jobs of a class, or a `share` of them, that use `widths` in their epochs."""
    kind = book.data.gpu_types[0].name
    before = None
    for j, width in enumerate(_per_epoch(job_class, widths)):
        held, hours = book.run(job_class, j, kind, width)
        book.visit(job_class, share, kind, held, hours + (job_class.rescale_hours if held != before else 0.0))
        before = held


def _paths(book: _Book, job_class: JobClass, paths: Any) -> None:
    """Add the jobs of a class, each of which draws a path."""
    records = _records(paths, {"probability", "widths"}, f"paths of class {job_class.name}")
    shares = _shares([path["probability"] for path in records], f"probabilities of class {job_class.name}")
    for path, share in zip(records, shares, strict=True):
        _add_path(book, job_class, path["widths"], share)
    taken = sum(share > 0 for share in shares)
    if taken > 1 and not book.data.convex:
        book.violations.append(f"class {job_class.name} mixes {taken} paths, not one width in each epoch")


def _assignment(book: _Book, job_class: JobClass, epochs: Any) -> None:
    """Add the jobs of a class, distributed in each epoch over (type, width)."""
    before = None
    for j, options in enumerate(_per_epoch(job_class, epochs)):
        where = f"class {job_class.name}, epoch {j}"
        records = _records(options, {"type", "width", "fraction"}, where)
        shares = _shares([option["fraction"] for option in records], f"fractions of {where}")
        taken = sum(share > 0 for share in shares)
        if book.data.rescales and taken != 1:
            raise MalformedSolution(f"{where} must have one choice, since changes take time")
        if taken > 1 and not book.data.convex:
            book.violations.append(f"{where} mixes {taken} widths, not one for all jobs")
        for option, share in zip(records, shares, strict=True):
            kind = option["type"]
            if not isinstance(kind, str) or kind not in book.price:
                raise MalformedSolution(f"{where}: unknown GPU type {show(kind)}")
            width, hours = book.run(job_class, j, kind, option["width"])
            changed = job_class.rescale_hours if (kind, width) != before else 0.0
            book.visit(job_class, share, kind, width, hours + changed)
            before = (kind, width) if share > 0 else before


def _per_epoch(job_class: JobClass, entries: Any) -> list[Any]:
    """Return the entries of a class as a list. Raises MalformedSolution unless there is one for each epoch."""
    if isinstance(entries, str) or not isinstance(entries, Sequence) or len(entries) != len(job_class.epochs):
        raise MalformedSolution(f"class {job_class.name} must have {len(job_class.epochs)} entries, one for each epoch")
    return list(entries)


def _records(entries: Any, names: set[str], where: str) -> list[Mapping[str, Any]]:
    """Return the entries as a list of objects with the fields `names`. Raises MalformedSolution."""
    if isinstance(entries, str) or not isinstance(entries, Sequence) or not entries:
        raise MalformedSolution(f"{where} must be a list with entries")
    for entry in entries:
        if not isinstance(entry, Mapping) or set(entry) != names:
            raise MalformedSolution(f"{where}: an entry must have {', '.join(sorted(names))}, got {show(entry)}")
    return list(entries)


def _number(value: Any, where: str) -> float:
    """Return a value as a number. Raises MalformedSolution if it has another type or is too large."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -LARGE < value < LARGE:
        raise MalformedSolution(f"{where} must be a number, got {show(value)}")
    return float(value)


def _shares(values: Sequence[Any], where: str) -> list[float]:
    """Check that shares add up to 1 and return them scaled to an exact sum."""
    shares = [_number(value, where) for value in values]
    for share in shares:
        if not 0 <= share <= 1 + NOISE:
            raise MalformedSolution(f"{where} must be in [0, 1], got {share!r}")
    total = math.fsum(shares)
    if abs(total - 1) > NOISE:
        raise MalformedSolution(f"{where} must add up to 1, got {total!r}")
    return [share / total for share in shares]


def _sum(values: Sequence[float]) -> float:
    """Return the sum of `values` >= 0, infinite if it exceeds the range of floats."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


def find_hull(gpus: Sequence[int], speedup: Sequence[float], max_width: int | None) -> list[Point]:
    """Return the corners of the non-decreasing concave hull of the points, cut at `max_width`."""
    points = [(float(k), s) for k, s in zip(gpus, speedup, strict=True)]
    if max_width is not None and max_width < gpus[-1]:
        at = bisect_right(gpus, max_width)
        (k0, s0), (k1, s1) = points[at - 1], points[at]
        points = [*points[:at], (float(max_width), s0 + (s1 - s0) * (max_width - k0) / (k1 - k0))]
    corners: list[Point] = []
    for k, s in points:
        if corners and s <= corners[-1][1]:
            continue
        while len(corners) >= 2:
            (k0, s0), (k1, s1) = corners[-2:]
            if (s1 - s0) * (k - k0) > (s - s0) * (k1 - k0):
                break
            corners.pop()
        corners.append((k, s))
    return corners


def read_hull(corners: Sequence[Point], width: float) -> float:
    """Return the value at a width of the function with `corners`: linear between them, constant past the last."""
    at = bisect_right(corners, (width, math.inf))
    if at == len(corners):
        return corners[-1][1]
    (k0, s0), (k1, s1) = corners[at - 1], corners[at]
    if s1 < s0 and width > k0:  # a sum of positive terms, without cancellation of digits
        return (s0 * (k1 - width) + s1 * (width - k0)) / (k1 - k0)
    return s0 + (s1 - s0) * (width - k0) / (k1 - k0)
