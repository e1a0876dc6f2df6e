"""`python -m experiments.worst METHOD`: the instance on which a heuristic is farthest from the optimum, and why."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments import flags
from experiments.entry import FAILED, run
from experiments.harness.certification import Certification
from experiments.harness.entry import Entry
from experiments.harness.run import Run
from experiments.harness.user_functions import user_method
from experiments.output.folder import files_first, write_certified, write_result_files
from experiments.output.results import draw_solutions, print_table
from experiments.output.table import Kind, show_table
from experiments.output.terminal import err, line, out, percent, print_line, print_rich, text_of
from experiments.papers import CERTIFIERS, METHODS, PLOTS, SPACES, reference_sets
from experiments.plan import chosen_sets, report_unknown_method
from experiments.session import Session
from experiments.worst_cases.case import Case
from experiments.worst_cases.region import Near, Region, region
from experiments.worst_cases.search import Found, Part, Search, WorstCaseTask, instances_of
from experiments.worst_cases.space import Chosen, RepeatedEntries, Space, number
from instances import InputError, Instance, Result, load, save
from instances.files import write_whole
from instances.text import escape_text, meant

ENUMERATED = 20_000  # limit on the instances of all sizes up to the requested one for an enumeration
IN_A_PART = 400  # instances of a part of an enumeration
WALKS, STEPS = 8, 3_000  # walks of a search, and minimum steps of each walk
EACH = 4  # minimum steps of a walk per element of a space, because each element is evaluated alone
LOOK_S = 10.0  # CPU seconds for random instances, and for those near the worst one
TIMES = (2, 10, 100)  # multiplicities of the worst instance, to see whether its gap remains


@flags.common(time_limit=60.0, jobs=2)
def worst(
    method: Annotated[
        str,
        typer.Argument(metavar="METHOD", help="A heuristic, or your own package.module:function.", show_default=False),
    ],
    session: Session,
    problem: Annotated[
        str | None,
        typer.Option(
            help="The problem that the heuristic solves.",
            autocompletion=flags.problem_names,
            show_default="the first that has it",
        ),
    ] = None,
    size: Annotated[
        int, typer.Option(help="Largest number of tasks, jobs, classes, pods or nodes of an instance.", min=1, max=1000)
    ] = 4,
    within: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help="A file whose tasks, jobs, classes or nodes may be there in any numbers, or a space by name.",
            show_default="the problem's own",
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(metavar="SET", help="Use the first instance of this set as a template.", show_default=False),
    ] = None,
) -> None:
    """Find and prove the instance on which a heuristic is farthest from the optimum; say what such instances share."""
    entry, exact, of = _heuristic(method, problem)
    space = _space(of, within, like)
    levels, complete = _parts(space, size, session.options.seed)
    with session.store() as store:

        def search(*tasks: WorstCaseTask) -> list[Found]:
            return session.outcomes(tasks, store, lambda outcome: outcome.line())

        look = replace(session.options, time_limit=min(LOOK_S, session.options.time_limit or LOOK_S))
        found: list[Found] = []
        if not complete:  # instances that break it are often common, and they rank as the worst
            found = search(Near(space, entry, exact, look, (), size))
            levels = [] if any(case.broken is not None for one in found for case in one.cases) else levels
        bounds: dict[Chosen, float | None] = {}
        for parts in levels:
            made = search(*(Search(space, entry, exact, session.options, part, bounds) for part in parts))
            bounds = {}
            for part, one in zip(parts, made, strict=True):
                bounds |= zip(instances_of(space, part), one.bounds, strict=False)
            found += made
        cases = sorted((case for one in found for case in one.cases), key=lambda case: case.rank)
        if not cases:
            failed = next((one.reason for one in found if one.reason), None) or _unfit(space, entry, exact)
            raise InputError(f"{method}: no instance of {space.name} is solved" + (f": {failed}" if failed else ""))
        part = Part(size=len(cases[0].chosen), start=cases[0].chosen, keep=cases[0].gap)
        (shrunk,) = search(Search(space, entry, exact, session.options, part))
        answer = Worst(method, of, space, size, found, complete, (shrunk.cases or cases[:1])[0])
        runs = [Run(answer.instance, one, session.options) for one in (exact, entry)]
        if answer.case.broken is None:
            answer.prove(session.outcomes(runs, store, line))
            _certify(answer, runs[0], session)
            _repeat(answer, entry, exact, session, store)
        if not complete or answer.case.broken is not None:
            near = Near(space, entry, exact, look, answer.case.chosen, max(size, len(answer.case.chosen)))
            found = [*found, *search(near)]  # the answer counts the instances of the search alone
        answer.region = region(space, [case for one in found for case in (*one.cases, *one.others)])
        with files_first(partial(answer.write, session.folder)):
            answer.print(session.format)
    raise typer.Exit(FAILED if store is not None and store.fault else 0)


def _heuristic(method: str, problem: str | None) -> tuple[Entry, Entry, str]:
    """Return the heuristic, the exact method, and their problem. Raises InputError."""
    if problem is not None and problem not in METHODS:
        raise InputError(f"--problem: must be one of {', '.join(METHODS)}, got {problem!r}{meant(METHODS, problem)}")
    if ":" in method:
        if problem is None:
            raise InputError(f"--problem: say which problem {method} solves: {', '.join(METHODS)}")
        user_method(method)
        return Entry(method, method), METHODS[problem][0], problem
    problems = list(METHODS) if problem is None else [problem]
    for name in problems:
        exact, *others = METHODS[name]
        if method == exact.name:
            raise InputError(f"method: {method} is an exact method; give a heuristic")
        for entry in others:
            if method == entry.name:
                return entry, exact, name
    raise report_unknown_method(
        list(dict.fromkeys(entry.name for name in problems for entry in METHODS[name][1:])), method
    )


def _space(problem: str, within: str | None, like: str | None) -> Space:
    """Return the space to search. Raises InputError."""
    if within is not None and like is not None:
        raise InputError("--like: give --within or --like, not both")
    if like is not None:
        return RepeatedEntries(chosen_sets(reference_sets(problems=(problem,)), (problem,), (like,))[0].instances[0])
    if within is not None and (within.endswith((".json", ".json.gz")) or Path(within).exists()):
        base = load(Path(within))
        if base.problem != problem:
            raise InputError(f"{within}: problem: must be {problem}, got {base.problem}")
        return RepeatedEntries(base)
    named = SPACES.get(problem, {})
    if within is None and not named:
        raise InputError(f"--within: give an instance file of {problem}, whose entries may be there in any numbers")
    if within is not None and within not in named:
        known = ", ".join(["an instance file", *named])
        raise InputError(f"--within: must be {known}, got {within!r}{meant(named, within)}")
    space: Space = named[within or next(iter(named))]()
    return space


def _parts(space: Space, size: int, seed: int) -> tuple[list[list[Part]], bool]:
    """Return the parts of the search by size, and whether they cover every instance."""
    totals: dict[int, int] = {}
    while len(totals) < size and sum(totals.values()) <= ENUMERATED:
        totals[len(totals) + 1] = number(space.things, len(totals) + 1)
    if sum(totals.values()) <= ENUMERATED:
        return [
            [Part(size=n, first=first, last=min(total, first + IN_A_PART)) for first in range(0, total, IN_A_PART)]
            for n, total in totals.items()
        ], True
    steps = max(STEPS, EACH * space.things)
    return [[Part(size=size, seed=seed + walk, steps=steps) for walk in range(WALKS)]], False


def _unfit(space: Space, *entries: Entry) -> str | None:
    """Say why a method cannot take the instance of the first element of a space."""
    instance = space.instance((0,))
    return None if instance is None else next((why for one in entries if (why := one.unfit(instance.data))), None)


def _certify(answer: Worst, run: Run, session: Session) -> None:
    result = answer.results[0]
    if result.bound is None or session.folder is None:
        return
    task = Certification(run, result, CERTIFIERS.get(result.problem))
    certified = session.outcomes([task], None, lambda outcome: line(outcome.result))[0]
    if certified.text is not None and certified.kind is not None:
        answer.certificate = certified.kind, certified.text
        answer.results[0] = certified.result
        answer.case = answer.case.model_copy(update={"proven": certified.result.status == "optimal"})
    else:
        err.print(f"no certificate: {escape_text(str(certified.reason))}")


def _repeat(answer: Worst, entry: Entry, exact: Entry, session: Session, store: Any) -> None:
    """Compute the gaps of the worst instance with all its elements repeated `TIMES` times."""
    runs, times = [], []
    for m in TIMES:
        instance = answer.space.instance(tuple(sorted(answer.case.chosen * m)))
        if instance is not None and entry.unfit(instance.data) is None and exact.unfit(instance.data) is None:
            named = instance.model_copy(update={"name": f"{answer.name}-times-{m}"})
            runs += [Run(named, one, session.options) for one in (exact, entry)]
            times.append(m)
    results = session.outcomes(runs, store, line)
    for m, optimum, heuristic in zip(times, results[::2], results[1::2], strict=True):
        if optimum.status == "optimal" and optimum.objective is not None and heuristic.objective is not None:
            case = Case(chosen=(), heuristic=heuristic.objective, best=optimum.objective, sense=optimum.sense)
            answer.family[m] = case.ratio


@dataclass
class Worst:
    """The result of a search: the worst case with its proof, its gap under repetition, and the region of bad cases."""

    method: str
    problem: str
    space: Space
    size: int
    found: Sequence[Found]
    complete: bool
    case: Case
    results: list[Result] = field(default_factory=list)
    certificate: tuple[str, str] | None = None
    family: dict[int, float | None] = field(default_factory=dict)
    region: Region | None = None

    @property
    def name(self) -> str:
        return f"worst-{self.problem}-{self.method.replace(':', '-')}-{len(self.case.chosen)}"

    @property
    def instance(self) -> Instance[Any]:
        """Return the instance with its name."""
        found = self.space.instance(self.case.chosen)
        assert found is not None
        return found.model_copy(update={"name": self.name})

    def prove(self, results: Sequence[Result]) -> None:
        """Replace the values of the search by the checked results of both methods from the harness."""
        self.results = list(results)
        optimum, heuristic = results
        if optimum.objective is None or heuristic.objective is None:
            return  # the search was more successful within its time, and its values are checked, too
        found = {"heuristic": heuristic.objective, "best": optimum.objective, "proven": optimum.status == "optimal"}
        self.case = self.case.model_copy(update=found)

    @property
    def whole(self) -> bool:
        """Return whether every instance was evaluated with a proven optimum, or excluded by a bound."""
        return self.complete and all(one.complete and not one.unproven for one in self.found)

    def total(self, name: str) -> int:
        """Return the sum of a number over all parts of the search."""
        return sum(getattr(one, name) for one in self.found)

    def content(self) -> dict[str, Any]:
        """Return the result as one object in plain types."""
        case, optimum = self.case, self.results[0] if self.results else None
        return {
            "method": self.method,
            "problem": self.problem,
            "size": len(case.chosen),
            "ratio": case.ratio,
            "gap": None if case.broken else case.gap,
            "heuristic": case.heuristic,
            "optimum": case.best if case.proven else None,
            "bound": None if optimum is None else optimum.bound,
            "status": "broken" if case.broken else "no_solution" if optimum is None else optimum.status,
            "broken": case.broken,
            "instance": self.name,
            "made_of": self.space.describe(case.chosen),
            "certificate": None if self.certificate is None else self.certificate[0],
            "searched": self.total("calls"),
            "up_to_size": self.size,
            "complete": self.whole,
            "dominated": self.total("dominated"),
            "unproven": self.total("unproven"),
            "of_nothing": self.total("nothing"),
            "repeated": {str(m): ratio for m, ratio in self.family.items()},
            "region": None if self.region is None else str(self.region),
            "region_right": None if self.region is None else f"{self.region.right} of {self.region.fresh}",
        }

    def show(self) -> None:
        """Print the worst case: a sentence, a table of the two results, and what such instances share."""
        case, made = self.case, escape_text(self.space.describe(self.case.chosen))
        over = f"{'all ' * self.whole}{self.total('calls'):,} instances of at most {self.size} entries"
        if case.broken is not None:
            print_rich(f"{self.method} breaks on {made}: {escape_text(case.broken)}. Found among {over}.")
            self._show_region("It breaks on instances")
            return
        print_rich(f"{self.method} is {percent(case.gap)} from the optimum on {made}.", "bold")
        print_rich(f"This is the worst {'of' if self.whole else 'case found among'} {over}.")
        print_table(self.results)
        if self.family:
            head: list[tuple[str, Kind]] = [("copies of each entry", "number"), ("ratio to the optimum", "number")]
            ratios = [(str(m), ratio) for m, ratio in ((1, case.ratio), *self.family.items())]
            out.print()
            show_table(head, [(m, "-" if ratio is None else f"{ratio:.4g}") for m, ratio in ratios])
        out.print()
        if dominated := self.total("dominated"):
            print_rich(f"A bound shows that {dominated:,} of the instances are no worse; these were not solved.")
        self._show_region("Instances at least half as bad are those")
        if nothing := self.total("nothing"):
            print_rich(f"{nothing:,} instances have an optimum of 0 that the heuristic misses, so they have no gap.")

    def _show_region(self, those: str) -> None:
        """Print the region of these instances, and how often it is right."""
        if self.region is not None:
            print_rich(f"{those} with {self.region}: right on {self.region.right} of {self.region.fresh} others.")

    def write(self, folder: Path | None) -> None:
        """Write the instance, both solutions, the certificate, a figure of each and the answer to a folder, if any."""
        if folder is None:
            return
        write_whole(folder / "worst.json", (json.dumps(self.content(), indent=1) + "\n").encode())
        write_whole(folder / "worst.txt", f"{text_of(self.show)}\n".encode())
        save(self.instance, folder / f"{self.name}.json")
        write_result_files(folder, self.results)
        if self.certificate is not None:
            write_certified(folder, self.results[0], *self.certificate)
        if self.problem in PLOTS:
            draw_solutions(folder, [self.instance], [r for r in self.results if r.solved], PLOTS)

    def print(self, form: str) -> None:
        """Print the answer on standard output."""
        if form == "json":
            print_line(json.dumps(self.content()))
        elif form == "csv":
            content = self.content()
            writer = csv.writer(sys.stdout, lineterminator="\n")
            writer.writerows([list(content), list(content.values())])
        else:
            self.show()


if __name__ == "__main__":
    run(worst)
