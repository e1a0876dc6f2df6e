"""The fast exact method for whole widths and rescaling times: Lagrangian bound, then the duality gap closed."""

from __future__ import annotations

from dataclasses import dataclass

from instances import Answer, Options, Report, Solution, Stopwatch, ignore
from instances.boa import BoaAllocation, WidthArrays, width_arrays
from instances.result import Termination
from models.boa.gap_closing import close
from models.boa.labels import OutOfMemory, OutOfTime
from models.boa.lagrangian import Dual, Line, affordable
from models.boa.network import IntArray, Network, Path, network, path
from models.boa.reduced import reduce

MOST_LABELS = 40_000_000  # labels of one class: about 700 MB


@dataclass(frozen=True)
class Prepared:
    """An instance as arrays, its network and its dual, which several budgets can share."""

    data: BoaAllocation
    arrays: WidthArrays
    net: Network
    dual: Dual


def prepare(data: BoaAllocation) -> Prepared:
    """Build the arrays of `data`; any budget up to its own can then be solved. Raises InputError."""
    arrays = width_arrays(data)
    net = network(data, arrays)
    return Prepared(data, arrays, net, Dual(net))


def solve_micp(p: Prepared, budget: float, options: Options, report: Report = ignore) -> Answer:
    """A deterministic policy over whole widths that is proven optimal for `budget` (Lemma 4.8), to `options.gap`."""
    with Stopwatch(options.time_limit) as clock:
        over, inside = p.dual.maximise(budget)
        search = _Search(p, budget, over, inside, options, report, clock)
        search.run()
    return Answer(
        solution=policy(p, [q.choices for q in search.paths]),
        bound=search.bound,
        termination=search.termination,
        reason=search.reason,
        solve_s=clock.cpu_s,
        trace=tuple(search.trace),
        info={"multiplier": search.line.mu, "lagrangian_bound": search.lagrangian, "labels": search.labels},
    )


class _Search:
    """The incumbent and the bound as they close in on each other."""

    def __init__(
        self, p: Prepared, budget: float, over: Line, inside: Line, options: Options, report: Report, clock: Stopwatch
    ) -> None:
        self.p, self.budget, self.options, self.report, self.clock = p, budget, options, report, clock
        self.line = max((over, inside), key=lambda line: line.at(line.mu, budget))
        self.paths = affordable(p.net, inside.mu, budget)
        self.reduced = reduce(p.net, self.line, budget, self.time)
        self.lagrangian = self.bound = max(0.0, self._hours(self.reduced.least - self.reduced.margin))
        self.labels = 0
        self.termination: Termination = "finished"
        self.reason: str | None = None
        self.trace = [(clock.wall_s, self.time, self.bound)]
        self._tell()

    @property
    def time(self) -> float:
        """Mean completion time of the incumbent, hours."""
        return sum(q.time for q in self.paths)

    def run(self) -> None:
        r = self.reduced
        start = self._units(self.paths)
        try:
            self.labels = close(r, start, lambda units: units * (1 - 0.9 * self.options.gap), self._check, self._found)
        except OutOfTime:
            self.termination, self.reason = "time_limit", "time limit"
        except (OutOfMemory, MemoryError):
            self.reason = f"more than {MOST_LABELS:,} partial paths of a class"

    def _units(self, paths: list[Path]) -> int:
        r = self.reduced
        total = 0
        for i, q in enumerate(paths):
            changes = 1 + int((q.choices[1:] != q.choices[:-1]).sum())
            total += int(r.time[range(len(q.choices)), i, q.choices].sum()) + changes * int(r.change_time[i, 0])
        return total

    def _hours(self, units: float) -> float:
        return units * self.reduced.unit * (1 - 1e-15)

    def _check(self, labels: int) -> None:
        if self.clock.expired:
            raise OutOfTime
        if labels > MOST_LABELS:
            raise OutOfMemory

    def _found(self, choices: list[IntArray] | None, bound: float | None) -> None:
        if choices is not None:
            better = [path(self.p.net, i, c) for i, c in enumerate(choices)]
            if sum(q.time for q in better) < self.time:
                self.paths = better
        if bound is not None:
            self.bound = max(self.bound, self._hours(bound))
        self.trace.append((self.clock.wall_s, self.time, self.bound))
        self._tell()

    def _tell(self) -> None:
        if self.report is not ignore:
            self.report(policy(self.p, [q.choices for q in self.paths]), self.bound)


def policy(p: Prepared, choices: list[IntArray]) -> Solution:
    """The solution, in JSON form, that takes these choices (epochs,) in each class."""
    widths, data = p.arrays.width, p.data
    if not data.heterogeneous:
        return {"widths": {c.name: widths[k].tolist() for c, k in zip(data.classes, choices, strict=True)}}
    types = [data.gpu_types[h].name for h in p.arrays.type]
    return {
        "assignment": {
            c.name: [[{"type": types[s], "width": int(widths[s]), "fraction": 1.0}] for s in k]
            for c, k in zip(data.classes, choices, strict=True)
        }
    }
