"""Evidence: the measurements of a command with all inputs to repeat them, in one file per table or figure."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from experiments.harness.experiment import Claim, TextTable
from experiments.harness.sample import Sample
from experiments.harness.user_functions import ROOT
from instances import InputError
from instances.fields import Frozen
from instances.files import read_json, write_whole
from instances.result import versions
from instances.validation import input_errors

FOLDER = ROOT / "docs" / "evidence"
FIGURES = 12  # significant digits of a number
RELATIVE, ABSOLUTE = 1e-9, 1e-12  # tolerances within which two numbers are equal
SEPARATOR = ";"  # separates the parts of a reference to a value, so no name contains it
ENDLESS = "no finite number"


class Value(Frozen):
    """A figure: a number over `n` seeds or instances, with its 95% interval and range, or words, `text`.

    Claims also have the values to compare with: all fields of `Claim` that are no measurement.
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
        """Build the value of a sample, a number or words. A non-finite number, such as a ratio to 0, becomes words."""
        if isinstance(found, Value):
            return found
        if isinstance(found, Sample):
            numbers = {name: getattr(found, name) for name in ("mean", "low", "high", "least", "greatest")}
            finite = {name: _round_figure(number) for name, number in numbers.items() if _finite(number)}
            return cls(n=found.seeds, text=None if "mean" in finite else ENDLESS, **finite)
        if found is None or isinstance(found, str):
            return cls(text=found)
        return cls(mean=_round_figure(float(found))) if _finite(found) else cls(text=ENDLESS)

    @classmethod
    def from_claim(cls, claim: Claim) -> Value:
        """Build the value of a claim, with the fields that it is compared with."""
        made = cls.of(claim.ours if claim.sample is None else claim.sample)
        names = ("where", "what", "paper", "verdict", "note", "sentence", "readings", "would_change")
        said = {name: getattr(claim, name) for name in names}
        said["readings"] = list(claim.readings)
        return made.model_copy(update={"claim": {name: value for name, value in said.items() if value}})

    def format_value(self, form: str) -> str:
        """Replace `{mean:.1%}` and similar fields in `form` by figures; `{half}` is half the interval.

        Raises InputError if the value has no such figure.
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


class Probe(Frozen):
    """The result of `command` on a small part of a record's inputs: values, or tables if it names no values.

    The times in it are those of runs in which every measured time is a second.
    """

    command: str
    values: dict[str, Value] = Field(default_factory=dict)
    tables: list[TextTable] = Field(default_factory=list)

    @classmethod
    def of(cls, command: str, found: Mapping[str, Any], tables: Sequence[TextTable]) -> Probe:
        """Return the probe of these figures, without what the figures of claims are compared with."""
        values = {name: Value.of(value).model_copy(update={"claim": None}) for name, value in found.items()}
        return cls(command=command, values=values, tables=[] if values else list(tables))

    def difference(self, now: Probe) -> str | None:
        """Return the first figure that differs in `now`, as both have it, and `None` if there is none."""
        then, there = self._figures(), now._figures()
        for name in [*then, *(name for name in there if name not in then)]:
            was, found = then.get(name), there.get(name)
            if not _same(was, found):
                return f"{name}: {_describe_figure(was)}, now {_describe_figure(found)}"
        return None

    def _figures(self) -> dict[str, Figure]:
        """Return every number and text of the probe by its place."""
        found: dict[str, Figure] = {"command": self.command}
        for name, value in self.values.items():
            found |= {f"{name}, {part}": figure for part, figure in value.model_dump(exclude_none=True).items()}
        for i, table in enumerate(self.tables):
            for j, row in enumerate((table.head, *table.rows)):
                found |= {f"table {i}, row {j}, column {k}": cell for k, cell in enumerate(row)}
        return found


Figure = float | int | str


def _same(one: Figure | None, other: Figure | None) -> bool:
    """Return whether two figures are equal: texts and integers exactly, other numbers within the tolerances."""
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return one == other
    if float(one).is_integer() and float(other).is_integer():
        return one == other
    return math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def _describe_figure(figure: Figure | None) -> str:
    return "none" if figure is None else repr(figure)


class Evidence(Frozen):
    """A record: `command` has measured `values` and `tables` from `inputs`.

    `cpu_s`: CPU seconds of its runs. `commit`: that was checked out, with a + where files had been changed since.
    `probe`: the comparison that detects a stale record. `kept`: why the values hold although the probe is newer.
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
    kept: str | None = None
    probe: Probe | None = None

    def value(self, name: str) -> Value:
        """Return the value with a name. Raises InputError if there is no such value."""
        if name not in self.values:
            raise InputError(f"{self.id}: has no value {name!r}, but {', '.join(map(repr, self.values)) or 'none'}")
        return self.values[name]

    def explain_staleness(self, command: str, inputs: Mapping[str, str], probe: Probe) -> str | None:
        """Return why the record is stale, in one line: by its command, those `inputs` at hand, and its probe now."""
        if command != self.command:
            return f"its command was {self.command}, now {command}"
        for name, digest in inputs.items():
            if self.inputs.get(name) != digest:
                return f"{name} has changed"
        return "has no probe" if self.probe is None else self.probe.difference(probe)


