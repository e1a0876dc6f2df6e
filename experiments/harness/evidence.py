"""Evidence: what a command has measured, with all that it takes to measure it again; one file a table or figure."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from experiments.harness.experiment import Claim, TextTable
from experiments.harness.sample import Sample
from experiments.harness.sources import ROOT, behind, digest, files
from instances import InputError
from instances.fields import Frozen
from instances.files import read_json, write_whole
from instances.result import versions
from instances.validation import input_errors

FOLDER = ROOT / "docs" / "evidence"
FIGURES = 10  # of a number
SEPARATOR = ";"  # in what names a value, so in no name
ENDLESS = "no finite number"
LISTS = ("experiments.papers", "instances.registry")
"""The lists of all papers: what a run asks them for is the paper's own."""


class Value(Frozen):
    """A figure: a number over `n` seeds or instances, with its 95% interval and range, or words, `text`.

    Of a claim also what it is held against: all fields of `Claim` that are no measurement.
    """

    n: int | None = None
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    least: float | None = None
    greatest: float | None = None
    text: str | None = None
    claim: dict[str, Any] | None = None

    @classmethod
    def of(cls, found: Value | Sample | float | str | None) -> Value:
        """The figure that a sample, a number or words are; what is no number, as a ratio to 0, is told in words."""
        if isinstance(found, Value):
            return found
        if isinstance(found, Sample):
            numbers = {name: getattr(found, name) for name in ("mean", "low", "high", "least", "greatest")}
            finite = {name: _rounded(number) for name, number in numbers.items() if _finite(number)}
            return cls(n=found.seeds, text=None if "mean" in finite else ENDLESS, **finite)
        if found is None or isinstance(found, str):
            return cls(text=found)
        return cls(mean=_rounded(float(found))) if _finite(found) else cls(text=ENDLESS)

    @classmethod
    def of_claim(cls, claim: Claim) -> Value:
        """The figure of a claim, with what it is held against."""
        made = cls.of(claim.ours if claim.sample is None else claim.sample)
        names = ("where", "what", "paper", "verdict", "note", "sentence", "readings", "would_change")
        said = {name: getattr(claim, name) for name in names}
        said["readings"] = list(claim.readings)
        return made.model_copy(update={"claim": {name: value for name, value in said.items() if value}})

    def shown(self, form: str) -> str:
        """`form` with figures in the place of `{mean:.1%}` and so on; `{half}` is half the interval.

        Raises InputError where the value has no such figure.
        """
        figures = self.model_dump(exclude_none=True, exclude={"claim"}) | (self.claim or {})
        if self.low is not None and self.high is not None:
            figures["half"] = (self.high - self.low) / 2
        try:
            return form.format(**figures)
        except KeyError as error:
            raise InputError(f"has no {error.args[0]}, but {', '.join(figures)}") from None
        except (ValueError, IndexError, TypeError, AttributeError) as error:
            raise InputError(f"{form!r}: {error}") from None


class Evidence(Frozen):
    """A record: `command` has measured `values` and `tables` from `inputs`, by `code`, digests by module.

    `cpu_s`: CPU seconds of its runs. `commit`: that was checked out, with a + where files had been changed since.
    """

    id: str
    title: str
    command: str
    inputs: dict[str, str] = Field(default_factory=dict)
    values: dict[str, Value] = Field(default_factory=dict)
    tables: list[TextTable] = Field(default_factory=list)
    cpu_s: float | None = None
    commit: str | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    code: dict[str, str] = Field(default_factory=dict)

    def value(self, name: str) -> Value:
        """The value of a name. Raises InputError where there is none."""
        if name not in self.values:
            raise InputError(f"{self.id}: has no value {name!r}, but {', '.join(map(repr, self.values)) or 'none'}")
        return self.values[name]

    def outdated(self, code: Mapping[str, str], inputs: Mapping[str, str]) -> list[str]:
        """What has changed since: of the `code` that would make it now, and of those `inputs` that are at hand."""
        names = sorted(name for name in {*code, *self.code} if code.get(name) != self.code.get(name))
        return [*names, *(name for name, said in inputs.items() if self.inputs.get(name) != said)]


def made(
    record: str, title: str, command: str, found: Mapping[str, Any], *, tables: Sequence[TextTable] = (),
    inputs: Mapping[str, Path], code: Mapping[str, str], cpu_s: float | None,
) -> Evidence:  # fmt: skip
    """The record of what is measured now, by `code`. Raises InputError for a name that no value can have."""
    for name in found:
        if SEPARATOR in name or name != name.strip() or not name:
            raise InputError(f"{record}: {name!r}: a value's name must be of one line without {SEPARATOR!r}")
    return Evidence(
        id=record,
        title=title,
        command=command,
        inputs=digests_of(inputs),
        values={name: Value.of(value) for name, value in found.items()},
        tables=list(tables),
        cpu_s=None if cpu_s is None else round(cpu_s, 1),
        commit=_commit(),
        versions=versions(),
        code=dict(code),
    )


