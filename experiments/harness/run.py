"""A gap run: one method on one instance, preceded by its starts and followed by the independent checker."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from experiments.harness.entry import Entry
from experiments.harness.starts import GivenStart, from_start
from experiments.harness.task import Digests, Failure, Reported, ReportFile
from experiments.harness.user_functions import resolve, user_method
from instances import Answer, InputError, Instance, Options, Report, Result, conclude
from instances.gaps import ahead
from instances.method import ANY, Method
from instances.result import Kind, Termination, versions


@dataclass(frozen=True)
class Unchecked:
    """The unchecked answer of a run as its process returns it, with the kind of its method."""

    answer: Answer
    kind: Kind = "heuristic"
    honours: frozenset[str] = ANY


def load_method(entry: Entry) -> Method[Any]:
    """Load the method that an entry names. Raises InputError if there is no such method."""
    if entry.by_user:
        return user_method(entry.target, entry.code)
    found = getattr(resolve(entry.target), "method", None)
    if not isinstance(found, Method):
        raise InputError(f"method: {entry.target} is not made a method by the decorator of instances.method")
    return found


def apply(entry: Entry, instance: Instance, options: Options, report: Report | None = None) -> Result:
    """Run a method and check its answer. Raises any exception of the method."""
    method = load_method(entry)
    found = Unchecked(answer(entry, method, instance, options, report), method.kind, method.honours)
    return concluded(entry, instance, found, options)


def answer(
    entry: Entry,
    method: Method[Any],
    instance: Instance,
    options: Options,
    report: Report | None = None,
    given: GivenStart | None = None,
) -> Answer:
    """Run a method and return its unchecked answer. Raises any exception of the method.

    The heuristics that the entry starts from run first, if they fit the instance. A `given` start is passed only to
    methods that use a start.
    """
    given = given if uses_start(method) else None
    if not entry.starts and given is None:
        return method.answer(instance.data, options, report)
    fitting = [start for start in entry.starts if start.unfit(instance.data) is None]

    def heuristic(entry: Entry, time_limit: float | None) -> Result:
        return apply(entry, instance, replace(options, time_limit=time_limit))

    heuristics = [(start.name, partial(heuristic, start)) for start in fitting]
    return from_start(method, instance.data, heuristics, options, report, given)


def uses_start(method: Method[Any]) -> bool:
    """Return whether a method uses a start: it begins there, or keeps it if it finds no better solution."""
    return method.kind == "exact" or "start" in method.takes


def concluded(entry: Entry, instance: Instance, found: Unchecked, options: Options) -> Result:
    """Check an answer against the data of `instance` and return the result. Raises CheckFailed."""
    result = conclude(instance.data, entry.name, found.answer, options, kind=found.kind, honours=found.honours)
    return result.model_copy(update={"instance": instance.name})


CHECKED = ("status", "objective", "bound", "gap", "violations", "solution")


@dataclass(frozen=True)
class Run:
    """One method on one instance, with the requested options and an optional known solution as a start."""

    instance: Instance
    entry: Entry
    options: Options
    instance_set: str = ""
    start: GivenStart | None = None

    @property
    def time_limit(self) -> float | None:
        return self.options.time_limit

    @property
    def modules(self) -> tuple[str, ...]:
        """Return the modules of the method and its starts; none for a user's method, whose import may do anything."""
        return () if self.entry.by_user else tuple(e.target.partition(":")[0] for e in (self.entry, *self.entry.starts))

    @property
    def kernels(self) -> tuple[str, ...]:
        called = () if self.entry.by_user else (self.entry, *self.entry.starts)
        return tuple(sorted(f"{self.instance.problem} {entry.name}" for entry in called))

    def label(self) -> tuple[str, str]:
        return self.instance.name, self.entry.name

    def work(self, report: ReportFile) -> Unchecked:
        method = load_method(self.entry)
        honours = method.honours | {"start"} if uses_start(method) else method.honours
        report.begin((method.kind, honours))
        found = answer(self.entry, method, self.instance, self.options, report, self.start)
        return Unchecked(found, method.kind, honours)

    def outcome(self, found: Unchecked) -> Result:
        """Check an answer against the data of this process; the result has status `error` if the check fails."""
        try:
            return self._concluded(found)
        except Exception as error:
            reason = Failure.of(error, Reported()).reason
            return self._concluded(replace(found, answer=Answer(None, None, "error", reason)))

    def _concluded(self, found: Unchecked) -> Result:
        """Return the checked result, with the objective of the start among the options in effect."""
        result = concluded(self.entry, self.instance, found, self.options)
        return result.model_copy(update={"options": self._in_effect(result.options, found.honours)})

    def _in_effect(self, options: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
        return options | ({"start": self.start.objective} if self.start is not None and "start" in names else {})

    def ended(self, reported: Reported, termination: Termination, reason: str) -> Result:
        """Return the better of the first and the last incumbent, because the first may be a start that is better."""
        known = Unchecked(Answer(reported.solution, reported.bound, termination, reason, trace=reported.trace))
        if reported.about is not None:
            known = replace(known, kind=reported.about[0], honours=reported.about[1])
        result = self.outcome(known)
        if result.status == "error" or reported.first is None or reported.first == reported.solution:
            return result
        started = self.outcome(replace(known, answer=replace(known.answer, solution=reported.first)))
        if started.objective is None or not started.solved:
            return result
        return started if ahead(started.objective, result.objective, result.sense) else result

    def content(self, digests: Digests) -> dict[str, Any]:
        started = {} if self.start is None else {"start": self.start.solution}
        return started | {
            "instance": digests.instance(self.instance),
            "method": self.entry.target,
            "starts": [start.name for start in self.entry.starts],
            "versions": versions(),
            "limit": "CPU",  # excludes stored results from when limits counted waiting and compilation
            "source": digests.source(self.entry.target, self.entry.code) if self.entry.by_user else None,
        }

    def kept(self, outcome: Result) -> bool:
        return outcome.status != "error"

    def recalled(self, text: str) -> Result | None:
        """Parse a stored result; return `None` if its options differ or the checker contradicts it."""
        result = Result.model_validate_json(text)
        if result.options != self._in_effect(self.options.only(frozenset(result.options)), result.options):
            return None
        found = Unchecked(result.unchecked(), honours=frozenset(result.options))
        again = concluded(self.entry, self.instance, found, self.options)
        return result if all(getattr(again, name) == getattr(result, name) for name in CHECKED) else None
