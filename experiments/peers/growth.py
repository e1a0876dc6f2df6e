"""Scalability: CPU seconds of an exact method and of its peer by the size of the instance, until no run succeeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from statistics import fmean, median
from typing import Any

from experiments.harness.entry import Entry, always
from experiments.harness.experiment import StagedStudy, Stages, TextTable, send_outcomes, side_by_side
from experiments.harness.run import Run
from experiments.harness.sample import Sample
from experiments.output.benchmark import collect_counts
from experiments.peers.comparison import Peer, largest_gap, refuse_false
from instances import Instance, Options, Result

GOALS = {"1%": 0.01, "proof": Options().gap}
"""Target gaps between a method's own value and bound, the wider first. Each has separate runs, which stop there."""
EXACT = "exact"
ALL_UP_TO, NONE_AT = "all get there up to", "none gets there at"
HEAD = ("work", "method", "to", ALL_UP_TO, "median CPU s there", NONE_AT)
EACH = ("work", "size", "method", "to", "get there", "median CPU s", "least", "greatest", "largest gap", "mean counts")


@dataclass(frozen=True)
class Ladder:
    """A problem by size, with an exact method, given as `module:function`, and a peer.

    - `make(size, seed)`: builds an instance with `size` elements, which `what` names.
    - `unfit(data)`: why the peer has no model of an instance, `None` if it has one.
    - `small`: size of quick runs; the first size if `None`.
    """

    work: str
    what: str
    sizes: Sequence[float]
    make: Callable[[Any, int], Instance[Any]]
    exact: str
    peer: Peer
    unfit: Callable[[Any], str | None] = always
    seeds: int = 3
    small: float | None = None

    def describe(self, size: float) -> str:
        """Describe a size in words."""
        return f"{size:,.10g} {self.what}"


@cache
def _make_instance(make: Callable[[Any, int], Instance[Any]], size: float, seed: int) -> Instance[Any]:
    return make(size, seed)


@dataclass(frozen=True)
class Step:
    """The runs of one size to one target gap, one per seed, and the runs of the same seeds to narrower gaps.

    The fastest successful run of a seed counts, because a run to a narrower gap also reaches the wider one. A seed
    without success or without a model counts with its time limit.
    """

    size: float
    goal: str
    seeds: int
    limit_s: float
    results: Sequence[Result]
    narrower: Sequence[Result] = ()

    @cached_property
    def soonest(self) -> dict[str, float]:
        """Return the CPU seconds of each instance that reaches the gap."""
        found: dict[str, float] = {}
        for result in (*self.results, *self.narrower):
            seconds = result.cpu_s or 0.0
            if result.status == "optimal" and seconds <= self.limit_s:  # a solver may overrun
                found[result.instance] = min(seconds, found.get(result.instance, seconds))
        return found

    @property
    def there(self) -> int:
        """Return the number of instances that reach the gap."""
        return len(self.soonest)

    @property
    def description(self) -> str:
        """Describe how many of the seeds reach the gap."""
        return f"{self.there} of {self.seeds}"

    @property
    def seconds(self) -> list[float]:
        """Return the CPU seconds of each seed."""
        return [*self.soonest.values()] + [self.limit_s] * (self.seeds - self.there)

    @property
    def gap(self) -> str:
        """Return the largest remaining gap of the runs to this gap."""
        return largest_gap(self.results)


