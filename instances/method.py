"""Turn a function from data to an answer into a method with a name; time it and check its answer.

The function contains only the mathematics. Its parameters are `data` and those of `options`, `report` and `start` that
it uses, by these names. All methods have the same protocol for callers and return a Result, which contains the options
in effect.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, get_type_hints

from instances.clock import BrokenOff, Stopwatch, call_within
from instances.errors import CheckFailed, InputError, MalformedSolution
from instances.fields import ProblemData
from instances.gaps import ahead, gap
from instances.options import OPTION_NAMES, Options, Report, Solution, ignore
from instances.registry import check
from instances.result import Answer, Kind, Result, conclude

HEAD = f"{'CPU s':>8}  {'incumbent':>14}  {'bound':>14}  {'gap':>8}"


class ProgressLog:
    """Prints what a method reports. The objective is the checker's.

    - `data`: the instance.
    """

    def __init__(self, data: ProblemData) -> None:
        self.data, self.clock = data, Stopwatch()
        self.objective: float | None = None
        self.bound: float | None = None
        print(HEAD)

    def __call__(self, solution: Solution | None, bound: float | None) -> None:
        """Print a line for a new incumbent or bound."""
        if solution is not None:
            self.objective = check(self.data, solution).objective
        self.bound = self.bound if bound is None else bound
        self._print_line()

    def end(self, result: Result) -> None:
        """Print the final line and the summary of the result."""
        self.objective, self.bound = result.objective, result.bound
        self._print_line()
        print(result.summary)

    def _print_line(self) -> None:
        try:
            apart = gap(self.objective, self.bound, self.data.sense)
        except ValueError:  # a bound that the checked result will refuse
            apart = None
        left = "-" if apart is None else f"{100 * apart:.4f}%"
        numbers = ["-" if number is None else f"{number:.8g}" for number in (self.objective, self.bound)]
        print(f"{self.clock.cpu_spent_s:8.2f}  {numbers[0]:>14}  {numbers[1]:>14}  {left:>8}", flush=True)


D = TypeVar("D", bound=ProblemData)
D_contra = TypeVar("D_contra", bound=ProblemData, contravariant=True)

PARAMETERS = ("options", "report", "start")
PLAIN = Options()
ANY = frozenset({"time_limit"})  # every method stops at the time limit
SEEDED = ANY | {"seed"}
OVERRUN = 1.1  # a heuristic is interrupted at this multiple of the time limit


class Solve(Protocol[D_contra]):
    """The protocol by which callers use a method."""

    method: Method[Any]

    def __call__(
        self,
        data: D_contra,
        options: Options = PLAIN,
        report: Report | None = None,
        start: Solution | None = None,
        *,
        display: bool = False,
        **keywords: Any,
    ) -> Result: ...


@dataclass(frozen=True)
class Method(Generic[D]):
    """The description of a method.

    - `name`, `kind`: as a result states them.
    - `function`: the mathematics.
    - `takes`: the parameters of PARAMETERS that the function uses.
    - `honours`: the names of the options that affect the method; a result lists only these in its `options`.
    """

    name: str
    kind: Kind
    function: Callable[..., Answer | Solution | None]
    takes: tuple[str, ...]
    honours: frozenset[str]

    def answer(
        self, data: D, options: Options = PLAIN, report: Report | None = None, start: Solution | None = None
    ) -> Answer:
        """Run the function and return its unchecked answer, with all CPU seconds that the function used.

        A heuristic that does not watch the clock is ended at the time limit. Its last reported solution is the answer.

        - `data`: the instance.
        - `options`: limits, gap, threads and seed.
        - `report`: receives each new incumbent and each better bound.
        - `start`: a feasible solution. It is checked and reported first. The answer is never worse.

        Raises InputError if `start` is not a feasible solution, and CheckFailed if `start` contradicts the answer.
        Raises TypeError if the function returns neither an Answer nor a solution.
        """
        listen = ignore if report is None else report
        known = None if start is None else _objective(data, start)
        if start is not None:
            listen(start, None)
        with Stopwatch() as clock:
            if self.kind == "exact":  # watches the clock itself, and loses its bound if it is broken off
                found = self._call(data, options, listen, start)
            else:
                found = self._call_within_limit(data, options, listen, start)
        if self.kind == "exact":
            found = replace(found, solve_s=max(0.0, clock.cpu_s - (found.build_s or 0.0)))
        elif found.solve_s is None:  # a user's heuristic may have measured a solver that runs elsewhere
            found = replace(found, solve_s=clock.cpu_s)
        return found if known is None else self._keep_better_start(data, found, start, known)

    def _call(self, data: D, options: Options, report: Report, start: Solution | None) -> Answer:
        given = {"options": options, "report": report, "start": start}
        found = self.function(data, **{name: given[name] for name in self.takes})
        if isinstance(found, Answer):
            return found
        if not (found is None or isinstance(found, Mapping)):
            raise TypeError(f"method {self.name} must return a solution, got {type(found).__name__}")
        return Answer(found)

    def _call_within_limit(self, data: D, options: Options, report: Report, start: Solution | None) -> Answer:
        latest = start

        def report_and_keep(solution: Solution | None, bound: float | None) -> None:
            nonlocal latest
            latest = solution if solution is not None else latest
            report(solution, bound)

        limit = None if options.time_limit is None else OVERRUN * options.time_limit
        try:
            return call_within(limit, lambda: self._call(data, options, report_and_keep, start))
        except BrokenOff:
            reason = f"ended at the time limit of {options.time_limit:g} s"
            return Answer(latest, termination="time_limit", reason=reason)

    def _keep_better_start(self, data: D, found: Answer, start: Solution | None, known: float) -> Answer:
        if found.termination == "infeasible":
            raise CheckFailed(f"{self.name}: calls infeasible what it was given a solution of")
        objective = None if found.solution is None else check(data, found.solution).objective
        return replace(found, solution=start) if ahead(known, objective, data.sense) else found

    def result(self, data: D, answer: Answer, options: Options) -> Result:
        """Check an answer independently and return its result. Raises CheckFailed as `conclude` does."""
        return conclude(data, self.name, answer, options, kind=self.kind, honours=self.honours)


def _objective(data: ProblemData, start: Solution) -> float:
    """Return the objective of a start. Raises InputError if it is not a feasible solution."""
    try:
        verdict = check(data, start)
    except MalformedSolution as error:
        raise InputError(f"start: {error}") from error
    if verdict.violations or verdict.objective is None:
        raise InputError(f"start: {next(iter(verdict.violations), 'no solution')}")
    return verdict.objective


def method(
    kind: Kind, honours: frozenset[str] = OPTION_NAMES, name: str | None = None
) -> Callable[[Callable[..., Answer | Solution | None]], Solve[Any]]:
    """Return a decorator that makes a method of a function.

    - `kind`: whether the method is exact or a heuristic.
    - `honours`: the names of the options that affect the method.
    - `name`: by default the name of the function, with hyphens.

    The function may have keyword-only parameters, which a caller in Python can pass. The decorator raises TypeError for
    any other parameter that is not one of PARAMETERS.
    """

    def decorate(function: Callable[..., Answer | Solution | None]) -> Solve[Any]:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        own = {p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}
        takes = tuple(p.name for p in parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY)
        if unknown := [given for given in takes if given not in PARAMETERS]:
            raise TypeError(f"{function.__name__} takes {unknown[0]}, which is none of {', '.join(PARAMETERS)}")
        spec: Method[Any] = Method(name or function.__name__.replace("_", "-"), kind, function, takes, honours)

        @functools.wraps(function)
        def solve(
            data: Any,
            options: Options = PLAIN,
            report: Report | None = None,
            start: Solution | None = None,
            *,
            display: bool = False,
            **keywords: Any,
        ) -> Result:
            options = Options.of(options, keywords)
            if unknown := keywords.keys() - own:
                known = ", ".join(sorted(OPTION_NAMES | own | {"report", "start", "display"}))
                raise TypeError(f"{spec.name} takes {known}, got {min(unknown)}")
            if not isinstance(data, wanted := _find_data_class(function)):
                hint = ": read a file with instances.load(path).data" if isinstance(data, str | Path) else ""
                hint = ": give its .data" if isinstance(getattr(data, "data", None), wanted) else hint
                raise TypeError(f"data must be {wanted.__name__}, got {type(data).__name__}{hint}")
            here = replace(spec, function=functools.partial(function, **keywords)) if keywords else spec
            log = ProgressLog(data) if display else None
            result = here.result(data, here.answer(data, options, _both(report, log), start), options)
            if log is not None:
                log.end(result)
            return result

        solve.__annotations__ = {**function.__annotations__, "return": Result}
        solve.__signature__ = inspect.signature(function).replace(return_annotation=Result)  # type: ignore[attr-defined]
        solve.method = spec  # type: ignore[attr-defined]
        return solve  # type: ignore[return-value]

    return decorate


def _find_data_class(function: Callable[..., Any]) -> type[ProblemData]:
    """Return the data class that a function declares for its first parameter, or that of all problems."""
    try:
        hints = get_type_hints(function)
        wanted = hints[next(iter(inspect.signature(function).parameters))]
    except (NameError, KeyError, StopIteration, TypeError):  # no annotation, or one that cannot be resolved
        return ProblemData
    return wanted if isinstance(wanted, type) and issubclass(wanted, ProblemData) else ProblemData


def _both(report: Report | None, log: ProgressLog | None) -> Report | None:
    """Return a report that passes everything to `report` and to the log, `None` if there is neither."""
    if report is None or log is None:
        return report if log is None else log
    first, second = report, log

    def report_to_both(solution: Solution | None, bound: float | None) -> None:
        first(solution, bound)
        second(solution, bound)

    return report_to_both
