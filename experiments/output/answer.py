"""The answer of a study, before its tables: how far each heuristic is, at worst on which instance, what is proven."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from experiments.harness.gaps import Scored
from experiments.output.terminal import percent
from instances.gaps import TOLERANCE
from instances.text import shown


@dataclass(frozen=True)
class Finding:
    """What a study finds of one method on a problem: mean and worst gap over `known` of its `runs`."""

    method: str
    runs: int
    known: int
    mean: float | None
    worst: float | None
    worst_on: str
    to_bound: bool
    side: str
    measure: str = ""
    nothing: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.mean is None or self.worst is None:
            return f"{shown(self.method)}: no gap is known, of {self.runs} runs{self._without}"
        to = "the best bound" if self.to_bound else "the optimum"
        to += f" in {self.measure}" if self.measure else ""
        over = f"over {self.known} of {self.runs}"
        if self.worst <= TOLERANCE:
            return f"{shown(self.method)}: at {to}, {over}{self._without}"
        worst = f"at worst {percent(self.worst, 1)} on {shown(self.worst_on)}"
        mean = f"{percent(self.mean, 1)} {self.side} {to} on average {over}"
        return f"{shown(self.method)}: {mean}, {worst}{self._without}"

    @property
    def _without(self) -> str:
        """Of which runs there is no gap, since of 0 there is no share."""
        kinds = dict.fromkeys(self.nothing)
        return "".join(f"; without one on {self.nothing.count(of)}, where the {of} is 0" for of in kinds)


@dataclass(frozen=True)
class Answer:
    """What a study finds of a problem: how many optima are proven, and how far each method is."""

    problem: str
    instances: int
    proven: int
    findings: tuple[Finding, ...]

    @property
    def headline(self) -> str:
        return f"{self.problem}: the optimum is proven on {self.proven} of {self.instances} instances"


def answers(scored: Sequence[Scored]) -> list[Answer]:
    """One answer a problem, its methods in the order of the runs."""
    return [
        _answer(problem, [s for s in scored if s.result.problem == problem])
        for problem in dict.fromkeys(s.result.problem for s in scored)
    ]


def _answer(problem: str, here: list[Scored]) -> Answer:
    instances = {(s.run.instance_set, s.result.instance): False for s in here}
    for s in here:
        if s.optimum_known:
            instances[s.run.instance_set, s.result.instance] = True
    methods = dict.fromkeys(s.result.method for s in here)
    findings = tuple(_finding(name, [s for s in here if s.result.method == name]) for name in methods)
    return Answer(problem, len(instances), sum(instances.values()), findings)


def _finding(method: str, here: list[Scored]) -> Finding:
    """Of gaps to the optimum; where none is known, of those to the best bound."""
    gaps = [(s.shown_gap_to_optimum, s.result.instance) for s in here if s.shown_gap_to_optimum is not None]
    to_bound = not gaps
    if to_bound:
        gaps = [(s.shown_gap_to_bound, s.result.instance) for s in here if s.shown_gap_to_bound is not None]
    worst, worst_on = max(gaps, key=lambda pair: pair[0], default=(None, ""))
    mean = fmean(value for value, _ in gaps) if gaps else None
    senses = {s.result.sense for s in here}
    side = "off" if len(senses) > 1 else "above" if senses == {"minimize"} else "below"
    measure = next((s.measure.name for s in here if s.measure is not None), "")
    nothing = tuple(s.nothing for s in here if s.nothing and s.measure is None)
    return Finding(method, len(here), len(gaps), mean, worst, worst_on, to_bound, side, measure, nothing)
