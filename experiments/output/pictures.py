"""Pictures of solutions, one file a result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from experiments.harness.user_functions import resolve
from experiments.output.folder import result_file
from instances import Instance, Result


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
