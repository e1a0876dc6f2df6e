"""`python -m experiments.list [WHAT]`: list the names that the command line knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated

import typer

from experiments.entry import refuse_unknown, run
from experiments.papers import DRAWINGS, METHODS, ONLINE, STUDIES, reference_sets
from experiments.simulator.simulation import policy_names
from instances import InputError

FORMATS = ("table", "json")


class What(StrEnum):
    """Kinds of names that can be listed."""

    PROBLEMS = "problems"
    METHODS = "methods"
    WORKLOADS = "workloads"
    POLICIES = "policies"
    SETS = "sets"
    DRAWINGS = "drawings"
    STUDIES = "studies"


def _sets() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for made in reference_sets():
        problem = made.instances[0].problem
        found[problem] = (*found.get(problem, ()), made.name)
    return found


LISTS: Mapping[What, Callable[[], Mapping[str, Sequence[str]]]] = {
    What.PROBLEMS: lambda: {"": tuple(METHODS)},
    What.METHODS: lambda: {name: tuple(entry.name for entry in entries) for name, entries in METHODS.items()},
    What.WORKLOADS: lambda: {"": tuple(ONLINE)},
    What.POLICIES: lambda: {name: policy_names(name) for name in ONLINE},
    What.SETS: _sets,
    What.DRAWINGS: lambda: {"": tuple(DRAWINGS)},
    What.STUDIES: lambda: {"": tuple(STUDIES)},
}
"""The names of each kind by problem, or under the empty name if they belong to no problem."""


def list(
    what: Annotated[What | None, typer.Argument(help="What to list.", show_default="all")] = None,
    problem: Annotated[str | None, typer.Option(help="List only what belongs to this problem.")] = None,
    format: Annotated[str, typer.Option(help="table or json.")] = "table",
) -> None:
    """List problems, methods, workloads, policies, the sets of the reference study, generators and studies."""
    if problem is not None:
        refuse_unknown("--problem", problem, dict.fromkeys((*METHODS, *ONLINE)))
    if format not in FORMATS:
        raise InputError(f"--format: must be {' or '.join(FORMATS)}, got {format!r}")
    found = {
        kind.value: {of: names for of, names in LISTS[kind]().items() if not of or problem in (None, of)}
        for kind in What
        if what in (None, kind)
    }
    if format == "json":
        print(json.dumps(found))
        return
    for kind, by_problem in found.items():
        for of, names in by_problem.items():
            print(f"{kind}{f' of {of}' if of else ''}:")
            for name in names:
                print(f"  {name}")


if __name__ == "__main__":
    run(list)
