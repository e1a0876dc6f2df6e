"""`python -m experiments.library ACTION`: named instances, and what is known of their optima."""

from __future__ import annotations

import importlib.resources
import json
import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated

import typer

from experiments.entry import FAILED, run
from experiments.harness.entry import Entry
from experiments.harness.instance_set import SUFFIXES, InstanceSet
from experiments.harness.records import (
    TABLE,
    Record,
    add_records,
    compare_with_records,
    differing,
    read_records,
    unlike,
    update_records,
    write_records,
)
from experiments.harness.store import read_outcomes
from experiments.output.folder import part, ready_folder
from experiments.output.terminal import err, line
from experiments.papers import METHODS, library_sets
from experiments.plan import study_runs
from experiments.session import Session
from experiments.verify import name_file_in_errors, text_of
from experiments.worst_cases.library import certificate_of, worst_sets
from instances import CheckFailed, InputError, Instance, Options, Result, save
from instances.files import read_json, write_whole
from instances.proofs.verify import read_result, see_bound, see_result, see_solution
from instances.reading import is_folder
from instances.text import escape_text, meant
from instances.validation import show

STORE = ".sqlite"
METHOD = re.compile(r"[\w.:/+@-]{1,100}", re.ASCII)
"""A name that a record may say somebody's method has: it names several, joined by words."""


class Action(StrEnum):
    """The actions on the library."""

    LIST = "list"
    WRITE = "write"
    CHECK = "check"
    RECORD = "record"
    ACCEPT = "accept"


def library(
    action: Annotated[
        Action,
        typer.Argument(help="List the sets, write files, check them, record results of ours, accept one of anybody's."),
    ],
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            help="record: results, as `solve --out` writes them, a study's store, or folders. "
            "accept: a result and, for its bound, the certificate."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="write: the folder. record, accept: the table.", show_default="record, accept: the library's own"
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="write: these instances or sets; `*` stands for anything.", show_default="all"),
    ] = None,
    solve: Annotated[bool, typer.Option("--solve", help="check: prove every instance again, too.")] = False,
    time_limit: Annotated[float, typer.Option(help="check --solve: CPU seconds for each instance.")] = 60.0,
    jobs: Annotated[int, typer.Option(help="check --solve: runs at a time.", min=1)] = 2,
) -> None:
    """Show the reference library: instances with a checksum, the best known solution and the best bound."""
    if results and action not in (Action.RECORD, Action.ACCEPT):
        raise InputError(f"library {action.value}: takes no results, got {results[0]}")
    if solve and action is not Action.CHECK:
        raise InputError(f"library {action.value}: takes no --solve")
    if only and action is not Action.WRITE:
        raise InputError(f"library {action.value}: takes no --only")
    if action is Action.CHECK:
        _check(Session(Options(time_limit=time_limit), jobs, quiet=False) if solve else None)
    elif action is Action.WRITE:
        _write(out, only or ["*"])
    else:
        {Action.LIST: _list, Action.RECORD: _record, Action.ACCEPT: _accept}[action](results or [], out)


def _list(results: list[Path], out: Path | None) -> None:
    records = read_records()
    for s in list_sets():
        found = [(i, records.get((i.problem, i.name))) for i in s.instances]
        proven = sum(record is not None and record.proven and record.of(i) for i, record in found)
        print(
            f"{s.instances[0].problem}: {escape_text(s.name)}: {len(found)} instances, {proven} with a proven optimum"
        )


def _write(out: Path | None, only: list[str]) -> None:
    if out is None:
        raise InputError("--out: needed, the folder for the instances")
    sets = list_sets()
    known = [name for s in sets for name in (s.name, *(instance.name for instance in s.instances))]
    for name in only:
        if not any(fnmatchcase(other, name) for other in known):
            raise InputError(f"--only: no instance and no set of the library is {name!r}{meant(known, name)}")

    def is_wanted(*names: str) -> bool:
        return any(fnmatchcase(name, pattern) for name in names for pattern in only)

    other = unlike(instance for s in sets for instance in s.instances if is_wanted(s.name, instance.name))
    if other is not None:
        raise InputError(other)
    for s in add_records(sets):
        here = [instance for instance in s.instances if is_wanted(s.name, instance.name)]
        if here:
            folder = ready_folder(out / s.instances[0].problem / folder_of(s))
        for instance in here:
            save(instance, folder / f"{part(instance.name, dots=True)}.json.gz")
            proof = certificate_of(instance)
            if proof is not None:
                write_whole(folder / f"{part(instance.name, dots=True)}.{proof.name}", proof.read_bytes())


