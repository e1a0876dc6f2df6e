"""Define families of small random instances with brute-force optima, and the checks of results against them.

A family brings its own brute force, in fractions, which shares nothing with the project but the data classes.
`attack` calls methods from Python and without a start: what they say is then their own. `attack_as_commanded` takes the
way of `gapwise solve`, with starts and limits.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from experiments.harness.entry import Entry
from experiments.harness.run import GivenStart, Unchecked, answer, apply, conclude_run, load_method
from experiments.plan import methods_for
from instances import InputError, Instance, Options, Report, Result
from instances.clock import call_within
from instances.fields import ProblemData
from instances.gaps import FLOOR, NOISE

CLOSE = Fraction(1, 10**9)  # relative: what rounding may carry a printed bound or objective past the optimum
PLAIN = Options()
LIMITED = (Options(gap=0.05), Options(effort=1), Options(effort=7), Options(time_limit=0.01), Options(gap=0.0))
COMMANDED = (PLAIN, Options(time_limit=10.0), Options(effort=1))
ENDING = COMMANDED[:2]  # with these a small instance is to be solved to its end
PATIENCE_S = 120.0  # wall seconds of one run, compilation among them: without a limit it has to end by itself
OFTEN = 8  # of so many instances one is given to the slow methods

Solve = Callable[..., Result]


NAMES = (
    "a",
    "b",
    "a b",
    "{}",
    "%s",
    "é\u0301",
    "0",
    "-1",
    "x" * 200,
    "j\nk",
    "'",
    '"',
    "[0]",
    "None",
    "j,1",
    "@",
    "a@b",
)


def names(rng: random.Random, count: int) -> list[str]:
    """So many different names, plain ones or odd."""
    return [f"n{i}" for i in range(count)] if rng.random() < 0.7 else rng.sample(NAMES, count)


@dataclass(frozen=True)
class Family:
    """A family: `draw(random)` gives an instance, or `None` where that is not valid; `optimum(data)` its value.

    `optimum` is `None` where there is no feasible solution. `methods` are exact and tried on every instance, plainly
    and with one of `limited`; `slow` ones on a few; no result of `heuristics` may be better than the optimum.
    """

    name: str
    draw: Callable[[random.Random], ProblemData | None]
    optimum: Callable[[Any], Fraction | None]
    methods: Mapping[str, Solve]
    slow: Mapping[str, Solve] = field(default_factory=dict)
    heuristics: Mapping[str, Solve] = field(default_factory=dict)
    limited: tuple[Options, ...] = LIMITED

    def instances(self, count: int, seed: int) -> Iterator[tuple[str, ProblemData]]:
        """So many instances, each with a name by which `instance` draws it again."""
        names = (f"{seed}-{i}" for i in itertools.count())
        drawn = ((name, self.instance(name)) for name in names)
        return itertools.islice(((name, data) for name, data in drawn if data is not None), count)

    def instance(self, name: str) -> ProblemData | None:
        """Draw the instance of a name."""
        return self.draw(random.Random(f"{self.name} {name}"))


@dataclass
class Tally:
    """What came of a family: `wrong` has a line for each false word, `unproven` for each that was left open."""

    instances: int = 0
    infeasible: int = 0
    runs: int = 0
    refused: int = 0
    wrong: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)


def attack(family: Family, count: int, seed: int) -> Tally:
    """Hold all methods of a family against brute force on so many instances."""
    tally = Tally()
    for number, (name, data) in enumerate(family.instances(count, seed)):
        optimum = family.optimum(data)
        tally.instances += 1
        tally.infeasible += optimum is None
        limited = family.limited[number % len(family.limited)]
        methods = {**family.methods, **(family.slow if number % OFTEN == 0 else {})}
        for method, solve in methods.items():
            for options in (PLAIN, limited):
                _judge(tally, f"{family.name} {name} {method}", partial(solve, data), options, optimum)
        for method, solve in family.heuristics.items():
            result = solve(data)
            if result.status == "feasible" and _past(result.objective, optimum, -1, result.sense):
                tally.wrong.append(f"{family.name} {name} {method}: {result.objective!r} beats {_shown(optimum)}")
    return tally


def attack_as_commanded(family: Family, count: int, seed: int) -> Tally:
    """Hold `gapwise solve` against brute force: its exact method with the starts and the limits that a user gives.

    Starts are those of the heuristics, a bad one, the optimum, and none; a result is checked as the command does.
    """
    tally = Tally()
    for number, (name, data) in enumerate(family.instances(count, seed)):
        optimum = family.optimum(data)
        tally.instances += 1
        tally.infeasible += optimum is None
        instance = Instance.of(data, name)
        entry, *others = methods_for(instance, ["all"])
        alone = replace(entry, starts=())

        def run(options: Options, report: Report, entry: Entry, given: GivenStart | None, of: Instance) -> Result:
            method = load_method(entry)
            found = answer(entry, method, of, options, report, given)
            return conclude_run(entry, of, Unchecked(found, method.kind, method.honours), options)

        commanded = partial(run, entry=entry, given=None, of=instance)
        results = [_judge(tally, f"{family.name} {name} by command", commanded, o, optimum) for o in COMMANDED]
        starts: dict[str, GivenStart | None] = {"no start": None}
        if results[0] is not None and results[0].solved:
            starts["best start"] = _given(results[0])
        if (worst := _worst(tally, instance, others)) is not None:
            starts["bad start"] = _given(worst)
        for turn, (said, start) in enumerate(starts.items(), start=number):
            from_start = partial(run, entry=alone, given=start, of=instance)
            options = COMMANDED[turn % len(COMMANDED)]
            _judge(tally, f"{family.name} {name} {said}", from_start, options, optimum)
    return tally


def _given(result: Result) -> GivenStart:
    assert result.solution is not None
    assert result.objective is not None
    return GivenStart(result.method, result.solution, result.objective)


def _worst(tally: Tally, instance: Instance, entries: Sequence[Entry]) -> Result | None:
    """Return the worst solution that a heuristic of the command line finds, `None` if none finds any."""
    found: list[Result] = []
    for entry in entries:
        if load_method(entry).kind != "heuristic":
            continue
        try:
            result = call_within(PATIENCE_S, partial(apply, entry, instance, PLAIN))
        except InputError:
            continue
        except Exception as error:  # whatever a heuristic raises on a valid instance is a fault
            tally.wrong.append(f"{instance.name} {entry.name}: {type(error).__name__}: {error}")
            continue
        if result.solved:
            found.append(result)
    sign = 1 if instance.data.sense == "minimize" else -1
    return max(found, key=lambda result: sign * (result.objective or 0.0), default=None)


def _judge(
    tally: Tally, said: str, solve: Callable[[Options, Report], Result], options: Options, optimum: Fraction | None
) -> Result | None:
    """Note what is false in one run; its result, `None` if it has none."""
    said = f"{said} {options.select(_told(options))}: "
    tally.runs += 1
    bounds: list[float] = []
    run = partial(solve, options, lambda _, b: None if b is None else bounds.append(b))
    try:
        result = call_within(PATIENCE_S, run)
    except InputError:
        tally.refused += 1
        return None
    except Exception as error:  # whatever a method raises on a valid instance is a fault
        tally.wrong.append(f"{said}{type(error).__name__}: {error}; optimum {_shown(optimum)}")
        return None
    bounds += [bound for _, _, bound in result.trace if bound is not None]
    told = ", ".join(f"{x!r}" for x in (result.status, result.objective, result.bound))
    for fault in faults(result, optimum, options, bounds):
        tally.wrong.append(f"{said}{fault}: {told}, optimum {_shown(optimum)}")
    if options in ENDING and result.status not in ("optimal", "infeasible"):
        tally.unproven.append(f"{said}{told} ({result.reason}), optimum {_shown(optimum)}")
    return result


def faults(result: Result, optimum: Fraction | None, options: Options, bounds: list[float]) -> Iterator[str]:
    """Describe the errors in a result, and in the `bounds` that were reported before it."""
    if result.status == "infeasible" and optimum is not None:
        yield "called infeasible"
    if optimum is None:
        if result.solved:
            yield "there is no solution"
        return
    if _past(result.objective, optimum, -1, result.sense):
        yield "better than the best"
    if result.bound is not None and _past(result.bound, optimum, 1, result.sense):
        yield "false bound"
    if any(_past(bound, optimum, 1, result.sense) for bound in bounds):
        yield "false bound on the way"
    if result.status == "optimal":
        short = abs(Fraction(result.objective) - optimum)
        most = max(Fraction(options.gap), CLOSE) * max(abs(Fraction(result.objective)), Fraction(FLOOR))
        if short > most * (1 + CLOSE) + Fraction(NOISE):
            yield "not optimal"


def _past(value: float | None, optimum: Fraction | None, sign: int, sense: str) -> bool:
    """Return whether a bound (`sign` 1) cuts the optimum off, or an objective (-1) beats it, by more than rounding."""
    if value is None:
        return False
    if optimum is None:
        return sign < 0
    beyond = (Fraction(value) - optimum) * sign * (1 if sense == "minimize" else -1)
    return beyond > CLOSE * max(abs(Fraction(value)), abs(optimum))


def _told(options: Options) -> frozenset[str]:
    return frozenset(name for name, value in vars(options).items() if value != getattr(PLAIN, name))


def _shown(optimum: Fraction | None) -> str:
    return "none" if optimum is None else repr(float(optimum))
