"""Solutions to start from: those of result files, each checked against the instance that it is for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.harness.starts import Start
from instances import InputError, Instance, MalformedSolution, check
from instances.files import read_json
from instances.gaps import ahead
from instances.reading import is_folder
from instances.text import shown


def starts_at(path: Path, instances: Sequence[Instance]) -> dict[str, Start]:
    """The best start of each instance, by name, in a result file or in a folder of them.

    A result belongs to the instance of its name and problem; a single file also to a single instance of another name.
    A solution alone, without the fields of a result, is one for the only instance. In a folder, what is no result of a
    feasible solution is passed over. Raises InputError for a path that is not there, for a solution that is none of
    the instance, and where no instance gets a start.
    """
    found: dict[str, Start] = {}
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


def _checked(file: Path, content: Any, instance: Instance) -> Start:
    """The start in a file. Raises InputError where the independent checker does not pass it."""
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
    return Start(str(result.get("method", "solution")), solution, verdict.objective)