@dataclass
class Climb:
    """One method on increasing sizes. A gap is tried while at least one seed reaches it and every wider gap.

    `steps`: the finished steps, of the runs in `done`.
    """

    ladder: Ladder
    method: Peer
    options: Options
    steps: list[Step] = field(default_factory=list)
    done: list[tuple[Run, Result]] = field(default_factory=list)

    def stages(self) -> Stages:
        """Yield the runs of each size and gap."""
        goals = list(GOALS)
        for size in self.ladder.sizes:
            found: dict[str, Sequence[Result]] = {}
            for goal in goals:
                hopeless = any(not self._step(size, wider, found).there for wider in found)
                runs = [] if hopeless else self._runs(size, goal)
                found[goal] = (yield runs) if runs else ()
                self.done += zip(runs, found[goal], strict=True)
            steps = [self._step(size, goal, found) for goal in goals]
            self.steps += steps
            goals = [step.goal for step in steps if step.there]

    def _step(self, size: float, goal: str, found: Mapping[str, Sequence[Result]]) -> Step:
        narrower = [result for other in list(found)[list(found).index(goal) + 1 :] for result in found[other]]
        limit = self.options.time_limit or math.inf
        return Step(size, goal, self.ladder.seeds, limit, found[goal], narrower)

    def _runs(self, size: float, goal: str) -> list[Run]:
        """Return the runs of the seeds for which the method has a model."""
        unfit = always if self.method.name == EXACT else self.ladder.unfit
        entry = Entry(self.method.name, self.method.target, unfit)
        options = replace(self.options, gap=GOALS[goal], threads=self.method.workers)
        made = (_make_instance(self.ladder.make, size, seed) for seed in range(self.ladder.seeds))
        return [Run(one, entry, options, self.ladder.work) for one in made if entry.unfit(one.data) is None]

    def name(self, goal: str) -> str:
        """Return the prefix of its values in a record."""
        return f"{self.ladder.work}: {EXACT if self.method.name == EXACT else 'peer'}, to {goal}"

    def ends(self) -> Iterator[list[str]]:
        """Yield its rows of the table of ends, one per gap."""
        for goal in GOALS:
            up_to, none_at = self._ends(goal)
            seconds = "-" if up_to is None else f"{median(up_to.seconds):.3f}"
            yield [self.ladder.work, self.method.name, goal, self._size(up_to), seconds, self._size(none_at)]

    def _ends(self, goal: str) -> tuple[Step | None, Step | None]:
        """Return the last of the leading sizes at which all seeds reach a gap, and the size at which no seed does."""
        mine, up_to = [step for step in self.steps if step.goal == goal], None
        for step in mine:
            if step.there < step.seeds:
                break
            up_to = step
        return up_to, None if mine[-1].there else mine[-1]

    def _size(self, step: Step | None) -> str:
        return "-" if step is None else self.ladder.describe(step.size)

    def list_rows(self) -> Iterator[list[str]]:
        """Yield a row for each size and gap."""
        for step in self.steps:
            counts = ", ".join(
                f"{fmean(many):.4g} {what}" for what, many in collect_counts(step.results).items() if many
            )
            seconds = [f"{of(step.seconds):.3f}" for of in (median, min, max)]
            named = [self.ladder.work, self.ladder.describe(step.size), self.method.name, step.goal]
            yield [*named, step.description, *seconds, step.gap, counts or "-"]

    def values(self) -> Iterator[tuple[str, Sample | float | str]]:
        """Yield the figures by their names in a record."""
        for goal in GOALS:
            up_to, none_at = self._ends(goal)
            yield f"{self.name(goal)}: {ALL_UP_TO}", self._size(up_to)
            yield f"{self.name(goal)}: {NONE_AT}", self._size(none_at)
        for step in self.steps:
            name = f"{self.name(step.goal)}: {self.ladder.describe(step.size)}"
            yield f"{name}: CPU s", Sample.of(step.seconds)
            yield f"{name}: get there", step.description
            gaps = [result.gap for result in step.results if result.gap is not None]
            if gaps:
                yield f"{name}: gap", Sample.of(gaps)


def build_study(ladders: Sequence[Ladder], options: Options, quick: bool = False) -> StagedStudy:
    """Build the study of these ladders with the time limit of `options`; `quick`: one seed of the smallest size."""
    if quick:
        ladders = [replace(ladder, sizes=[ladder.small or ladder.sizes[0]], seeds=1) for ladder in ladders]

    def climbs() -> list[Climb]:
        pairs = [(one, method) for one in ladders for method in (Peer(EXACT, one.exact), one.peer)]
        return [Climb(*pair, options) for pair in pairs if not (quick and pair[1].extra)]

    def stages() -> Stages:
        return side_by_side([climb.stages() for climb in climbs()])

    def collect_climbs(outcomes: Sequence[Result]) -> list[Climb]:
        made = climbs()
        send_outcomes(side_by_side([climb.stages() for climb in made]), outcomes)
        refuse_false(*zip(*(pair for climb in made for pair in climb.done), strict=True))
        return made

    def tables(outcomes: Sequence[Result]) -> list[TextTable | str]:
        found = collect_climbs(outcomes)
        ends, each = ([row for climb in found for row in of(climb)] for of in (Climb.ends, Climb.list_rows))
        return [TextTable(HEAD, ends), TextTable(EACH, each)]

    def values(outcomes: Sequence[Result]) -> Mapping[str, Sample | float | str]:
        return dict(value for climb in collect_climbs(outcomes) for value in climb.values())

    return StagedStudy(send_outcomes(stages(), []), tables, values=values, stages=stages)
