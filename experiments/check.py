"""`python -m experiments.check FILE...`: is an instance file valid, and does a solution keep its constraints?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from experiments.entry import FAILED, run
from experiments.harness.instance_set import instances_at
from instances import InputError, MalformedSolution
from instances import check as check_solution
from instances.files import read_json
from instances.text import escape_text


def check(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Instance or workload files, - or folders.", show_default=False),
    ],
    solution: Annotated[
        Path | None,
        typer.Option(help="A result, as `solve` writes it, or a solution, to check against the one instance."),
    ] = None,
) -> None:
    """Check instance files, or a solution with --solution."""
    found = [instance for path in paths for instance in instances_at([path]).values()]
    if solution is None:
        for instance in found:
            print(
                f"valid: {escape_text(instance.name)}: {instance.problem}, {instance.data.sense} {instance.data.unit}"
            )
        return
    if len(found) != 1:
        raise InputError(f"--solution: goes with one instance, got {len(found)}")
    content = read_json(solution)
    claimed = content.get("solution", content) if isinstance(content, dict) else content
    try:
        verdict = check_solution(found[0].data, claimed)
    except MalformedSolution as error:
        raise InputError(f"{solution}: {error}") from None
    for violation in verdict.violations:
        print(f"broken: {escape_text(violation)}")
    if verdict.violations:
        raise typer.Exit(FAILED)
    print(f"feasible: {escape_text(found[0].name)}: {verdict.objective!r} {found[0].data.unit}")


if __name__ == "__main__":
    run(check)
