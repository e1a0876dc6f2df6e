"""Starts: solutions of files or of heuristics, checked, which a method begins from and never falls behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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
)
from instances.fields import Sense
from instances.files import read_json
from instances.gaps import ahead
from instances.method import Method
from instances.reading import is_folder
from instances.result import TracePoint
from instances.text import shown

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
        if clock.expired:
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
        if folder and not _solved(content):
            continue
        instance = _instance_of(content, instances, alone=not folder and len(instances) == 1)
        if instance is not None:
            start = _checked(file, content, instance)
            best = found.get(instance.name)
            if best is None or ahead(start.objective, best.objective, instance.data.sense):
                found[instance.name] = start
    if not found:
        names = shown(", ".join(i.name for i in instances[:3])) + (", ..." if len(instances) > 3 else "")
        raise InputError(f"--start: {path}: no result with a solution of {names}")
    return found


def _solved(content: Any) -> bool:
    return isinstance(content, dict) and "solution" in content and content.get("status") in ("optimal", "feasible")


def _instance_of(content: Any, instances: Sequence[Instance], alone: bool) -> Instance | None:
    if alone:
        return instances[0]
    said = content if isinstance(content, dict) else {}
    return next((i for i in instances if (i.name, i.problem) == (said.get("instance"), said.get("problem"))), None)


def _checked(file: Path, content: Any, instance: Instance) -> GivenStart:
    """Read the start in a file. Raises InputError if the independent checker rejects it."""
    result = content if isinstance(content, dict) and "solution" in content else {"solution": content}
    solution, problem = result["solution"], result.get("problem", instance.problem)
    where = f"--start: {file}"
    if problem != instance.problem:
        raise InputError(f"{where}: problem: must be {instance.problem}, got {shown(str(problem))}")
    if solution is None:
        raise InputError(f"{where}: solution: must not be empty, got null; the status is {result.get('status')}")
    try:
        verdict = check(instance.data, solution)
    except MalformedSolution as error:
        raise InputError(f"{where}: solution: {error}") from None
    if verdict.violations or verdict.objective is None:
        broken = next(iter(verdict.violations), "no solution")
        raise InputError(f"{where}: solution: breaks a constraint of {shown(instance.name)}: {shown(broken)}")
    return GivenStart(str(result.get("method", "solution")), solution, verdict.objective)
