"""`python -m experiments.library [list|write|check|record]`: named instances, and what is known of their optima."""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from experiments.entry import FAILED, run
from experiments.harness.instance_set import SUFFIXES
from experiments.harness.records import TABLE, differing, read_records, recorded, with_records, write_records
from experiments.harness.store import read_outcomes
from experiments.output.folder import part, ready_folder
from experiments.papers import reference_sets
from instances import InputError, Result, save
from instances.files import read_json
from instances.reading import is_folder
from instances.text import shown

STORE = ".sqlite"


class Action(StrEnum):
    """What to do with the library."""

    LIST = "list"
    WRITE = "write"
    CHECK = "check"
    RECORD = "record"


def library(
    action: Annotated[Action, typer.Argument(help="List the sets, write files, check them, record results.")],
    results: Annotated[
        list[Path] | None,
        typer.Argument(help="record: results, as `solve --out` writes them, a study's store, or folders."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="write: the folder. record: the table.", show_default="record: the library's own"),
    ] = None,
) -> None:
    """The reference library: instances by set, with a checksum each, the best known solution and the best bound."""
    if results and action is not Action.RECORD:
        raise InputError(f"library {action.value}: takes no results, got {results[0]}")
    {Action.LIST: _list, Action.WRITE: _write, Action.CHECK: _check, Action.RECORD: _record}[action](results or [], out)


def _list(results: list[Path], out: Path | None) -> None:
    records = read_records()
    for s in reference_sets():
        found = [records.get((i.problem, i.name)) for i in s.instances]
        proven = sum(record is not None and record.proven for record in found)
        print(f"{s.instances[0].problem}: {shown(s.name)}: {len(found)} instances, {proven} with a proven optimum")


def _write(results: list[Path], out: Path | None) -> None:
    if out is None:
        raise InputError("--out: needed, the folder for the instances")
    for s in with_records(reference_sets()):
        folder = ready_folder(out / s.instances[0].problem / part(s.name, dots=True))
        for instance in s.instances:
            save(instance, folder / f"{part(instance.name, dots=True)}.json.gz")


def _check(results: list[Path], out: Path | None) -> None:
    lines = list(differing(reference_sets()))
    for line in lines:
        print(shown(line))
    if lines:
        raise typer.Exit(FAILED)
    print(f"{len(read_records())} instances are as they were")


def _record(results: list[Path], out: Path | None) -> None:
    found = [result for path in results for result in _results_at(path)]
    if not found:
        raise InputError("library record: needs results, as `solve --out` or a study writes them")
    records, news = recorded(found, reference_sets())
    for line in news:
        print(shown(line))
    if news:
        with importlib.resources.as_file(importlib.resources.files("experiments.harness") / TABLE) as own:
            write_records(records, own if out is None else out)


def _results_at(path: Path) -> Iterator[Result]:
    """The results in a file, a store, or all those in a folder. Raises InputError for anything else."""
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
