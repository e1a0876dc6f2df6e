"""Load and save instance and workload files, and return their JSON Schema."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from instances.envelope import VERSION, Instance
from instances.errors import InputError, OutputError
from instances.fields import ProblemData
from instances.reading import parse_json, read_bytes
from instances.registry import FORMATS
from instances.text import meant
from instances.validation import show, validate

ENVELOPE = ("gapwise", "problem", "name", "data")
HALF_WRITTEN = ".gapwise-"  # prefix of the temporary file during a write


def load(path: str | Path) -> Instance[Any]:
    """Load the instance file `path` (.json or .json.gz; `-` is the standard input).

    Raises InputError, one line naming the file, the path inside it and the offending value.
    """
    content = read_json(path)
    try:
        return parse(content)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def read_json(path: str | Path) -> Any:
    """Return the parsed JSON of the file `path`, as `load` reads it. Raises InputError."""
    raw = read_bytes(path)
    try:
        return parse_json(raw.decode("utf-8"))
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not valid JSON: {error}") from error


def parse(content: Any) -> Instance[Any]:
    """Build the instance from `content`, the parsed JSON of an instance file. Raises InputError."""
    if not isinstance(content, Mapping):
        raise InputError(f"must be an object with the fields {', '.join(ENVELOPE)}, got {show(content)}")
    if content.get("gapwise", VERSION) != VERSION:  # before anything else: another version may have other fields
        raise InputError(f"gapwise: must be {VERSION}, got {show(content['gapwise'])}")
    for name in ENVELOPE:
        if name not in content:
            raise InputError(f"{name}: missing")
    problem = content["problem"]
    if not isinstance(problem, str) or problem not in FORMATS:
        raise InputError(
            f"problem: must be one of {', '.join(FORMATS)}, got {show(problem)}{meant(FORMATS, str(problem))}"
        )
    data = parse_data(problem, content["data"])
    return validate(Instance, {**content, "data": data}, root="")


def parse_data(problem: str, content: Any) -> ProblemData:
    """Build the data of `problem` from the parsed JSON `content`. Raises InputError with paths from `data` on."""
    return validate(FORMATS[problem], content)


def dump(instance: Instance) -> dict[str, Any]:
    """Return the JSON content of an instance file without the fields that have their defaults."""
    return instance.model_dump(mode="json", exclude_defaults=True) | {"gapwise": 1}


def save(instance: Instance, path: str | Path) -> None:
    """Write `instance` to `path` (.json or .json.gz) atomically. Raises InputError if this fails."""
    path = Path(path)
    text = json.dumps(_envelope_first(dump(instance)), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    raw = text.encode("utf-8")
    write_whole(path, gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)


def write_whole(path: Path, raw: bytes) -> None:
    """Write a file atomically: on failure, the old file is unchanged. Raises OutputError if it cannot be written."""
    try:
        handle, name = tempfile.mkstemp(prefix=HALF_WRITTEN, dir=path.parent)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as error:
        os.unlink(name)
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error


def json_schema(problem: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of the files of `problem`. Raises InputError for an unknown problem."""
    if problem not in FORMATS:
        raise InputError(
            f"problem: must be one of {', '.join(FORMATS)}, got {show(problem)}{meant(FORMATS, str(problem))}"
        )
    envelope = Instance.model_json_schema(mode="validation")
    data = FORMATS[problem].model_json_schema(mode="validation")
    definitions = envelope.pop("$defs", {}) | data.pop("$defs", {})
    definitions.pop("ProblemData", None)
    envelope["properties"] |= {"problem": {"const": problem}, "data": data}
    envelope["required"] = list(ENVELOPE)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **envelope, "$defs": definitions}


def _envelope_first(content: dict[str, Any]) -> dict[str, Any]:
    order = ["gapwise", "problem", "name", "source", "reference", "data"]
    return {name: content[name] for name in order if name in content}
