"""The plan that a solution is, in words or as a table, below the table of results."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.harness.own import resolve
from experiments.output.terminal import out
from experiments.papers import PLANS
from instances import Instance, Result
from instances.gaps import ahead
from instances.text import shown

MOST = 30  # lines of a plan


def print_plan(instances: Sequence[Instance], results: Sequence[Result]) -> None:
    """The best solution of the one instance; of several there are too many to show."""
    best = None
    for result in results:
        if result.solved and result.objective is not None:
            better = best is None or best.objective is None or ahead(result.objective, best.objective, result.sense)
            best = result if better else best
    if len(instances) != 1 or best is None or best.solution is None:
        return
    lines = _lines(instances[0], best)
    # the last line of a plan in words is the sum of the others
    cut = [*lines[: MOST - 1], f"... {len(lines) - MOST} more lines; --out writes them all", lines[-1]]
    out.print(f"\nthe plan of {shown(best.method)}:")
    for line in lines if len(lines) <= MOST else cut:
        out.print(f"  {line}")


def _lines(instance: Instance, result: Result) -> list[str]:
    if instance.problem in PLANS:
        return list(resolve(PLANS[instance.problem])(instance.data, result.solution))
    return [shown(line) for line in result.to_frame().to_string(index=False).splitlines()]
