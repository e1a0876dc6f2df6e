"""Keep worst cases in the library: their instances, their certificates and the values of heuristics on them.

`python -m experiments.worst_cases.library` takes them from the records of the studies.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from experiments.harness import records
from experiments.harness.evidence import read
from experiments.harness.instance_set import InstanceSet
from experiments.harness.records import update_records, write_records
from experiments.harness.run import apply
from experiments.harness.user_functions import resolve
from experiments.papers import CERTIFIERS, METHODS, PAPERS, SPACES, library_sets
from experiments.worst_cases.case import Case
from experiments.worst_cases.space import Chosen, Space
from experiments.worst_cases.study import CASE
from instances import Instance, Options, Result
from instances.files import write_whole
from instances.proofs import Certificate

FOLDER = Path(__file__).parent
CERTIFICATES = FOLDER / "certificates"
TABLE = "cases.csv"
RECORDS = Path(records.__file__).with_name(records.TABLE)
ENDINGS = {"vipr": "vipr", "json": "certificate.json"}


@dataclass(frozen=True)
class KnownCase:
    """The worst case found of a method among the instances of a size: a row of the table of cases.

    `heuristic`, `optimum`: the value of the method, and the proven optimum. `over_all`: whether the case is proven to
    be the worst of its size.
    """

    problem: str
    space: str
    method: str
    size: int
    chosen: Chosen
    heuristic: float
    optimum: float
    over_all: bool

    @property
    def instance(self) -> Instance[Any]:
        """Return the instance; several cases may share it."""
        found: Instance[Any] | None = _space(self.problem, self.space).instance(self.chosen)
        assert found is not None
        return found

    @property
    def place(self) -> tuple[str, str, str, int]:
        """Return the key of the case: problem, space, method and size."""
        return self.problem, self.space, self.method, self.size

    @property
    def gap(self) -> float:
        """Return the gap of the heuristic to the optimum, relative to the optimum."""
        sense = self.instance.data.sense
        return Case(chosen=self.chosen, heuristic=self.heuristic, best=self.optimum, sense=sense).gap

    @property
    def row(self) -> list[str]:
        """Return the row in the table of cases."""
        chosen, over_all = " ".join(map(str, self.chosen)), "yes" if self.over_all else "no"
        return [*map(str, self.place), chosen, repr(self.heuristic), repr(self.optimum), over_all]

    @classmethod
    def of(cls, row: Mapping[str, str]) -> KnownCase:
        """Build the case from a row of the table."""
        return cls(
            problem=row["problem"],
            space=row["space"],
            method=row["method"],
            size=int(row["size"]),
            chosen=tuple(map(int, row["chosen"].split())),
            heuristic=float(row["heuristic"]),
            optimum=float(row["optimum"]),
            over_all=row["over_all"] == "yes",
        )


@cache
def _space(problem: str, name: str) -> Space:
    """Return a space of the registry, which is built once for all its cases."""
    made: Space = SPACES[problem][name]()
    return made


def list_cases() -> list[KnownCase]:
    """Return all cases of the table."""
    text = (FOLDER / TABLE).read_text(encoding="utf-8")
    return [KnownCase.of(row) for row in csv.DictReader(io.StringIO(text))]


def worst_sets() -> list[InstanceSet]:
    """Return the instances of all known cases, one set per problem and space."""
    found: dict[tuple[str, str], list[tuple[Instance[Any], str]]] = {}
    for case in list_cases():
        found.setdefault((case.problem, case.space), []).append((case.instance, case.method))
    return [
        InstanceSet(
            f"worst cases, {space}",
            list({instance.name: instance for instance, _ in made}.values()),
            ("exact", *dict.fromkeys(method for _, method in made)),
        )
        for (_, space), made in found.items()
    ]


def certificate_of(instance: Instance[Any]) -> Path | None:
    """Return the certificate file of a worst case's optimum; `None` if it does not exist."""
    files = (CERTIFICATES / f"{instance.name}.{ending}" for ending in ENDINGS.values())
    return next((file for file in files if file.is_file()), None)


def cases_of_records() -> list[KnownCase]:
    """Return the cases in the records of all papers."""
    found = [read(f"{paper}/worst") for paper in PAPERS]
    rows = [row for record in found if record is not None for row in record.tables[-1].rows]
    return [KnownCase.of(dict(zip(CASE, row, strict=True))) for row in rows]


def as_bad(found: Sequence[KnownCase], known: Sequence[KnownCase]) -> list[KnownCase]:
    """Return the cases found, but keep a known case of a search if it is as bad or worse.

    Another version searches other instances. An earlier case remains valid while the heuristic still returns the
    same value.
    """
    before = {case.place: case for case in known}
    return [_worse(case, before.get(case.place)) for case in found]


def _worse(found: KnownCase, known: KnownCase | None) -> KnownCase:
    if known is None or found.over_all or known.over_all or known.gap < found.gap - 1e-9:
        return found
    (entry,) = [entry for entry in METHODS[known.problem] if entry.name == known.method]
    value = apply(entry, known.instance, Options()).objective
    return known if value is not None and abs(value - known.heuristic) <= 1e-9 * abs(value) else found


def keep() -> None:
    """Write the cases of the records to the library: the table, the certificates, and the records of their optima."""
    text, cases = io.StringIO(), as_bad(cases_of_records(), list_cases())
    csv.writer(text, lineterminator="\n").writerows([CASE, *(case.row for case in cases)])
    write_whole(FOLDER / TABLE, text.getvalue().encode())
    worst = worst_sets()
    results = [_certify(instance) for s in worst for instance in s.instances]
    files = {certificate_of(instance) for s in worst for instance in s.instances}
    for file in CERTIFICATES.iterdir():
        if file not in files:
            file.unlink()
    sets = [*library_sets(), *worst]
    here = {(i.problem, i.name) for s in sets for i in s.instances}
    known, _ = update_records(results, sets, METHODS)
    write_records([one for one in known if (one.problem, one.instance) in here], RECORDS)


def _certify(instance: Instance[Any]) -> Result:
    """Solve an instance to optimality, and write the certificate if its problem has a certifier."""
    options = Options()
    result = apply(METHODS[instance.problem][0], instance, options)
    if instance.problem in CERTIFIERS:
        certify = resolve(CERTIFIERS[instance.problem])
        made: Certificate = certify(instance.data, result.solution, result.bound, options)
        CERTIFICATES.mkdir(exist_ok=True)
        write_whole(CERTIFICATES / f"{instance.name}.{ENDINGS[made.kind]}", made.text.encode())
    return result


if __name__ == "__main__":
    keep()
