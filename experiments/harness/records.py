"""The reference library: the instances of the reference sets, each with a checksum and what is known of its optimum.

The instances are made from seeds; the table beside this file pins what they are and holds the best solution value and
the best bound that anybody has found, with who found and proved them.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from importlib import resources
from pathlib import Path

from experiments.harness.instance_set import InstanceSet
from experiments.papers import METHODS
from instances import InputError, Instance, Reference, Result, agree, better, check, dump
from instances.files import write_whole
from instances.gaps import ahead
from instances.result import versions

TABLE = "records.csv"


@dataclass(frozen=True)
class Record:
    """What is known of one instance: `None` where nothing is."""

    problem: str
    instance_set: str
    instance: str
    checksum: str
    objective: float | None = None
    found_by: str = ""
    bound: float | None = None
    proved_by: str = ""

    @property
    def proven(self) -> bool:
        """Whether the objective is the optimum."""
        return self.objective is not None and self.bound is not None and agree(self.objective, self.bound)


Key = tuple[str, str]
"""Problem and name of an instance."""


def checksum(instance: Instance) -> str:
    """Digest of the data of an instance, whatever is said around it."""
    content = json.dumps(dump(instance)["data"], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def read_records() -> dict[Key, Record]:
    """The table of records."""
    text = resources.files("experiments.harness").joinpath(TABLE).read_text(encoding="utf-8")
    found: dict[Key, Record] = {}
    for row in csv.DictReader(io.StringIO(text)):
        numbers = {name: float(row[name]) if row[name] else None for name in ("objective", "bound")}
        record = Record(**{**row, **numbers})  # type: ignore[arg-type]
        found[record.problem, record.instance] = record
    return found


def write_records(records: Iterable[Record], path: Path) -> None:
    """Write the table of records."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [field.name for field in fields(Record)]
    writer.writerow(names)
    for record in records:
        values = (getattr(record, name) for name in names)
        writer.writerow(
            ["" if value is None else repr(value) if isinstance(value, float) else value for value in values]
        )
    write_whole(path, text.getvalue().encode())


def with_records(sets: Sequence[InstanceSet]) -> list[InstanceSet]:
    """Reference sets with what the records know. Raises InputError for an instance that is not as it was."""
    records = read_records()
    return [replace(s, instances=[_known(i, records.get((i.problem, i.name))) for i in s.instances]) for s in sets]


def _known(instance: Instance, record: Record | None) -> Instance:
    if record is None:
        return instance
    if record.checksum != checksum(instance):
        raise InputError(f"{instance.name}: its checksum must be {record.checksum}, got {checksum(instance)}")
    by = " and ".join(dict.fromkeys(name for name in (record.found_by, record.proved_by) if name))
    known = Reference(objective=record.objective, bound=record.bound, proved_by=by or None)
    return instance.model_copy(update={"reference": known})


def differing(sets: Sequence[InstanceSet]) -> Iterator[str]:
    """A line for each instance that is not what its record says, or has none, and for each record without instance."""
    records = read_records()
    for s in sets:
        for instance in s.instances:
            record = records.pop((instance.problem, instance.name), None)
            if record is None:
                yield f"{instance.problem} {instance.name}: no record"
            elif record.checksum != checksum(instance):
                yield f"{instance.problem} {instance.name}: checksum {checksum(instance)}, recorded {record.checksum}"
    yield from (f"{problem} {name}: a record without an instance" for problem, name in records)


def recorded(results: Sequence[Result], sets: Sequence[InstanceSet]) -> tuple[list[Record], list[str]]:
    """All records with what `results` know better, and a line for each that is new.

    A solution counts where the checker passes it, and with the checker's objective; a bound where it is of a method of
    this project. Raises InputError for a result of another instance, and for one that the records refute.
    """
    known, news = read_records(), []
    places = {(i.problem, i.name): (s, i) for s in sets for i in s.instances}
    for key, (s, instance) in places.items():
        known.setdefault(key, Record(key[0], s.name, key[1], checksum(instance)))
    for result in results:
        key = result.problem, result.instance
        if key not in places:
            raise InputError(f"{result.instance}: no instance of the library is called so")
        instance, record = places[key][1], known[key]
        new = _improved(result, instance, record)
        if new != record:
            known[key] = new
            news.append(f"{result.instance}: objective {new.objective!r}, bound {new.bound!r}, by {result.method}")
    return list(known.values()), news


def _improved(result: Result, instance: Instance, record: Record) -> Record:
    sense, by = result.sense, f"{result.method} {versions().get('gapwise', '')}".strip()
    if result.solution is not None:
        verdict = check(instance.data, result.solution)
        if (
            not verdict.violations
            and verdict.objective is not None
            and ahead(verdict.objective, record.objective, sense)
        ):
            record = replace(record, objective=verdict.objective, found_by=by)
    if result.bound is not None and result.method in {entry.name for entry in METHODS[result.problem]}:
        tighter = record.bound is None or ahead(record.bound, result.bound, sense)
        if tighter:
            record = replace(record, bound=result.bound, proved_by=by)
    if record.objective is not None and record.bound is not None and better(record.objective, record.bound, sense):
        found = f"objective {record.objective!r} of {record.found_by}"
        raise InputError(f"{result.instance}: {found} refutes the bound {record.bound!r} of {record.proved_by}")
    return record
