"""Solutions shown: the plan that one is, in words or as a table, and pictures, one file a result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from experiments.harness.user_functions import resolve
from experiments.output.folder import result_file
from experiments.output.terminal import out
from instances import Instance, Result
from instances.gaps import ahead
from instances.text import shown


def draw_solutions(
    folder: Path, instances: Sequence[Instance], results: Iterable[Result], plots: Mapping[str, str]
) -> None:
    """Write `<instance>.<method>.svg` of each result that has a solution. Raises OutputError where one cannot be.

    `plots`: the `module:function` that draws a solution, by problem.
    """
    from experiments.simulator.plots import save_figure  # with matplotlib, which few runs need

    named = {(instance.problem, instance.name): instance.data for instance in instances}
    for result in results:
        if result.solution is not None and result.status != "error":
            figure = resolve(plots[result.problem])(named[result.problem, result.instance], result.solution)
            save_figure(figure, folder / result_file(result.instance, result.method, "svg"))


MOST = 30  # lines of a plan


def print_plan(instances: Sequence[Instance], results: Sequence[Result], plans: Mapping[str, str]) -> None:
    """The best solution of the one instance; of several there are too many to show.

    `plans`: the `module:function` that puts a solution in words, by problem; others are tables.
    """
    best = None
    for result in results:
        if result.solved and result.objective is not None:
            better = best is None or best.objective is None or ahead(result.objective, best.objective, result.sense)
            best = result if better else best
    if len(instances) != 1 or best is None or best.solution is None:
        return
    lines = _lines(instances[0], best, plans.get(best.problem))
    # the last line of a plan in words is the sum of the others
    cut = [*lines[: MOST - 1], f"... {len(lines) - MOST} more lines; --out writes them all", lines[-1]]
    out.print(f"\nthe plan of {shown(best.method)}:")
    for line in lines if len(lines) <= MOST else cut:
        out.print(f"  {line}")


def _lines(instance: Instance, result: Result, plan: str | None) -> list[str]:
    if plan is not None:
        return list(resolve(plan)(instance.data, result.solution))
    return [shown(line) for line in result.to_frame().to_string(index=False).splitlines()]
