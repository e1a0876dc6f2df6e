"""Summarise a study in words: gaps, worst instances and proofs of each method."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from experiments.harness.gaps import Key, Scored
from experiments.output.terminal import percent
from instances.gaps import TOLERANCE, agree
from instances.text import escape_text


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
            return f"{escape_text(self.method)}: no gap is known{self._omissions}"
        to = "the best bound" if self.to_bound else "the optimum"
        to += f" in {self.measure}" if self.measure else ""
        if self.worst <= TOLERANCE:
            return f"{escape_text(self.method)}: at {to}{self._omissions}"
        worst = f"at worst {percent(self.worst, 1)} on {escape_text(self.worst_on)}"
        return (
            f"{escape_text(self.method)}: {percent(self.mean, 1)} {self.side} {to} on average, {worst}{self._omissions}"
        )

    @property
    def _omissions(self) -> str:
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
    def comparison(self) -> str:
        """Return the mean gaps of the methods of longer lists on the instances of this list.

        Empty if there are none, or if all methods of this list are at the optimum.
        """
        if all(one.worst is not None and one.worst <= TOLERANCE for one in self.methods):
            return ""
        said = ", ".join(f"{escape_text(one.method)} {percent(one.mean, 1)}" for one in self.beside)
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
    """Return one answer per problem, with its methods in the order of the runs."""
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
        Findings(len(over), len(instances), tuple(of), tuple(_list_other_gaps(over, of, here, bare)))
        for over, of in lists.items()
    ]
    return ProblemAnswer(problem, len(instances), sum(instances.values()), tuple(sorted(found, key=lambda f: -f.over)))


def _list_other_gaps(
    over: frozenset[Key], own: Sequence[Finding], here: Sequence[Scored], bare: set[Key]
) -> Iterator[Finding]:
    """Return the gaps of other methods over these instances, if they have a gap on all of them."""
    listed = {one.method for one in own}
    for name in dict.fromkeys(s.result.method for s in here if over and s.result.method not in listed):
        known, finding = _finding(name, [s for s in here if s.result.method == name and s.key in over], bare)
        if known == over:
            yield finding


def _finding(method: str, here: list[Scored], bare: Collection[Key]) -> tuple[frozenset[Key], Finding]:
    """Return the finding about gaps to the optimum, or to the best bound if no gap to the optimum is known.

    `bare` are instances with an optimum of 0. They are left out, because some methods have no gap there.
    """
    shares = ((s.key, s.display_gap_to_optimum, s.measure is None) for s in here)
    gaps = {key: gap for key, gap, plain in shares if gap is not None and not (plain and key in bare)}
    to_bound = not gaps
    if to_bound:
        gaps = {s.key: s.display_gap_to_bound for s in here if s.display_gap_to_bound is not None}
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
class Score:
    """One heuristic over the instances of a card.

    - `mean`, `worst`: gaps to proven optima.
    - `to_bound`: mean gap to the best bound on instances without a proven optimum.
    - `wins`: number of instances on which no other heuristic is better.
    - `violating`: number of all its runs that break a constraint.
    - `nothing`: number of all its runs without a gap, because the optimum is 0 and the objective is not.
    - `unsolved`: instances of all its runs that end without a solution.
    - `cpu_s`: mean CPU seconds of all its runs.
    """

    method: str
    runs: int
    mean: float | None
    worst: float | None
    worst_on: str
    to_bound: float | None
    wins: int
    violating: int
    nothing: int
    unsolved: tuple[str, ...]
    cpu_s: float | None


@dataclass(frozen=True)
class Scorecard:
    """Heuristics over the same instances, `over` of the `instances` that the user's ran on, the best first."""

    over: int
    instances: int
    scores: tuple[Score, ...]

    @property
    def heading(self) -> str:
        return f"over {'all' if self.over == self.instances else f'{self.over} of'} {self.instances} instances"


def scorecards(scored: Sequence[Scored], own: str) -> list[Scorecard]:
    """Return the cards of all heuristics, each with the user's `own`, one per set of common instances, largest first.

    If `own` has no gap at all, the cards are over the instances of the other heuristics.
    """
    best: dict[Key, float] = {}
    for s in scored:
        if s.result.solved and s.result.objective is not None:
            best[s.key] = min(_cost(s), best.get(s.key, _cost(s)))
    runs = {name: {s.key: s for s in scored if s.result.method == name} for name in _methods(scored, own)}
    bare = {s.key for s in scored if s.nothing == "optimum"}  # excluded, as not every heuristic has a gap there
    known = {name: frozenset(k for k, s in here.items() if _has_gap(s)) - bare for name, here in runs.items()}
    mine = known[own] or frozenset().union(*known.values())
    cards: dict[frozenset[Key], list[str]] = {mine: [own]}
    for name in runs:
        if name != own:
            over = known[name] & mine
            cards.setdefault(over or mine, [own]).append(name)
    return [
        Scorecard(len(over), len(runs[own]), _rank([_score(name, runs[name], over, best) for name in names]))
        for over, names in sorted(cards.items(), key=lambda card: -len(card[0]))
    ]


def _methods(scored: Sequence[Scored], own: str) -> dict[str, None]:
    return dict.fromkeys([own, *(s.result.method for s in scored)])


def _rank(scores: list[Score]) -> tuple[Score, ...]:
    """Sort by the mean gap to the optimum, then to the best bound; scores without a gap come last."""
    return tuple(sorted(scores, key=lambda s: (s.mean is None, s.mean or 0.0, s.to_bound is None, s.to_bound or 0.0)))


def _score(method: str, runs: Mapping[Key, Scored], over: Collection[Key], best: Mapping[Key, float]) -> Score:
    here = [runs[key] for key in runs if key in over]
    gaps = {s.result.instance: s.gap_to_optimum for s in here if s.gap_to_optimum is not None}
    to_bound = [s.gap_to_bound for s in here if s.gap_to_bound is not None]
    seconds = [s.result.cpu_s for s in runs.values() if s.result.cpu_s is not None]
    solved = [s for s in here if s.result.solved and s.result.objective is not None]
    return Score(
        method,
        len(runs),
        fmean(gaps.values()) if gaps else None,
        max(gaps.values(), default=None),
        max(gaps, key=lambda name: gaps[name], default=""),
        fmean(to_bound) if to_bound else None,
        sum(agree(_cost(s), best[s.key]) for s in solved),
        sum(s.result.status == "violates" for s in runs.values()),
        sum(s.nothing != "" for s in runs.values()),
        tuple(s.result.instance for s in runs.values() if s.unsolved),
        fmean(seconds) if seconds else None,
    )


def _cost(s: Scored) -> float:
    """Return the objective, negated for maximisation."""
    assert s.result.objective is not None
    return s.result.objective if s.result.sense == "minimize" else -s.result.objective


def _has_gap(s: Scored) -> bool:
    """Return whether there is a gap of any kind; on one instance it is the same kind for all heuristics."""
    return s.gap_to_optimum is not None or s.gap_to_bound is not None
