"""Ablations: run an exact method without one of its parts, and compare with runs of the whole method.

A part is switched off in the process of a run only; the method itself has no switch. The first stage of a study runs
the whole method on all sets and counts how often each run enters each part. The second stage leaves a part out on the
sets of which a run enters it, for the other sets say nothing about the part.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from math import exp, log
from statistics import fmean
from types import FunctionType
from typing import Any

from experiments.harness.entry import Entry
from experiments.harness.experiment import StagedStudy, Stages, TextTable, limit_time, send_outcomes
from experiments.harness.run import Run, Unchecked
from experiments.harness.sample import Sample
from experiments.harness.task import Digests, ReportFile
from experiments.output.terminal import percent
from instances import Instance, Options, Result

SLOWER = 2.0
"""A part is worth its lines if the method needs this many times the CPU time without it."""
WIDER, LEAST_GAP = 1.1, 1e-6
"""It is also worth them if the mean gap grows by this factor, to more than this."""
LEAST_S = 0.02
"""Runs that take fewer CPU seconds count as if they took these."""
SETS, SEEDS, FIRST_SEED = 2, 3, 101
"""A part is left out on at most SETS sets, those in which most runs enter it; the last ones, if several are equal.

A set has SEEDS seeds."""
LIMIT_S = 5.0
"""CPU seconds of a run, if no limit is asked for."""


def do_nothing(*_: Any, **__: Any) -> None:
    """Stand in for a function that gives nothing back."""


def say_no(*_: Any, **__: Any) -> bool:
    """Stand in for a function that asks whether something is so."""
    return False


def say_yes(*_: Any, **__: Any) -> bool:
    """Stand in for a function that asks whether to go on."""
    return True


@dataclass(frozen=True)
class MethodPart:
    """A part of an exact method that a study can leave out.

    - `name`: as the table has it.
    - `functions`: `module:function` or `module:Class.method`, in place of each of which `instead` is called.
    - `constants`: values that stand in for constants, by `module:name.field`.
    - `entered`: the functions that a run which enters the part calls; by default `functions`.
    """

    name: str
    functions: tuple[str, ...] = ()
    instead: Callable[..., Any] = do_nothing
    constants: Mapping[str, Any] = field(default_factory=dict)
    entered: tuple[str, ...] = ()

    def leave_out(self) -> None:
        """Leave the part out of the method from now on, in this process."""
        for target, value in self.constants.items():
            owner, name = _owner(target)
            (object.__setattr__ if is_dataclass(owner) else setattr)(owner, name, value)
        for target in self.functions:
            _redirect(_function(target), self.instead)

    def count(self, counts: Counter[str]) -> None:
        """Count the calls by which a run enters the part from now on, in this process."""
        for target in self.entered or self.functions:
            function = _function(target)
            _redirect(function, _count_calls(copy_function(function), self.name, counts))


def _owner(target: str) -> tuple[Any, str]:
    """Return the owner of the last name of `module:name.name`, and this name."""
    module, _, path = target.partition(":")
    owner: Any = importlib.import_module(module)
    *names, last = path.split(".")
    for name in names:
        owner = getattr(owner, name)
    return owner, last


def _function(target: str) -> FunctionType:
    owner, name = _owner(target)
    found = vars(owner)[name]
    found = getattr(found, "fget", None) or getattr(found, "__func__", found)
    if not isinstance(found, FunctionType):
        raise TypeError(f"{target}: must be a function, is {found!r}")
    return found


def copy_function(function: Any) -> Any:
    """Copy a function, so that the copy stays as it is when the function is redirected."""
    made = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _redirect(function: FunctionType, to: Callable[..., Any]) -> None:
    """Make a function call another one with its arguments, wherever the function has been imported to.

    Raises ValueError for a function that uses variables of an enclosing function.
    """
    name = f"_redirected_{len(function.__globals__)}"  # a name of its own: a function may be redirected more than once
    function.__globals__[name] = to
    function.__code__ = eval(f"lambda *given, **named: {name}(*given, **named)").__code__


def _count_calls(function: FunctionType, name: str, counts: Counter[str]) -> Callable[..., Any]:
    """Return a function that counts a call of a part and then calls another function."""

    def call_counted(*given: Any, **named: Any) -> Any:
        counts[name] += 1
        return function(*given, **named)

    return call_counted


@dataclass(frozen=True)
class AblationRun(Run):
    """A run without the parts `without`, which counts how often it enters the parts `counted`."""

    without: tuple[MethodPart, ...] = ()
    counted: tuple[MethodPart, ...] = ()

    def label(self) -> tuple[str, str]:
        left_out = ", ".join(part.name for part in self.without)
        return self.instance.name, f"{self.entry.name} without {left_out}" if left_out else self.entry.name

    def work(self, report: ReportFile) -> Unchecked:
        counts = Counter[str]()
        for part in self.counted:
            part.count(counts)
        for part in self.without:
            part.leave_out()
        found = super().work(report)
        return replace(found, answer=replace(found.answer, info={**found.answer.info, "entered": dict(counts)}))

    def content(self, digests: Digests) -> dict[str, Any]:
        names = {"without": [p.name for p in self.without], "counted": [p.name for p in self.counted]}
        return super().content(digests) | names


@dataclass(frozen=True)
class Ablation:
    """The results on a set with all parts, `whole`, and `without` some, instance by instance."""

    name: str
    instance_set: str
    entered: int
    whole: Sequence[Result]
    without: Sequence[Result]

    @property
    def proven(self) -> tuple[int, int]:
        """Return the number of proven instances, with and without the parts."""
        whole, without = (sum(r.status == "optimal" for r in results) for results in (self.whole, self.without))
        return whole, without

    @property
    def gaps(self) -> tuple[float, float]:
        """Return the mean gap with and without the parts; an instance without bound or solution counts 1."""
        whole, without = (fmean(_gap(r) for r in results) for results in (self.whole, self.without))
        return whole, without

    @property
    def ratios(self) -> list[float]:
        """Return the CPU seconds without the parts, as multiples of those with them."""
        pairs = zip(self.whole, self.without, strict=True)
        return [max(LEAST_S, a.cpu_s or 0.0) / max(LEAST_S, b.cpu_s or 0.0) for b, a in pairs]

    @property
    def worth(self) -> str:
        """Return what the parts are worth: proofs, a gap or a factor of time, or "nothing"."""
        slower, (proven, left), (gap, wider) = _geometric(self.ratios), self.proven, self.gaps
        said = [] if left >= proven else ["1 proof" if proven - left == 1 else f"{proven - left} proofs"]
        said += ["gap"] if wider > max(LEAST_GAP, WIDER * gap) else []
        said += ["time"] if slower >= SLOWER else []
        return ", ".join(said) or "nothing"

    @property
    def cells(self) -> list[str]:
        """Return the row of the table."""
        runs, (proven, left), gaps = len(self.whole), self.proven, [percent(gap, 4) for gap in self.gaps]
        numbers = [f"{self.entered}/{runs}", f"{proven} → {left}", " → ".join(gaps), f"{_geometric(self.ratios):.2f}"]
        return [self.name, self.instance_set, *numbers, self.worth]


HEAD = ["without", "set", "runs that enter it", "proven", "mean gap", "CPU time, factor", "worth"]


def _gap(result: Result) -> float:
    return 0.0 if result.status == "optimal" else 1.0 if result.gap is None else result.gap


def _geometric(ratios: Sequence[float]) -> float:
    return exp(fmean(log(ratio) for ratio in ratios))


def ablate(
    exact: str | Mapping[str, str],
    parts: Sequence[MethodPart],
    draws: Mapping[str, Callable[..., Instance[Any]]],
    options: Options,
    joint: Mapping[str, Sequence[str]] | None = None,
    quick: bool = False,
) -> StagedStudy:
    """Return the study that leaves parts out of an exact method, each alone and some together.

    - `exact`: the method, `module:function`, or one for each problem of the sets.
    - `parts`: its parts.
    - `draws`: functions that draw an instance from a `seed`, by the names of their sets.
    - `options`: of every run.
    - `joint`: names of parts that are left out together, by the name of the row.
    - `quick`: whether one seed of the first set suffices, and one part that its run enters.

    Raises ValueError if `joint` names a part that does not exist.
    """
    known = {part.name: part for part in parts}
    together = {part.name: (part.name,) for part in parts} | {name: tuple(of) for name, of in (joint or {}).items()}
    if unknown := {name for names in together.values() for name in names} - set(known):
        raise ValueError(f"joint: no part is named {sorted(unknown)[0]!r}")
    options = limit_time(options, LIMIT_S)
    seeds = range(FIRST_SEED, FIRST_SEED + (1 if quick else SEEDS))
    used = list(draws.items())[: 1 if quick else None]
    sets = {name: [draw(seed=seed) for seed in seeds] for name, draw in used}

    def task(
        each: Instance[Any], name: str, counted: tuple[MethodPart, ...] = (), without: tuple[MethodPart, ...] = ()
    ) -> AblationRun:
        method = exact if isinstance(exact, str) else exact[each.problem]
        entry = Entry(method.rpartition(":")[2].replace("_", "-"), method)
        return AblationRun(each, entry, options, name, without=without, counted=counted)

    all_runs = [task(each, name, counted=tuple(parts)) for name in sets for each in sets[name]]

    def count_entered(results: Sequence[Result]) -> dict[tuple[str, str], int]:
        """Count, for each row and set, the runs that enter all parts of the row."""
        found = Counter[tuple[str, str]]()
        for run, result in zip(all_runs, results, strict=True):
            for row, names in together.items():
                if all(result.info.get("entered", {}).get(name) for name in names):
                    found[row, run.instance_set] += 1
        return found

    def rows(results: Sequence[Result]) -> list[tuple[str, str, int]]:
        counts = count_entered(results)
        chosen = []
        for row in together:
            shares = [(-counts[row, name] / len(sets[name]), -i, name) for i, name in enumerate(sets)]
            chosen += [(row, name, counts[row, name]) for share, _, name in sorted(shares)[:SETS] if share]
        return chosen[: 1 if quick else None]

    def stages() -> Stages:
        results = yield all_runs
        runs = [
            task(each, name, without=tuple(known[part] for part in together[row]))
            for row, name, _ in rows(results)
            for each in sets[name]
        ]
        if runs:
            yield runs

    def compare(outcomes: Sequence[Any]) -> list[Ablation]:
        whole = {name: [] for name in sets}  # type: dict[str, list[Result]]
        for run, result in zip(all_runs, outcomes, strict=False):
            whole[run.instance_set].append(result)
        rest, found = iter(outcomes[len(all_runs) :]), []
        for row, name, count in rows(outcomes[: len(all_runs)]):
            without = [next(rest) for _ in sets[name]]
            found.append(Ablation(row, name, count, whole[name], without))
        return found

    def tables(outcomes: Sequence[Any]) -> list[TextTable | str]:
        found = compare(outcomes)
        never = [row for row in together if row not in {one.name for one in found}]
        said: list[TextTable | str] = [TextTable(HEAD, [one.cells for one in found])]
        return [*said, f"No run enters: {', '.join(never)}."] if never and not quick else said

    def values(outcomes: Sequence[Any]) -> dict[str, Sample | float | str]:
        found: dict[str, Sample | float | str] = {}
        for one in compare(outcomes):
            name = f"{one.name}, {one.instance_set}"
            found[f"{name}: proven"] = "{} to {}".format(*one.proven)
            found[f"{name}: gap"] = Sample.of([_gap(r) for r in one.without])
            found[f"{name}: CPU factor"] = Sample.from_ratios(one.ratios)
        return found

    return StagedStudy(send_outcomes(stages(), []), tables, values=values, stages=stages)
