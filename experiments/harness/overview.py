"""The table that a newcomer sees first, in README and at the end of the reference study: one row for each paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from experiments.harness.evidence import Evidence, Value
from experiments.harness.experiment import TextTable
from experiments.harness.gaps import MethodSummary
from experiments.harness.sample import Sample

HEAD = ("paper", "decides", "solved with a proof", "CPU s, mean", "heuristic", "gap, mean", "gap, worst")


@dataclass(frozen=True)
class OverviewRow:
    """One paper: the instance set of the reference study that stands for it, and the heuristic of the paper.

    - `paper`, `decides`: the name of the paper, and the decision that its problem is about.
    - `problem`, `instance_set`, `size`: the set, and the size of its instances in words.
    - `heuristic`, `called`: the method, and its name in the paper.
    - `gap`: the measure of the gap, as records and summaries name it.
    """

    paper: str
    decides: str
    problem: str
    instance_set: str
    size: str
    heuristic: str
    called: str
    gap: str = "gap to optimum"

    def cells(self, figures: Mapping[str, Value]) -> list[str]:
        """Return the cells of the row, from the figures of its set; "-" for a figure that is not known."""
        names = "exact: proven", "exact: CPU s", f"{self.heuristic}: {self.gap}"
        proven, seconds, gap = (figures.get(f"{self.instance_set}: {name}") for name in names)
        solved = "-" if proven is None or proven.text is None else f"{self.size}: {proven.text}"
        mean_s = "-" if seconds is None or seconds.mean is None else f"{seconds.mean:.2f}"
        gaps = ["-", "-"]
        if gap is not None and gap.mean is not None and gap.greatest is not None:
            gaps = [f"{gap.mean:.1%}", f"{gap.greatest:.1%}"]
        of = "" if self.gap == "gap to optimum" else f", in {self.gap.removeprefix('gap in ')}"
        return [self.paper, self.decides, solved, mean_s, f"{self.called}{of}", *gaps]


def figures_of(row: MethodSummary) -> dict[str, Value | Sample | float | str]:
    """Return the figures of a row of a study's summary by their names in records."""
    name = f"{row.instance_set}: {row.method}"
    samples = {"gap to optimum": row.gaps, "gap to bound": row.values("gap_to_bound")}
    if row.measure is not None:
        samples[f"gap in {row.measure.name}"] = row.values("measure_gap_to_optimum")
        samples[f"gap to bound in {row.measure.name}"] = row.values("measure_gap_to_bound")
    samples["CPU s"] = row.cpu_s
    found: dict[str, Value | Sample | float | str] = {
        f"{name}: {what}": Sample.of(values) for what, values in samples.items() if values
    }
    return found | {f"{name}: proven": f"{row.proven} of {row.runs}"}


def overview_of_study(overview: Sequence[OverviewRow], rows: Sequence[MethodSummary]) -> TextTable:
    """Return the table with the figures of a study."""

    def figures(paper: OverviewRow) -> dict[str, Value]:
        mine = (r for r in rows if (r.problem, r.instance_set) == (paper.problem, paper.instance_set))
        return {name: Value.of(found) for row in mine for name, found in figures_of(row).items()}

    return TextTable(HEAD, [paper.cells(figures(paper)) for paper in overview])


def overview_of_records(overview: Sequence[OverviewRow], records: Sequence[Evidence]) -> TextTable:
    """Return the table with the figures of records, one for each paper."""
    pairs = zip(overview, records, strict=True)
    return TextTable(HEAD, [paper.cells(record.values) for paper, record in pairs])
