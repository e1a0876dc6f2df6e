"""Summarise a study in words and in columns: gaps, worst instances and proofs of each method."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from experiments.harness.gaps import Key, MethodSummary, Scored
from experiments.output.terminal import percent
from instances.gaps import TOLERANCE
from instances.text import shown


@dataclass(frozen=True)
class Finding:
    """The gaps of one method on a problem: mean, worst, and the runs without a gap."""

    method: str
    mean: float | None
    worst: float | None
    worst_on: str
    to_bound: bool
    side: str
    measure: str = ""
    nothing: tuple[str, ...] = ()
    violating: int = 0
    failed: int = 0

    def __str__(self) -> str:
        if self.mean is None or self.worst is None:
            return f"{shown(self.method)}: no gap is known{self._without}"
        to = "the best bound" if self.to_bound else "the optimum"
        to += f" in {self.measure}" if self.measure else ""
        if self.worst <= TOLERANCE:
            return f"{shown(self.method)}: at {to}{self._without}"
        worst = f"at worst {percent(self.worst, 1)} on {shown(self.worst_on)}"
        return f"{shown(self.method)}: {percent(self.mean, 1)} {self.side} {to} on average, {worst}{self._without}"

    @property
    def _without(self) -> str:
        """Return the reasons for which runs have no gap: an optimum of 0, or no feasible solution."""
        said = [f"; no gap on {self.nothing.count(of)}, because the {of} is 0" for of in dict.fromkeys(self.nothing)]
        said += [f"; {self.violating} with a broken constraint"] if self.violating else []
        said += [f"; {self.failed} without a solution"] if self.failed else []
        return "".join(said)


@dataclass(frozen=True)
class Findings:
    """The gaps of methods over the same instances, `over` of the `instances` of a problem.

    `beside`: methods that have a gap on more instances, on these.
    """

    over: int
    instances: int
    methods: tuple[Finding, ...]
    beside: tuple[Finding, ...] = ()

    @property
    def heading(self) -> str:
        if not self.over:
            return "without a gap:"
        return f"on {'all' if self.over == self.instances else f'{self.over} of the'} {self.instances} instances:"

    @property
    def compared(self) -> str:
        """Mean gaps of the methods of longer lists on the instances of this one.

        Empty if there are none, or if all methods of this list are at the optimum.
        """
        if all(one.worst is not None and one.worst <= TOLERANCE for one in self.methods):
            return ""
        said = ", ".join(f"{shown(one.method)} {percent(one.mean, 1)}" for one in self.beside)
        return f"other methods on these instances: {said}" if said else ""


@dataclass(frozen=True)
class ProblemAnswer:
    """The answer of a study about a problem: the number of proven optima, and the gaps of each method.

    Means in one list are over the same instances; the list of the most instances is first.
    """

    problem: str
    instances: int
    proven: int
    lists: tuple[Findings, ...]

    @property
    def headline(self) -> str:
        return f"{self.problem}: the optimum is proven on {self.proven} of {self.instances} instances"


def answers(scored: Sequence[Scored]) -> list[ProblemAnswer]:
    """One answer a problem, its methods in the order of the runs."""
    return [
        _answer(problem, [s for s in scored if s.result.problem == problem])
        for problem in dict.fromkeys(s.result.problem for s in scored)
    ]


def _answer(problem: str, here: list[Scored]) -> ProblemAnswer:
    instances = {s.key: False for s in here}
    for s in here:
        if s.optimum_known:
            instances[s.key] = True
    methods = dict.fromkeys(s.result.method for s in here)
    lists: dict[frozenset[Key], list[Finding]] = {}
    bare = {s.key for s in here if s.nothing == "optimum"}
    for name in methods:
        over, finding = _finding(name, [s for s in here if s.result.method == name], bare)
        lists.setdefault(over, []).append(finding)
    found = [
        Findings(len(over), len(instances), tuple(of), tuple(_beside(over, of, here, bare)))
        for over, of in lists.items()
    ]
    return ProblemAnswer(problem, len(instances), sum(instances.values()), tuple(sorted(found, key=lambda f: -f.over)))


def _beside(over: frozenset[Key], own: Sequence[Finding], here: Sequence[Scored], bare: set[Key]) -> Iterator[Finding]:
    """Return the gaps of other methods over these instances, if they have a gap on all of them."""
    listed = {one.method for one in own}
    for name in dict.fromkeys(s.result.method for s in here if over and s.result.method not in listed):
        known, finding = _finding(name, [s for s in here if s.result.method == name and s.key in over], bare)
        if known == over:
            yield finding


def _finding(method: str, here: list[Scored], bare: Collection[Key]) -> tuple[frozenset[Key], Finding]:
    """Of gaps to the optimum, and the instances that have one; where none is known, of those to the best bound.

    `bare` are instances of which the optimum is 0: as not every method has a gap there, none is counted.
    """
    shares = ((s.key, s.shown_gap_to_optimum, s.measure is None) for s in here)
    gaps = {key: gap for key, gap, plain in shares if gap is not None and not (plain and key in bare)}
    to_bound = not gaps
    if to_bound:
        gaps = {s.key: s.shown_gap_to_bound for s in here if s.shown_gap_to_bound is not None}
    worst_on = max(gaps, key=lambda key: gaps[key], default=None)
    senses = {s.result.sense for s in here}
    return frozenset(gaps), Finding(
        method,
        fmean(gaps.values()) if gaps else None,
        None if worst_on is None else gaps[worst_on],
        "" if worst_on is None else worst_on[1],
        to_bound,
        "off" if len(senses) > 1 else "above" if senses == {"minimize"} else "below",
        next((s.measure.name for s in here if s.measure is not None), ""),
        tuple(s.nothing for s in here if s.nothing and s.measure is None),
        sum(s.result.status == "violates" for s in here),
        sum(s.unsolved for s in here),
    )


@dataclass(frozen=True)
class StudyColumn:
    """One column: its name in `summary.csv`, its heading, the value of a row, and how a reader is shown that."""

    name: str
    heading: str
    value: Callable[[MethodSummary], object]
    show: Callable[[MethodSummary], str]


def _share(name: str, heading: str, value: Callable[[MethodSummary], float | None]) -> StudyColumn:
    return StudyColumn(name, heading, value, lambda row: percent(value(row)))


def _text(name: str, heading: str, value: Callable[[MethodSummary], object]) -> StudyColumn:
    return StudyColumn(name, heading, value, lambda row: str(value(row)))


def _number(name: str, heading: str, value: Callable[[MethodSummary], float | None]) -> StudyColumn:
    return StudyColumn(name, heading, value, lambda row: "-" if (v := value(row)) is None else f"{v:.3g}")


def _cpu_s(row: MethodSummary) -> float | None:
    return fmean(row.cpu_s) if row.cpu_s else None


def _shown_cpu_s(row: MethodSummary) -> str:
    seconds = _cpu_s(row)
    return "-" if seconds is None else f"{seconds:.3f}"


NAMED = (
    _text("instance_set", "instance set", lambda row: row.instance_set),
    _text("method", "method", lambda row: row.method),
)
RUNS = (_text("runs", "runs", lambda row: row.runs),)
"""In `summary.csv` alone: a reader is shown of how many of them each mean is."""
OVER = StudyColumn("gaps_to_optimum", "over", lambda row: len(row.gaps), lambda row: f"{len(row.gaps)}/{row.runs}")


def _common(row: MethodSummary) -> str:
    """The mean over the instances on which every method has a gap, and how many of the set these are."""
    said = [f"{percent(fmean(row.common))} ({len(row.common)}/{row.instances})"] if row.common else []
    if row.common_to_bound:
        said.append(f"to bound {percent(fmean(row.common_to_bound))} ({len(row.common_to_bound)}/{row.instances})")
    return ", ".join(said) or "-"


COMMON = StudyColumn("mean_common_gap", "common", lambda row: fmean(row.common) if row.common else None, _common)
"""Where methods of a set have gaps on different instances, the one mean that compares all of them."""
COMMON_IN_FILES = (
    COMMON,
    _share("mean_common_gap_to_bound", "", lambda row: fmean(row.common_to_bound) if row.common_to_bound else None),
    _text("common", "", lambda row: len(row.common) + len(row.common_to_bound)),
)


def _gaps(
    kind: str,
    heading: str,
    gaps: Callable[[MethodSummary], Sequence[float]],
    to_bound: Callable[[MethodSummary], Sequence[float]],
) -> tuple[StudyColumn, ...]:
    return (
        _share(f"mean_{kind}_to_optimum", f"{heading}mean", lambda row: row.describe(gaps(row))[0]),
        _share(f"median_{kind}_to_optimum", "median", lambda row: row.describe(gaps(row))[1]),
        _share(f"max_{kind}_to_optimum", "max", lambda row: row.describe(gaps(row))[2]),
        OVER,
        _share(f"mean_{kind}_to_bound", "to bound", lambda row: row.describe(to_bound(row))[0]),
    )


OF_THE_OBJECTIVE = _gaps("gap", "gap to optimum: ", lambda row: row.gaps, lambda row: row.gaps_to_bound)
OF_THE_MEASURE = (
    *_gaps("measure_gap", "", lambda row: row.measure_gaps, lambda row: row.measure_gaps_to_bound),
    _number("mean_part", "", lambda row: row.describe(row.parts)[0]),
    _number("mean_optimal_part", "optimum's", lambda row: row.describe(row.best_parts)[0]),
)
ENDED = (
    StudyColumn("proven", "proven", lambda row: row.proven, lambda row: f"{row.proven}/{row.runs}"),
    StudyColumn("mean_cpu_s", "CPU s", _cpu_s, _shown_cpu_s),
    _text("notes", "", lambda row: row.notes),
)
ALL = tuple(dict.fromkeys((*NAMED, *RUNS, *OF_THE_OBJECTIVE, *OF_THE_MEASURE, *COMMON_IN_FILES, *ENDED)))
"""Columns of `summary.csv`, for every problem."""


def measured(rows: Sequence[MethodSummary]) -> tuple[StudyColumn, ...]:
    """Return the columns for the rows of one problem: gaps in the problem's measure if it has one."""
    name, part = next(((row.measure, row.part) for row in rows if row.measure), ("", ""))
    ended = (COMMON, *ENDED) if any(row.partial for row in rows) else ENDED
    if not name:
        return (*OF_THE_OBJECTIVE, *ended)
    headings = {"mean_measure_gap_to_optimum": f"gap in {name}: mean", "mean_part": part}
    headed = (replace(column, heading=headings.get(column.name, column.heading)) for column in OF_THE_MEASURE)
    return (*headed, *ended)