def list_sets() -> list[InstanceSet]:
    """Return the instance sets of the library, including the worst cases."""
    return [*library_sets(), *worst_sets()]


def folder_of(s: InstanceSet) -> str:
    """Return the folder of a set of the library: its name in small letters and digits."""
    return re.sub("[^a-z0-9.]+", "-", s.name.lower()).strip("-")


def _check(session: Session | None) -> None:
    """Check the instances against their records and, with a session, their optima as well."""
    sets = list_sets()
    faults = list(differing(sets))
    if session is not None:
        runs = study_runs(sets, ["exact"], session.options)
        done = list(zip(runs, session.outcomes(runs, None, line), strict=True))
        records = compare_with_records(done)
        faults += [*records.refuted, *(f"better than the record: {better}" for better in records.bettered)]
        left = [result for _, result in done if result.status != "optimal"]
        faults += [f"{result.instance}: {result.reason}" for result in left if result.status == "error"]
        for result in left:
            print(f"not proven again: {line(result)}")
        print(f"{len(done) - len(left)} of {len(done)} optima are proven again")
    for fault in faults:
        print(escape_text(fault))
    if faults:
        raise typer.Exit(FAILED)
    print(f"{len(read_records())} instances are as they were")


def _record(results: list[Path], out: Path | None) -> None:
    found = [result for path in results for result in _results_at(path)]
    if not found:
        raise InputError("library record: needs results, as `solve --out` or a study writes them")
    records, news = update_records(found, list_sets(), METHODS)
    _keep(records, news, out)


def _keep(records: Sequence[Record], news: Sequence[str], out: Path | None) -> None:
    for new in news:
        print(escape_text(new))
    if news:
        with importlib.resources.as_file(importlib.resources.files("experiments.harness") / TABLE) as own:
            write_records(records, own if out is None else out)


def _accept(results: list[Path], out: Path | None) -> None:
    """Keep what a result of anybody's knows better: its solution by the checker, its bound by its certificate alone."""
    if not 1 <= len(results) <= 2:
        raise InputError("library accept: needs a result and, for its bound, the certificate")
    content = read_json(results[0])
    with name_file_in_errors(results[0]):
        claimed = read_result(content)
        if METHOD.fullmatch(claimed.method) is None:
            raise InputError(
                f"method: must be a word of at most 100 letters, digits and .:/+@_-, got {show(claimed.method)}"
            )
    sets = list_sets()
    found = [i for s in sets for i in s.instances if (i.problem, i.name) == (claimed.problem, claimed.instance)]
    if not found:
        raise InputError(f"{results[0]}: instance: no instance of the library is {claimed.instance!r}")
    try:
        told = _verify(found[0], claimed, results)
    except CheckFailed as error:
        err.print(f"gapwise: {escape_text(str(error))}")
        raise typer.Exit(FAILED) from error
    proves = {claimed.problem: [Entry(told.method, told.method)] if len(results) > 1 else []}
    before = read_records().get((claimed.problem, claimed.instance))
    records, news = update_records([told], sets, proves)
    after = next(one for one in records if (one.problem, one.instance) == (claimed.problem, claimed.instance))
    if before is not None and (before.objective, before.bound) == (after.objective, after.bound):
        print(f"{escape_text(after.instance)}: no better than objective {after.objective!r}, bound {after.bound!r}")
        return
    _keep(records, news, out)


def _verify(instance: Instance, claimed: Result, files: Sequence[Path]) -> Result:
    """Return the verified result. Raises InputError, and CheckFailed if a claim does not hold."""
    if claimed.solution is None:
        raise InputError(f"{files[0]}: solution: needed, the best that is known where only the bound is new")
    with name_file_in_errors(files[0]):
        if len(files) == 1:
            see_solution(instance, claimed.solution)
            return claimed.model_copy(update={"sense": instance.data.sense})
        see_result(instance, claimed)
    certificate = text_of(files[1])
    with name_file_in_errors(files[1]):
        see_bound(instance, claimed, certificate)
    return claimed.model_copy(update={"method": f"{claimed.method}, certified"})


def _results_at(path: Path) -> Iterator[Result]:
    """Yield the results in a file, a store or a folder. Raises InputError for anything else."""
    if is_folder(path):
        for file in sorted(p for p in path.rglob("*") if p.name.endswith((*SUFFIXES, STORE))):
            yield from _results_at(file)
        return
    contents = map(json.loads, read_outcomes(path)) if path.name.endswith(STORE) else [read_json(path)]
    for content in contents:
        try:
            yield Result.model_validate(content)
        except InputError as error:
            raise InputError(f"{path}: not a result: {error}") from None


if __name__ == "__main__":
    run(library)