def claimed(claims: Sequence[Claim]) -> dict[str, Value]:
    """The values of claims, by the name that each has, or by where it is and what it measures. Raises InputError."""
    found: dict[str, Value] = {}
    for claim in claims:
        name = claim.name or f"{claim.where}: {claim.what}".replace(SEPARATOR, ",")
        if name in found:
            raise InputError(f"two claims are called {name!r}")
        found[name] = Value.of_claim(claim)
    return found


def code_of(modules: Iterable[str], paper: str, others: Collection[str]) -> dict[str, str]:
    """Digests of the modules that what some of a paper's measure depends on, which has nothing to do with `others`.

    They are those that these and the paper's own data, methods and simulation import. The lists of all papers name
    whatever there is, pictures and worst cases too, and are not entered.
    """
    own = (f"instances.{paper}", f"experiments.{paper}.methods", f"experiments.{paper}.simulation")
    there = (name for name in own if name in files())  # not every paper has a world
    return {name: digest(name) for name in behind([*modules, *there], {*others, *LISTS})}


def digests_of(files: Mapping[str, Path]) -> dict[str, str]:
    """Digests of what is in files."""
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in sorted(files.items())}


def path_of(record: str, folder: Path = FOLDER) -> Path:
    """The file of a record."""
    return folder / f"{record}.json"


def write(evidence: Evidence, folder: Path = FOLDER) -> Path:
    """Write a record. Raises OutputError where it cannot be written."""
    path = path_of(evidence.id, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = evidence.model_dump(mode="json", exclude_none=True)
    values = ",\n".join(f"  {_json(name)}: {_json(value)}" for name, value in content.pop("values").items())
    tables = ",\n".join(f"  {_table(table)}" for table in content.pop("tables"))
    head, code = content, {"code": content.pop("code")}  # what changes with every line of code comes last
    parts = [*(f" {_json(name)}: {_json(value)}" for name, value in head.items())]
    parts += [f' "values": {{\n{values}\n }}', f' "tables": [\n{tables}\n ]', json.dumps(code, indent=1)[2:-2]]
    write_whole(path, ("{\n" + ",\n".join(parts) + "\n}\n").encode())
    return path


def read(record: str, folder: Path = FOLDER) -> Evidence | None:
    """A record, `None` where there is none. Raises InputError, of the file, for what is no record."""
    path = path_of(record, folder)
    if not path.is_file():
        return None
    content = read_json(path)
    with input_errors(str(path)):
        return Evidence.model_validate(content)


def recorded(folder: Path = FOLDER) -> list[str]:
    """The records that there are."""
    return sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.json"))


def shown(said: str, folder: Path = FOLDER) -> str:
    """What a page is to show where it says `RECORD; VALUE; FORM`.

    Raises InputError where there is no such record or value, or where it has no such figure.
    """
    parts = [part.strip() for part in said.split(SEPARATOR, 2)]
    if len(parts) != 3:
        raise InputError(f"{said!r}: must be RECORD{SEPARATOR} VALUE{SEPARATOR} FORM")
    record, name, form = parts
    found = read(record, folder)
    if found is None:
        raise InputError(f"{path_of(record, folder)}: no such record")
    try:
        return found.value(name).shown(form)
    except InputError as error:
        raise InputError(f"{record}: {name}: {error}") from None


def _rounded(number: float) -> float:
    """A figure with the digits that anybody could mean by it."""
    return float(f"{number:.{FIGURES}g}")


def _finite(number: float | None) -> bool:
    return number is not None and math.isfinite(number)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _table(table: Mapping[str, Any]) -> str:
    """A table, a line a row."""
    rows = ",\n".join(f"    {_json(row)}" for row in table["rows"])
    return f'{{"head": {_json(table["head"])}, "rows": [\n{rows}\n  ]}}'


def _commit() -> str | None:
    """The commit of the clone that this runs in; `None` where there is no git or it is no clone."""
    git = ["git", "-C", str(ROOT)]
    try:
        found = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        changed = [*git, "diff", "--quiet", "HEAD", "--", "*.py"]
        return found + ("+" if subprocess.run(changed, capture_output=True, check=False).returncode else "")
    except (OSError, subprocess.CalledProcessError):
        return None
