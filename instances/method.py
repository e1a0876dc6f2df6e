"""A method: a function from data to an answer, which this module times, checks and names for everybody who calls it.

The function is the mathematics alone: `(data)`, and after it whichever of `options`, `report` and `start` it uses, by
these names. What a caller gets is one protocol for all methods and one Result, with the options that were in effect.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from instances.clock import Stopwatch
from instances.fields import ProblemData
from instances.options import OPTION_NAMES, Options, Report, Solution
from instances.result import Answer, Kind, Result, conclude

D = TypeVar("D", bound=ProblemData)
D_contra = TypeVar("D_contra", bound=ProblemData, contravariant=True)

PARAMETERS = ("options", "report", "start")
PLAIN = Options()
ANY = frozenset({"time_limit"})  # every method is ended at the time limit
SEEDED = ANY | {"seed"}


class Solve(Protocol[D_contra]):
    """What a method is to its caller."""

    method: Method[Any]

    def __call__(
        self,
        data: D_contra,
        options: Options = PLAIN,
        report: Report | None = None,
        start: Solution | None = None,
    ) -> Result: ...


@dataclass(frozen=True)
class Method(Generic[D]):
    """What is known of a method.

    `takes`: which of PARAMETERS its function uses. `honours`: names of the options that make a difference to it; the
    others it keeps trivially, and a result's `options` does not list them.
    """

    name: str
    kind: Kind
    function: Callable[..., Answer | Solution | None]
    takes: tuple[str, ...]
    honours: frozenset[str]

    def answer(
        self, data: D, options: Options = PLAIN, report: Report | None = None, start: Solution | None = None
    ) -> Answer:
        """The unchecked answer, with its CPU seconds where the function did not measure them itself.

        Raises TypeError where the function returns neither an Answer nor a solution.
        """
        given = {"options": options, "report": report, "start": start}
        with Stopwatch() as clock:
            found = self.function(data, **{name: given[name] for name in self.takes})
        if not isinstance(found, Answer):
            if not (found is None or isinstance(found, Mapping)):
                raise TypeError(f"method {self.name} must return a solution, got {type(found).__name__}")
            found = Answer(found)
        return found if found.solve_s is not None else replace(found, solve_s=clock.cpu_s)

    def result(self, data: D, answer: Answer, options: Options) -> Result:
        """The result of an answer, once the independent checker has passed it. Raises CheckFailed as `conclude` does."""
        return conclude(data, self.name, answer, options, kind=self.kind, honours=self.honours)


def method(
    kind: Kind, honours: frozenset[str] = OPTION_NAMES, name: str | None = None
) -> Callable[[Callable[..., Answer | Solution | None]], Solve[Any]]:
    """Decorator that makes a method of a function.

    Its name is the function's, with hyphens, unless `name` is given. Raises TypeError for a parameter that is not one
    of PARAMETERS.
    """

    def decorate(function: Callable[..., Answer | Solution | None]) -> Solve[Any]:
        parameters = list(inspect.signature(function).parameters.values())
        takes = tuple(p.name for p in parameters[1:])
        if unknown := [given for given in takes if given not in PARAMETERS]:
            raise TypeError(f"{function.__name__} takes {unknown[0]}, which is none of {', '.join(PARAMETERS)}")
        spec: Method[Any] = Method(name or function.__name__.replace("_", "-"), kind, function, takes, honours)

        @functools.wraps(function)
        def solve(
            data: Any, options: Options = PLAIN, report: Report | None = None, start: Solution | None = None
        ) -> Result:
            return spec.result(data, spec.answer(data, options, report, start), options)

        solve.__annotations__ = {**function.__annotations__, "return": Result}
        solve.__signature__ = inspect.signature(function).replace(return_annotation=Result)  # type: ignore[attr-defined]
        solve.method = spec  # type: ignore[attr-defined]
        return solve  # type: ignore[return-value]

    return decorate


def own(function: Callable[..., Any], name: str) -> Method[Any]:
    """The method that a user's own function is: a heuristic, given the options where it has a second parameter."""
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [p for p in inspect.signature(function).parameters.values() if p.kind in places]
    if len(positional) > 1:
        return Method(name, "heuristic", lambda data, options: function(data, options), ("options",), OPTION_NAMES)
    return Method(name, "heuristic", lambda data: function(data), (), ANY)
