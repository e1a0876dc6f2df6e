"""The reference library: the instances of the reference sets, each with a checksum and the record of its optimum.

The instances are generated from seeds. The table in this folder pins their checksums. It also holds the best known
solution value and the best known bound, with the methods that found and proved them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import resources
from pathlib import Path

from experiments.harness.entry import Entry
from experiments.harness.gaps import Known, find_known, group_by_instance
from experiments.harness.instance_set import InstanceSet
from experiments.harness.run import Run
from instances import InputError, Instance, Reference, Result, agree, better, check
from instances.fields import Sense
from instances.files import write_whole
from instances.gaps import ahead
from instances.proofs.certificate import digest
from instances.result import versions

TABLE = "records.csv"


@dataclass(frozen=True)
class Record:
    """The best known value and bound of one instance; `None` if unknown."""

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
        """Return whether the objective is proven optimal."""
        return self.objective is not None and self.bound is not None and agree(self.objective, self.bound)

    @property
    def provers(self) -> list[str]:
        """Return the names of the methods that proved the bound."""
        return [name for name in self.proved_by.split(" and ") if name]

    def of(self, instance: Instance) -> bool:
        """Return whether the record is of the same data, read in the same way."""
        return self.checksum == checksum(instance)


Key = tuple[str, str]
"""Problem and name of an instance."""


def checksum(instance: Instance) -> str:
    """Compute the checksum of the data of an instance: the first 18 characters of its digest."""
    return digest(instance.data)[:18]


def read_records() -> dict[Key, Record]:
    """Read the table of records."""
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


def add_records(sets: Sequence[InstanceSet]) -> list[InstanceSet]:
    """Return the sets with the records as references, without records of other data or another reading (`unlike`)."""
    records = read_records()
    return [replace(s, instances=[_add_record(i, records.get((i.problem, i.name))) for i in s.instances]) for s in sets]


def _add_record(instance: Instance, record: Record | None) -> Instance:
    if record is None or not record.of(instance):
        return instance
    by = " and ".join(dict.fromkeys(name for name in (record.found_by, *record.provers) if name))
    known = Reference(objective=record.objective, bound=record.bound, proved_by=by or None)
    return instance.model_copy(update={"reference": known})


def unlike(instances: Iterable[Instance]) -> str | None:
    """Name the instances whose records are of other data or another reading, in one line; `None` if there are none."""
    records = read_records()
    pairs = ((i, records.get((i.problem, i.name))) for i in instances)
    names = [i.name for i, record in pairs if record is not None and not record.of(i)]
    if not names:
        return None
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0]}{more}: of other data, or of another reading, than the record"


@dataclass(frozen=True)
class RecordCheck:
    """The records that runs refute and the records that they improve, one line each."""

    refuted: tuple[str, ...]
    bettered: tuple[str, ...]


def compare_with_records(finished: Sequence[tuple[Run, Result]]) -> RecordCheck:
    """Compare runs with the records of their instances, if a record of the same data and reading exists.

    `false_references` reports a false record that is also the reference of its instance.
    """
    records, refuted, bettered = read_records(), [], []
    for group in group_by_instance(finished).values():
        instance = group[0][0].instance
        record = records.get((instance.problem, instance.name))
        if record is None or not record.of(instance):
            continue
        runs, said = find_known([result for _, result in group]), instance.reference
        false = _explain_refutation(record, runs, instance.data.sense)
        if false is None and _is_bettered(record, runs, instance.data.sense):
            ours = f"objective {runs.objective!r}, bound {runs.bound!r}"
            bettered.append(f"{instance.name}: {ours}; recorded {record.objective!r}, {record.bound!r}")
        elif false is not None and (said is None or (said.objective, said.bound) != (record.objective, record.bound)):
            refuted.append(f"{instance.name}: {false}")
    return RecordCheck(tuple(refuted), tuple(bettered))


def _explain_refutation(record: Record, runs: Known, sense: Sense) -> str | None:
    if runs.objective is not None and record.bound is not None and better(runs.objective, record.bound, sense):
        return f"objective {runs.objective!r} of {runs.found_by} is better than the recorded bound {record.bound!r}"
    if record.objective is not None and runs.bound is not None and better(record.objective, runs.bound, sense):
        return f"the recorded objective {record.objective!r} is better than the bound {runs.bound!r} of {runs.bound_by}"
    return None


def _is_bettered(record: Record, runs: Known, sense: Sense) -> bool:
    found = runs.objective is not None and (record.objective is None or better(runs.objective, record.objective, sense))
    return found or _tighter(runs.bound, record.bound, sense)


def _tighter(bound: float | None, than: float | None, sense: Sense) -> bool:
    return bound is not None and (than is None or better(than, bound, sense))


def differing(sets: Sequence[InstanceSet]) -> Iterator[str]:
    """Yield a line for each instance whose record is missing or differs, and for each record without an instance."""
    records = read_records()
    for s in sets:
        for instance in s.instances:
            record = records.pop((instance.problem, instance.name), None)
            if record is None:
                yield f"{instance.problem} {instance.name}: no record"
            elif not record.of(instance):
                yield f"{instance.problem} {instance.name}: checksum {checksum(instance)}, recorded {record.checksum}"
    yield from (f"{problem} {name}: a record without an instance" for problem, name in records)


def update_records(
    results: Sequence[Result], sets: Sequence[InstanceSet], methods: Mapping[str, Sequence[Entry]]
) -> tuple[list[Record], list[str]]:
    """Return all records, improved by `results`, and a line for each new record.

    A solution counts where the checker passes it, and with the checker's objective; a bound where it is of one of the
    `methods` of its problem, and one that agrees with it is a second proof. A record of another reading is replaced.
    Raises InputError for a result of another instance, and for one that the records refute.
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
        if not record.of(instance):
            record = Record(record.problem, record.instance_set, record.instance, checksum(instance))
        new = _improve_record(result, instance, record, {entry.name for entry in methods[result.problem]})
        if new != known[key]:
            known[key] = new
            news.append(f"{result.instance}: objective {new.objective!r}, bound {new.bound!r}, by {result.method}")
    return list(known.values()), news


def _improve_record(result: Result, instance: Instance, record: Record, methods: Collection[str]) -> Record:
    sense, by = result.sense, f"{result.method} {versions().get('gapwise', '')}".strip()
    if result.solution is not None:
        verdict = check(instance.data, result.solution)
        if (
            not verdict.violations
            and verdict.objective is not None
            and ahead(verdict.objective, record.objective, sense)
        ):
            record = replace(record, objective=verdict.objective, found_by=by)
    if result.bound is not None and result.method in methods:
        if _tighter(result.bound, record.bound, sense):
            record = replace(record, bound=result.bound, proved_by=by)
        elif record.bound is not None and agree(result.bound, record.bound) and by not in record.provers:
            record = replace(record, proved_by=" and ".join([*record.provers, by]))
    if record.objective is not None and record.bound is not None and better(record.objective, record.bound, sense):
        found = f"objective {record.objective!r} of {record.found_by}"
        raise InputError(f"{result.instance}: {found} refutes the bound {record.bound!r} of {record.proved_by}")
    return record