def build_record(
    record: str, title: str, command: str, found: Mapping[str, Any], *, tables: Sequence[TextTable] = (),
    inputs: Mapping[str, Path], cpu_s: float | None, probe: Probe | None = None,
) -> Evidence:  # fmt: skip
    """Build the record of a new measurement. Raises InputError for an invalid name of a value."""
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
        probe=probe,
    )


def collect_claims(claims: Sequence[Claim]) -> dict[str, Value]:
    """Return the values of claims, by name, or by place and measure if unnamed. Raises InputError for a duplicate."""
    found: dict[str, Value] = {}
    for claim in claims:
        name = claim.name or f"{claim.where}: {claim.what}".replace(SEPARATOR, ",")
        if name in found:
            raise InputError(f"two claims are called {name!r}")
        found[name] = Value.from_claim(claim)
    return found


def digests_of(files: Mapping[str, Path]) -> dict[str, str]:
    """Compute the digests of the contents of files, by name."""
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in sorted(files.items())}


def path_of(record: str, folder: Path = FOLDER) -> Path:
    """Return the file of a record."""
    return folder / f"{record}.json"


def write(evidence: Evidence, folder: Path = FOLDER) -> Path:
    """Write a record and return its file. Raises OutputError if it cannot be written."""
    path = path_of(evidence.id, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = evidence.model_dump(mode="json", exclude_none=True)
    probe = content.pop("probe", None)
    parts = _parts(content, " ")
    if probe is not None:
        parts.append(' "probe": {\n' + ",\n".join(_parts(probe, "  ")) + "\n }")
    write_whole(path, ("{\n" + ",\n".join(parts) + "\n}\n").encode())
    return path


def read(record: str, folder: Path = FOLDER) -> Evidence | None:
    """Read a record; return `None` if its file does not exist. Raises InputError if the file is not a record."""
    path = path_of(record, folder)
    if not path.is_file():
        return None
    content = read_json(path)
    with input_errors(str(path)):
        return Evidence.model_validate(content)


def list_records(folder: Path = FOLDER) -> list[str]:
    """Return the ids of all records in a folder."""
    return sorted(str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.json"))


def show_text(said: str, folder: Path = FOLDER) -> str:
    """Return the text that a page shows for `RECORD; VALUE; FORM`.

    Raises InputError if there is no such record or value, or if the value has no such figure.
    """
    parts = [part.strip() for part in said.split(SEPARATOR, 2)]
    if len(parts) != 3:
        raise InputError(f"{said!r}: must be RECORD{SEPARATOR} VALUE{SEPARATOR} FORM")
    record, name, form = parts
    found = read(record, folder)
    if found is None:
        raise InputError(f"{path_of(record, folder)}: no such record")
    try:
        return found.value(name).format_value(form)
    except InputError as error:
        raise InputError(f"{record}: {name}: {error}") from None


def _round_figure(number: float) -> float:
    """Round a number to `FIGURES` significant digits."""
    return float(f"{number:.{FIGURES}g}")


def _finite(number: float | None) -> bool:
    return number is not None and math.isfinite(number)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _parts(content: dict[str, Any], indent: str) -> list[str]:
    """Format the members of a record or a probe as JSON, with one line per value and per table row."""
    values = ",\n".join(f"{indent} {_json(name)}: {_json(value)}" for name, value in content.pop("values").items())
    tables = ",\n".join(f"{indent} {_table(table)}" for table in content.pop("tables"))
    parts = [f"{indent}{_json(name)}: {_json(value)}" for name, value in content.items()]
    parts += [f'{indent}"values": {{\n{values}\n{indent}}}'] if values else []
    return parts + ([f'{indent}"tables": [\n{tables}\n{indent}]'] if tables else [])


def _table(table: Mapping[str, Any]) -> str:
    """Format a table as JSON, with one line per row."""
    rows = ",\n".join(f"    {_json(row)}" for row in table["rows"])
    return f'{{"head": {_json(table["head"])}, "rows": [\n{rows}\n  ]}}'


def _commit() -> str | None:
    """Return the checked-out commit, with a + if Python files differ from it; `None` without git or outside a clone."""
    git = ["git", "-C", str(ROOT)]
    try:
        found = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        changed = [*git, "diff", "--quiet", "HEAD", "--", "*.py"]
        return found + ("+" if subprocess.run(changed, capture_output=True, check=False).returncode else "")
    except (OSError, subprocess.CalledProcessError):
        return None
