"""A gap run: one method on one instance, preceded by its starts and followed by the independent checker."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from experiments.harness.entry import Entry
from experiments.harness.task import Digests, Failure, HarnessTask, Reported, ReportFile
from experiments.harness.user_functions import resolve, user_method
from instances import (
    Answer,
    InputError,
    Instance,
    MalformedSolution,
    Options,
    ProblemData,
    Report,
    Result,
    Solution,
    Stopwatch,
    check,
    conclude,
)
from instances.fields import Sense
from instances.files import read_json
from instances.gaps import ahead
from instances.method import ANY, Method
from instances.reading import is_folder
from instances.result import Kind, Termination, TracePoint, versions
from instances.text import escape_text


@dataclass(frozen=True)
class Unchecked:
    """The unchecked answer of a run as its process returns it, with the kind of its method."""

    answer: Answer
    kind: Kind = "heuristic"
    honours: frozenset[str] = ANY


def load_method(entry: Entry) -> Method[Any]:
    """Load the method that an entry names. Raises InputError if there is no such method."""
    if entry.is_by_user:
        return user_method(entry.target, entry.code)
    found = getattr(resolve(entry.target), "method", None)
    if not isinstance(found, Method):
        raise InputError(f"method: {entry.target} is not made a method by the decorator of instances.method")
    return found


def apply(entry: Entry, instance: Instance, options: Options, report: Report | None = None) -> Result:
    """Run a method and check its answer. Raises any exception of the method."""
    method = load_method(entry)
    found = Unchecked(answer(entry, method, instance, options, report), method.kind, method.honours)
    return conclude_run(entry, instance, found, options)


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


def conclude_run(entry: Entry, instance: Instance, found: Unchecked, options: Options) -> Result:
    """Check an answer against the data of `instance` and return the result. Raises CheckFailed."""
    result = conclude(instance.data, entry.name, found.answer, options, kind=found.kind, honours=found.honours)
    return result.model_copy(update={"instance": instance.name})


CHECKED = ("status", "objective", "bound", "gap", "violations", "solution")


@dataclass(frozen=True)
class Run(HarnessTask[Result]):
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
        return (
            () if self.entry.is_by_user else tuple(e.target.partition(":")[0] for e in (self.entry, *self.entry.starts))
        )

    @property
    def kernels(self) -> tuple[str, ...]:
        called = () if self.entry.is_by_user else (self.entry, *self.entry.starts)
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
            return self._conclude(found)
        except Exception as error:
            reason = Failure.of(error, Reported()).reason
            return self._conclude(replace(found, answer=Answer(None, None, "error", reason)))

    def _conclude(self, found: Unchecked) -> Result:
        """Return the checked result, with the objective of the start among the options in effect."""
        result = conclude_run(self.entry, self.instance, found, self.options)
        return result.model_copy(update={"options": self._add_start_objective(result.options, found.honours)})

    def _add_start_objective(self, options: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
        return options | ({"start": self.start.objective} if self.start is not None and "start" in names else {})

    def conclude_early(self, reported: Reported, termination: Termination, reason: str) -> Result:
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
            "source": digests.source(self.entry.target, self.entry.code) if self.entry.is_by_user else None,
        }

    def is_final(self, outcome: Result) -> bool:
        return outcome.status != "error"

    def parse_outcome(self, text: str) -> Result | None:
        """Parse a stored result; return `None` if its options differ or the checker contradicts it."""
        result = Result.model_validate_json(text)
        if result.options != self._add_start_objective(self.options.select(frozenset(result.options)), result.options):
            return None
        found = Unchecked(result.unchecked(), honours=frozenset(result.options))
        again = conclude_run(self.entry, self.instance, found, self.options)
        return result if all(getattr(again, name) == getattr(result, name) for name in CHECKED) else None


SHARE = 0.1  # of the time limit for all heuristics: on large instances the exact method has better starts of its own

Heuristic = tuple[str, Callable[[float | None], Result]]
"""A name, and a call with a time limit in CPU seconds."""


@dataclass(frozen=True)
class GivenStart:
    """A solution that the checker has passed, its objective, and the heuristic it is from."""

    method: str
    solution: Solution
    objective: float


def best_start(
    heuristics: Iterable[Heuristic], sense: Sense, limit_s: float | None, given: GivenStart | None = None
) -> GivenStart | None:
    """Return the best of the given start and of the heuristics' solutions, `None` if there is none.

    A heuristic that fails is skipped. All heuristics together have `limit_s` CPU seconds.
    """
    clock, best = Stopwatch(limit_s), given
    for name, run in heuristics:
        if clock.has_expired:
            break
        with suppress(Exception):
            result = run(clock.limit_left_s)
            if result.solved and result.objective is not None and result.solution is not None:
                found = GivenStart(name, result.solution, result.objective)
                best = found if best is None or ahead(found.objective, best.objective, sense) else best
    return best


def from_start(
    method: Method[Any],
    data: ProblemData,
    heuristics: Iterable[Heuristic],
    options: Options,
    report: Report | None,
    given: GivenStart | None = None,
) -> Answer:
    """Run the heuristics, then an exact method from the best start. The answer is never worse than the start.

    The heuristics have a share of the time limit. Their CPU seconds are part of `build_s`.
    """
    limit = options.time_limit
    clock = Stopwatch(limit)
    if given is not None and report is not None:
        report(given.solution, None)
    start = best_start(heuristics, data.sense, None if limit is None else SHARE * limit, given)
    started_s, wall_s = clock.cpu_s, clock.wall_s
    left = replace(options, time_limit=clock.limit_left_s)
    answer = method.answer(data, left, report, None if start is None else start.solution)
    trace: list[TracePoint] = [(when + wall_s, found, bound) for when, found, bound in answer.trace]
    info = dict(answer.info)
    if start is not None:
        trace = [(wall_s, start.objective, None), *trace]
        info["start"] = {"method": start.method, "objective": start.objective}
    return replace(answer, build_s=started_s + (answer.build_s or 0.0), trace=trace, info=info)


def starts_at(path: Path, instances: Sequence[Instance]) -> dict[str, GivenStart]:
    """Return the best start of each instance, by name, from a result file or a folder of result files.

    A result belongs to the instance of its name and problem; a single file also to a single instance of another name.
    A solution alone, without the fields of a result, is one for the only instance. In a folder, what is no result of a
    feasible solution is passed over. Raises InputError for a path that is not there, for a solution that is none of
    the instance, and where no instance gets a start.
    """
    found: dict[str, GivenStart] = {}
    folder = is_folder(path)
    files = sorted(path.rglob("*.json")) if folder else [path]
    for file in files:
        content = read_json(file)
        if folder and not _is_solved(content):
            continue
        instance = _instance_of(content, instances, alone=not folder and len(instances) == 1)
        if instance is not None:
            start = _read_start(file, content, instance)
            best = found.get(instance.name)
            if best is None or ahead(start.objective, best.objective, instance.data.sense):
                found[instance.name] = start
    if not found:
        names = escape_text(", ".join(i.name for i in instances[:3])) + (", ..." if len(instances) > 3 else "")
        raise InputError(f"--start: {path}: no result with a solution of {names}")
    return found


def _is_solved(content: Any) -> bool:
    return isinstance(content, dict) and "solution" in content and content.get("status") in ("optimal", "feasible")


def _instance_of(content: Any, instances: Sequence[Instance], alone: bool) -> Instance | None:
    if alone:
        return instances[0]
    said = content if isinstance(content, dict) else {}
    return next((i for i in instances if (i.name, i.problem) == (said.get("instance"), said.get("problem"))), None)


def _read_start(file: Path, content: Any, instance: Instance) -> GivenStart:
    """Read the start in a file. Raises InputError if the independent checker rejects it."""
    result = content if isinstance(content, dict) and "solution" in content else {"solution": content}
    solution, problem = result["solution"], result.get("problem", instance.problem)
    where = f"--start: {file}"
    if problem != instance.problem:
        raise InputError(f"{where}: problem: must be {instance.problem}, got {escape_text(str(problem))}")
    if solution is None:
        raise InputError(f"{where}: solution: must not be empty, got null; the status is {result.get('status')}")
    try:
        verdict = check(instance.data, solution)
    except MalformedSolution as error:
        raise InputError(f"{where}: solution: {error}") from None
    if verdict.violations or verdict.objective is None:
        broken = next(iter(verdict.violations), "no solution")
        raise InputError(
            f"{where}: solution: breaks a constraint of {escape_text(instance.name)}: {escape_text(broken)}"
        )
    return GivenStart(str(result.get("method", "solution")), solution, verdict.objective)
