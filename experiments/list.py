"""`python -m experiments.list [WHAT]`: list the names that the command line knows."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated

import typer

from experiments.entry import run
from experiments.papers import DRAWINGS, METHODS, ONLINE, reference_sets
from experiments.simulator.simulation import policy_names
from instances import InputError
from instances.text import meant

FORMATS = ("table", "json")


class What(StrEnum):
    """Kinds of names that can be listed."""

    PROBLEMS = "problems"
    METHODS = "methods"
    WORKLOADS = "workloads"
    POLICIES = "policies"
    SETS = "sets"
    DRAWINGS = "drawings"


def list(
    what: Annotated[What | None, typer.Argument(help="What to list.", show_default="all")] = None,
    problem: Annotated[str | None, typer.Option(help="List only what belongs to this problem.")] = None,
    format: Annotated[str, typer.Option(help="table or json.")] = "table",
) -> None:
    """List problems, methods, workloads, policies, the sets of the reference study and generators."""
    if problem is not None and problem not in (*METHODS, *ONLINE):
        known = tuple(dict.fromkeys((*METHODS, *ONLINE)))
        raise InputError(f"--problem: must be one of {', '.join(known)}, got {problem!r}{meant(known, problem)}")
    if format not in FORMATS:
        raise InputError(f"--format: must be {' or '.join(FORMATS)}, got {format!r}")
    found = {kind.value: LISTS[kind](problem) for kind in What if what in (None, kind)}
    if format == "json":
        print(json.dumps(found))
        return
    for kind, names in found.items():
        for of, several in names.items():
            print(f"{kind}{f' of {of}' if of else ''}:")
            for name in several:
                print(f"  {name}")


def _problems(problem: str | None) -> dict[str, tuple[str, ...]]:
    return {"": tuple(METHODS)}


def _methods(problem: str | None) -> dict[str, tuple[str, ...]]:
    return {
        name: tuple(entry.name for entry in entries) for name, entries in METHODS.items() if problem in (None, name)
    }


def _workloads(problem: str | None) -> dict[str, tuple[str, ...]]:
    return {"": tuple(ONLINE)}


def _policies(problem: str | None) -> dict[str, tuple[str, ...]]:
    return {name: tuple(policy_names(name)) for name in ONLINE if problem in (None, name)}


def _sets(problem: str | None) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for made in reference_sets():
        found[made.instances[0].problem] = (*found.get(made.instances[0].problem, ()), made.name)
    return {name: sets for name, sets in found.items() if problem in (None, name)}


def _drawings(problem: str | None) -> dict[str, tuple[str, ...]]:
    return {"": tuple(DRAWINGS)}


LISTS: dict[What, Callable[[str | None], dict[str, tuple[str, ...]]]] = {
    What.PROBLEMS: _problems,
    What.METHODS: _methods,
    What.WORKLOADS: _workloads,
    What.POLICIES: _policies,
    What.SETS: _sets,
    What.DRAWINGS: _drawings,
}

if __name__ == "__main__":
    run(list)
