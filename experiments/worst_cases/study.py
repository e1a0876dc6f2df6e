"""Study the worst cases of a paper's heuristics: proven over all small instances, and found by search for larger ones.

For comparison, the search also runs on sizes that are enumerated.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any

from experiments.harness.entry import Entry
from experiments.harness.evidence import read
from experiments.harness.experiment import Study, TextTable
from experiments.harness.run import load_method
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from experiments.worst_cases.case import Case, Judge, Optima
from experiments.worst_cases.search import Part, Seen, enumerate_part, search_part
from experiments.worst_cases.space import Space
from experiments.worst_cases.walk import PROOF, compute_min_steps
from instances import Options, Stopwatch

SHARE = 10  # a search that is compared with an enumeration may take one in `SHARE` of its steps
LEAST = 1_000  # minimum size of an enumeration with a search: a tenth of fewer instances is too few steps
LARGE_STEPS = 1_000  # steps of a search without an enumeration
LARGE_PROOFS = 300  # steps of such a search if no bound excludes any instance, so that every step is a proof
SEEDS = 5  # searches per size
CASE = ("problem", "space", "method", "size", "chosen", "heuristic", "optimum", "over_all")
GAP = "gap to optimum"

Row = dict[str, Any]
"""The worst case of a heuristic at a size, and the work for it."""


@dataclass(frozen=True)
class Sweep:
    """The instances of a space to study: all instances up to size `every`, and a search at each size in `larger`.

    - `seeds`: searches per larger size.
    - `effort`: factor on the steps of these searches.
    """

    problem: str
    space: str
    every: int
    larger: tuple[int, ...]
    methods: tuple[str, ...] = ()  # empty: all heuristics that accept the space
    seeds: int = SEEDS
    effort: float = 1.0

    @property
    def quick(self) -> Sweep:
        """Return a sweep of all instances of size 1, or short searches of the smallest size if there are only those."""
        return replace(
            self, every=min(self.every, 1), larger=() if self.every else self.larger[:1], seeds=1, effort=0.02
        )


class Tally(Seen):
    """Record the worst case, the first case on which the heuristic breaks, and the number of such cases."""

    def __init__(self) -> None:
        super().__init__([], random.Random(0))
        self.breaks: Case | None = None
        self.broken = 0

    def add(self, case: Case | None) -> None:
        if case is None:
            return
        if case.broken is None:
            self.worst = sorted([*self.worst, case], key=lambda case: case.rank)[:1]
        else:
            self.broken += 1
            self.breaks = self.breaks or case


def study_of(paper: str, sweeps: Sequence[Sweep], options: Options, quick: bool) -> Study:
    """Build the study of a paper, with one task per sweep."""
    sweeps = [one.quick for one in sweeps] if quick else sweeps
    tasks = [Measurement.of(swept, options, None, paper=paper, **vars(one)) for one in sweeps]

    def rows_of(outcomes: Sequence[Measured]) -> list[Row]:
        return [row for outcome in outcomes for row in outcome.figures["rows"]]

    def tables(outcomes: Sequence[Measured]) -> list[TextTable]:
        rows = rows_of(outcomes)
        each = (_page_table, _worst_table, _search_table, partial(_reference_table, paper), _cases_table)
        return [table(rows) for table in each]

    return Study(tasks, tables, values=lambda outcomes: _values(paper, rows_of(outcomes)))


def swept(paper: str, options: Options, **given: Any) -> dict[str, list[Row]]:
    """Return the rows of a `Sweep`: the worst case and the work for each heuristic and size.

    The heuristics share the optima. Each optimum is proven once, but its work counts for every heuristic that requests
    it.
    """
    sweep = Sweep(**given)
    made: Space = _import_role(paper, "worst").SPACES[sweep.problem][sweep.space]()
    entries: Sequence[Entry] = _import_role(paper, "methods").METHODS[sweep.problem]
    optima = Optima(made, entries[0], options)
    rows: list[Row] = []

    def add(entry: Entry, size: int, row: Row) -> None:
        at = {"problem": sweep.problem, "space": sweep.space, "method": entry.name, "size": size}
        rows.append(at | {"over_all": row["whole"]} | row)

    for entry in entries:
        asked = not sweep.methods or entry.name in sweep.methods
        if not asked or load_method(entry).kind != "heuristic" or _unfit(made, entry):
            continue
        judge = Judge(made, entry, optima)
        for size in range(1, sweep.every + 1):
            row = _enumerate(judge, size)
            steps = (row["instances"] + PROOF * row["proofs"] if made.grows else row["proofs"]) // SHARE
            if row["instances"] >= LEAST and steps >= compute_min_steps(made, size):
                found = [_search(optima, made, entry, size, steps, seed) for seed in range(SEEDS)]
                row |= {f"search_{name}": [of[name] for of in found] for name in ("gap", "broken", "cpu_s")}
            add(entry, size, row)
        for size in sweep.larger:
            steps = round(sweep.effort * (LARGE_STEPS if made.grows else LARGE_PROOFS))
            found = [_search(optima, made, entry, size, steps, seed) for seed in range(sweep.seeds)]
            worst = max(found, key=lambda row: -1.0 if row["gap"] is None else row["gap"])
            totals = {name: sum(row[name] for row in found) for name in ("broken", "instances", "cpu_s")}
            add(entry, size, worst | totals)
    return {"rows": rows}


def _import_role(paper: str, role: str) -> Any:
    """Import a module of a paper by its role, because `experiments.papers` itself refers to the studies."""
    return import_module(f"experiments.{paper}.{role}")


def _unfit(space: Space, entry: Entry) -> bool:
    instance = space.instance((0,))
    return instance is None or entry.unfit(instance.data) is not None


def _describe_worst(judge: Judge, tally: Tally) -> Row:
    """Return the worst case of a tally in plain types, or without one the first case that breaks."""
    worst = tally.worst[0] if tally.worst else None
    shown = worst or tally.breaks
    return {
        "gap": None if worst is None else worst.gap,
        "ratio": None if worst is None else worst.ratio,
        "heuristic": None if worst is None else worst.heuristic,
        "optimum": worst.best if worst is not None and _is_optimum(judge, worst) else None,
        "chosen": None if shown is None else list(shown.chosen),
        "made_of": None if shown is None else judge.space.describe(shown.chosen),
        "broken": tally.broken,
    }


def _is_optimum(judge: Judge, case: Case) -> bool:
    """Return whether the best value of a case is proven optimal; a value known beforehand is proven here."""
    if case.proven:
        return True
    optimum = judge.optima.of(case.chosen)
    return optimum.proven and optimum.best == case.best


def _enumerate(judge: Judge, size: int) -> Row:
    tally, asked, calls, seconds = Tally(), judge.asked, judge.calls, judge.cpu_s
    done = enumerate_part(judge, Part(size=size), tally)
    return _describe_worst(judge, tally) | {
        "whole": done and not judge.optima.unproven,
        "instances": judge.calls - calls,
        "proofs": judge.asked - asked,
        "cpu_s": judge.cpu_s - seconds,
    }


def _search(optima: Optima, made: Space, entry: Entry, size: int, steps: int, seed: int) -> Row:
    """Search without knowledge of the instances evaluated before, and return the worst case found."""
    judge, tally = Judge(made, entry, optima.copy_without_bounds()), Tally()
    with Stopwatch() as clock:
        search_part(judge, entry.name, Part(size=size, seed=seed, steps=steps), tally)
    seconds = max(clock.cpu_s, judge.cpu_s)  # the clock misses cached optima, the judge the space's own search
    return _describe_worst(judge, tally) | {"whole": False, "instances": judge.calls, "cpu_s": seconds}


def _share(gap: float | None) -> str:
    return "-" if gap is None else f"{gap:.1%}"


def _place(row: Row) -> list[str]:
    return [row["method"], row["space"], str(row["size"])]


def _ratio(row: Row) -> str:
    return "-" if row["ratio"] is None else f"{row['ratio']:.4g}"


def _page_table(rows: Sequence[Row]) -> TextTable:
    """Return the worst case of each heuristic at three sizes: up to two enumerated sizes, the others searched."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["method"], row["space"]), []).append(row)
    table = []
    for (method, space), of in found.items():
        three = [row for row in of if row["over_all"]][-2:]
        beyond = [row for row in of if not row["over_all"]]
        three += [beyond[0], beyond[len(beyond) // 2], beyond[-1]][-(3 - len(three)) :] if beyond else []
        table.append([method, space, *map(_cell_of, three), *["-"] * (3 - len(three))])
    return TextTable(["heuristic", "space", "small", "larger", "largest"], table)


def _cell_of(row: Row) -> str:
    """Summarise the worst case of a size in a few words."""
    over = f"all {row['instances']:,}" if row["over_all"] else "searched"
    broken = f", breaks on {row['broken']:,}" if row["broken"] else ""
    return f"{_ratio(row)} at {row['size']} ({over}{broken})"


def _worst_table(rows: Sequence[Row]) -> TextTable:
    """Return the worst case of each heuristic at each size."""
    head = ["heuristic", "space", "size", "worst gap", "ratio", "over", "proven one by one", "instance"]
    found = []
    for row in rows:
        over = f"all {row['instances']:,}" if row["whole"] else f"{row['instances']:,} searched"
        said = f"breaks on {row['broken']:,}" if row["broken"] else ""
        gap = "" if row["gap"] is None else _share(row["gap"])
        found.append([
            *_place(row),
            ", ".join(filter(None, [gap, said])) or "-",
            _ratio(row),
            over,
            f"{row['proofs']:,}" if "proofs" in row else "1",
            row["made_of"] or "-",
        ])  # fmt: skip
    return TextTable(head, found)


def _search_table(rows: Sequence[Row]) -> TextTable:
    """Compare the searches with the enumerations of the same size."""
    head = ["heuristic", "space", "size", "proven worst", "found", "CPU s, all", "CPU s, a search", "as bad"]
    found = []
    for row in rows:
        if "search_gap" in row:
            gaps = sorted(gap or 0.0 for gap in row["search_gap"])
            low, high = _share(gaps[0]), _share(gaps[-1])
            span, seconds = low if low == high else f"{low} to {high}", sum(row["search_cpu_s"]) / len(gaps)
            cells = [_share(row["gap"]), span, f"{row['cpu_s']:.2f}", f"{seconds:.2f}"]
            found.append([*_place(row), *cells, f"{as_bad(row)} of {len(gaps)}"])
    return TextTable(head, found)


def _cases_table(rows: Sequence[Row]) -> TextTable:
    """Return the cases for the library; a heuristic that is always optimal has no case."""
    made = [row for row in rows if row["gap"] and row["optimum"] is not None]
    return TextTable(CASE, [[_cell(row[name]) for name in CASE] for row in made])


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(map(str, value))
    return repr(value) if isinstance(value, float) else str(value)


def as_bad(row: Row) -> int:
    """Return the number of searches that found a case as bad as the worst, or one that breaks the heuristic too."""
    if row["broken"]:
        return sum(broken > 0 for broken in row["search_broken"])
    return sum((gap or 0.0) >= (row["gap"] or 0.0) - 1e-9 for gap in row["search_gap"])


def _read_references(paper: str) -> dict[tuple[str, str], float]:
    """Return the widest gap of each method in the record of the reference study, by problem and method."""
    record, found = read(f"{paper}/gap-study"), dict[tuple[str, str], float]()
    if record is None:
        return found
    problems = {s.name: s.instances[0].problem for s in _import_role(paper, "reference").instance_sets()}
    for name, value in record.values.items():
        s, _, rest = name.partition(": ")
        method, _, what = rest.partition(": ")
        if what == GAP and s in problems and value.greatest is not None:
            key = problems[s], method
            found[key] = max(found.get(key, 0.0), value.greatest)
    return found


def beaten(paper: str, rows: Sequence[Row]) -> list[tuple[str, str, float, float]]:
    """Return problem, heuristic, the widest gap of the reference sets, and the gap of the worst case found."""
    references, worst = _read_references(paper), dict[tuple[str, str], float]()
    for row in rows:
        key = row["problem"], row["method"]
        worst[key] = max(worst.get(key, 0.0), row["gap"] or 0.0)
    return [(*key, references[key], gap) for key, gap in worst.items() if key in references]


def _reference_table(paper: str, rows: Sequence[Row]) -> TextTable:
    head = ["problem", "heuristic", "worst of the reference sets", "worst found", "wider"]
    found = [[p, m, _share(a), _share(b), "yes" if b > a else "no"] for p, m, a, b in beaten(paper, rows)]
    return TextTable(head, found)


def _values(paper: str, rows: Sequence[Row]) -> dict[str, Sample | float | str]:
    found: dict[str, Sample | float | str] = {
        f"{row['space']}: {row['size']}: {row['method']}: worst {what}": row[what]
        for row in rows
        for what in ("gap", "ratio")
        if row[what] is not None
    }
    whole, beside = [row for row in rows if row["whole"]], [row for row in rows if "search_gap" in row]
    bad, wider = list(map(as_bad, beside)), beaten(paper, rows)
    return found | {
        "instances looked at one by one": f"{sum(row['instances'] for row in whole):,}",
        "optima asked for": f"{sum(row['proofs'] for row in whole):,}",
        "searches as bad as the worst": f"{sum(bad)} of {SEEDS * len(bad)}",
        "sizes of which a search is as bad as the worst": f"{sum(map(bool, bad))} of {len(bad)}",
        "wider than in the reference sets": f"{sum(b > a for _, _, a, b in wider)} of {len(wider)}",
    }
