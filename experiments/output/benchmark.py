"""A benchmark: what was measured, how many CPU seconds it took, and what came out, a row each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import fmean
from typing import Any

from experiments.harness.entry import Entry
from experiments.harness.experiment import Study, TextTable
from experiments.harness.run import Run
from experiments.harness.task import HarnessTask
from experiments.output.terminal import percent
from instances import Instance, Options, Result


def proofs(results: Sequence[Result]) -> str:
    """How many are proven, and the largest gap."""
    proven = sum(r.status == "optimal" for r in results)
    gaps = [r.gap for r in results if r.gap is not None]
    return f"{proven}/{len(results)} proven, largest gap {percent(max(gaps, default=None), 4)}"


@dataclass(frozen=True)
class Timing:
    """One line of the table.

    `tasks`: whose CPU seconds it has. `found(outcomes)`: what came out, or `found(outcomes, beside)` where there are
    further runs `beside` to compare with.
    """

    what: str
    tasks: Sequence[HarnessTask[Any]]
    found: Callable[..., str] = proofs
    beside: Sequence[HarnessTask[Any]] = ()

    def cells(self, outcomes: Sequence[Any], beside: Sequence[Any]) -> list[str]:
        """What is printed of the outcomes."""
        seconds = [outcome.cpu_s or 0.0 for outcome in outcomes]
        said = self.found(outcomes, beside) if self.beside else self.found(outcomes)
        return [self.what, str(len(seconds)), f"{fmean(seconds):.4f}", f"{max(seconds):.4f}", said]


def benchmark(rows: Iterable[Timing]) -> Study:
    """The study whose table has these rows."""
    made = list(rows)

    def tables(outcomes: Sequence[Any]) -> list[TextTable | str]:
        left = iter(outcomes)
        cells = [row.cells(list(islice(left, len(row.tasks))), list(islice(left, len(row.beside)))) for row in made]
        return [TextTable(["what", "runs", "mean CPU s", "max CPU s", "found"], cells)]

    return Study([task for row in made for task in (*row.tasks, *row.beside)], tables)


def runs(target: str, instances: Iterable[Instance[Any]], options: Options = Options()) -> list[Run]:
    """The runs of one method, by its `module:function`, without what it may start from: what it takes by itself."""
    entry = Entry(target.rpartition(":")[2].replace("_", "-"), target)
    return [Run(instance, entry, options) for instance in instances]
