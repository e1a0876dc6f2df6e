"""Benchmarks: one row per measurement, with CPU seconds, counts of work, and a summary of the results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import fmean
from typing import Any

from experiments.harness.entry import Entry
from experiments.harness.experiment import Study, TextTable
from experiments.harness.run import Run
from experiments.harness.sample import Sample
from experiments.harness.task import HarnessTask
from experiments.output.terminal import percent
from instances import Instance, Options, Result

COUNTED = ("nodes", "pricings", "rounds", "simplex_iterations")
"""Counts of work that methods report in `info`, the same on every machine."""


def proofs(results: Sequence[Result]) -> str:
    """Describe how many results are proven optimal, and the largest gap."""
    proven = sum(r.status == "optimal" for r in results)
    gaps = [r.gap for r in results if r.gap is not None]
    return f"{proven}/{len(results)} proven, largest gap {percent(max(gaps, default=None), 4)}"


@dataclass(frozen=True)
class Timing:
    """One line of the table.

    - `what`: the label of the line.
    - `tasks`: tasks whose CPU seconds are measured.
    - `beside`: further tasks to compare with.
    - `found(outcomes)`: summary of the outcomes, or `found(outcomes, beside)` if there are further tasks.
    - `measures`: called like `found`; figures by name: one per outcome, or a sample.
    """

    what: str
    tasks: Sequence[HarnessTask[Any]]
    found: Callable[..., str] = proofs
    beside: Sequence[HarnessTask[Any]] = ()
    measures: Callable[..., Mapping[str, Sequence[float] | Sample]] | None = None

    def cells(self, outcomes: Sequence[Any], beside: Sequence[Any]) -> list[str]:
        """Return the table cells of the outcomes."""
        seconds = [outcome.cpu_s or 0.0 for outcome in outcomes]
        said = self.found(outcomes, beside) if self.beside else self.found(outcomes)
        counts = ", ".join(f"{fmean(values):.4g} {name}" for name, values in collect_counts(outcomes).items())
        return [self.what, str(len(seconds)), f"{fmean(seconds):.4f}", f"{max(seconds):.4f}", counts or "-", said]

    def values(self, outcomes: Sequence[Any], beside: Sequence[Any]) -> Iterator[tuple[str, Sample | str]]:
        """Yield the figures of the outcomes by their names in records."""
        given = (outcomes, beside) if self.beside else (outcomes,)
        yield f"{self.what}: CPU s", Sample.of([outcome.cpu_s or 0.0 for outcome in outcomes])
        more = {} if self.measures is None else self.measures(*given)
        for name, values in {**collect_counts(outcomes), **more}.items():
            if values:
                yield f"{self.what}: {name}", values if isinstance(values, Sample) else Sample.of(values)
        if all(isinstance(outcome, Result) for outcome in outcomes):
            proven = sum(outcome.status == "optimal" for outcome in outcomes)
            yield f"{self.what}: proven", f"{proven} of {len(outcomes)}"
        yield f"{self.what}: found", self.found(*given)


def collect_counts(outcomes: Sequence[Any]) -> dict[str, list[float]]:
    """Return the counts of work of some runs by name, only those that all of the runs report."""
    infos = [outcome.info for outcome in outcomes if isinstance(outcome, Result)]
    of_all = [name for name in COUNTED if len(infos) == len(outcomes) and all(name in info for info in infos)]
    return {name.replace("_", " "): [float(info[name]) for info in infos] for name in of_all}


def benchmark(rows: Iterable[Timing]) -> Study:
    """Build the study whose table has these rows."""
    made = list(rows)

    def split_outcomes(outcomes: Sequence[Any]) -> list[tuple[Timing, list[Any], list[Any]]]:
        left = iter(outcomes)
        return [(row, list(islice(left, len(row.tasks))), list(islice(left, len(row.beside)))) for row in made]

    def tables(outcomes: Sequence[Any]) -> list[TextTable | str]:
        cells = [row.cells(mine, beside) for row, mine, beside in split_outcomes(outcomes)]
        return [TextTable(["what", "runs", "mean CPU s", "max CPU s", "mean counts", "found"], cells)]

    def values(outcomes: Sequence[Any]) -> dict[str, Sample | float | str]:
        return {name: value for row, *of in split_outcomes(outcomes) for name, value in row.values(*of)}

    return Study([task for row in made for task in (*row.tasks, *row.beside)], tables, values=values)


def runs(target: str, instances: Iterable[Instance[Any]], options: Options = Options()) -> list[Run]:
    """Build the runs of one method, given as `module:function`, without starts, to measure the method alone."""
    entry = Entry(target.rpartition(":")[2].replace("_", "-"), target)
    return [Run(instance, entry, options) for instance in instances]
