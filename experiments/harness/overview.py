"""The table that a newcomer sees first, in README and at the end of the reference study: one row for each paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

from experiments.harness.evidence import Evidence, Value
from experiments.harness.experiment import TextTable
from experiments.harness.gaps import MethodSummary
from experiments.harness.sample import Sample

HEAD = ("paper", "decides", "solved with a proof", "CPU s, mean", "heuristic", "gap, mean", "gap, worst")
Lookup = Callable[[str, str], Value | None]
"""`lookup(method, measure)`: a figure of a method on the set of a row."""


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

    def cells(self, lookup: Lookup) -> list[str]:
        """Return the cells of the row, "-" for a figure that is not known."""
        proven, seconds = lookup("exact", "proven"), lookup("exact", "CPU s")
        gap = lookup(self.heuristic, self.gap)
        solved = "-" if proven is None or proven.text is None else f"{self.size}: {proven.text}"
        mean_s = "-" if seconds is None or seconds.mean is None else f"{seconds.mean:.2f}"
        gaps = ["-", "-"]
        if gap is not None and gap.mean is not None and gap.greatest is not None:
            gaps = [f"{gap.mean:.1%}", f"{gap.greatest:.1%}"]
        of = "" if self.gap == "gap to optimum" else f", in {self.gap.removeprefix('gap in ')}"
        return [self.paper, self.decides, solved, mean_s, f"{self.called}{of}", *gaps]


def overview_of_study(overview: Sequence[OverviewRow], rows: Sequence[MethodSummary]) -> TextTable:
    """Return the table with the figures of a study."""
    found = {(row.problem, row.instance_set, row.method): row for row in rows}

    def lookup_of(paper: OverviewRow) -> Lookup:
        def lookup(method: str, measure: str) -> Value | None:
            row = found.get((paper.problem, paper.instance_set, method))
            if row is None:
                return None
            if measure == "proven":
                return Value(text=f"{row.proven} of {row.runs}")
            if measure == "CPU s":
                return Value(mean=fmean(row.cpu_s)) if row.cpu_s else None
            gaps = row.gaps if measure == "gap to optimum" else row.values("measure_gap_to_optimum")
            return Value.of(Sample.of(gaps)) if gaps else None

        return lookup

    return TextTable(HEAD, [paper.cells(lookup_of(paper)) for paper in overview])


def overview_of_records(overview: Sequence[OverviewRow], records: Sequence[Evidence]) -> TextTable:
    """Return the table with the figures of records, one for each paper."""

    def lookup_of(paper: OverviewRow, record: Evidence) -> Lookup:
        return lambda method, measure: record.values.get(f"{paper.instance_set}: {method}: {measure}")

    pairs = zip(overview, records, strict=True)
    return TextTable(HEAD, [paper.cells(lookup_of(paper, record)) for paper, record in pairs])
