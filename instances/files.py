"""Instance and workload files: load, save and the JSON Schema."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import stat
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from instances.envelope import VERSION, Instance
from instances.errors import InputError, OutputError
from instances.fields import ProblemData
from instances.json_text import parsed
from instances.registry import FORMATS
from instances.validation import show, validated

ENVELOPE = ("gapwise", "problem", "name", "data")
LARGEST_FILE = 1 << 28  # bytes, of a file and of what it unpacks to
STDIN = "-"
HALF_WRITTEN = ".gapwise-"  # how the names of files begin while they are being written
GZIP = b"\x1f\x8b"


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
    """The parsed JSON of the file `path`, as `load` reads it. Raises InputError."""
    raw = read_bytes(path)
    try:
        if Path(path).suffix == ".gz" or (_is_stream(Path(path)) and raw.startswith(GZIP)):
            with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
                raw = packed.read(LARGEST_FILE + 1)
            _refuse_large(path, raw)
        return parsed(raw.decode("utf-8"))
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{path}: {reason}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not valid JSON: {error}") from error


def read_bytes(path: str | Path) -> bytes:
    """The content of a regular file, or of a stream: the standard input (`-`), or a pipe that the shell has opened.

    Raises InputError for a file that cannot be read, for a device, for a named pipe, which may never end, and for one
    that is too large.
    """
    path = Path(path)
    try:
        if not _is_stream(path) and not stat.S_ISREG(mode := path.stat().st_mode):
            kind = os.strerror(errno.EISDIR) if stat.S_ISDIR(mode) else "not a regular file"
            raise InputError(f"{path}: {kind}")
        with open(0, "rb", closefd=False) if str(path) == STDIN else path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        hint = ": only files are read" if str(path).startswith(("http:", "https:")) else ""
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}{hint}") from error
    _refuse_large(path, raw)
    return raw


def _is_stream(path: Path) -> bool:
    return str(path) == STDIN or str(path).startswith(("/dev/stdin", "/dev/fd/", "/proc/self/fd/"))


def _refuse_large(path: str | Path, raw: bytes) -> None:
    if len(raw) > LARGEST_FILE:
        raise InputError(f"{path}: must be at most {LARGEST_FILE >> 20} MiB")


def parse(content: Any) -> Instance[Any]:
    """The instance that `content`, the parsed JSON of an instance file, describes. Raises InputError."""
    if not isinstance(content, Mapping):
        raise InputError(f"must be an object with the fields {', '.join(ENVELOPE)}, got {show(content)}")
    if content.get("gapwise", VERSION) != VERSION:  # before anything else: another version may have other fields
        raise InputError(f"gapwise: must be {VERSION}, got {show(content['gapwise'])}")
    for name in ENVELOPE:
        if name not in content:
            raise InputError(f"{name}: missing")
    problem = content["problem"]
    if not isinstance(problem, str) or problem not in FORMATS:
        raise InputError(f"problem: must be one of {', '.join(FORMATS)}, got {show(problem)}")
    data = parse_data(problem, content["data"])
    return validated(Instance, {**content, "data": data}, root="")


def parse_data(problem: str, content: Any) -> ProblemData:
    """The data of `problem` that the parsed JSON `content` describes. Raises InputError with paths from `data` on."""
    return validated(FORMATS[problem], content)


def dump(instance: Instance) -> dict[str, Any]:
    """The JSON content of an instance file; fields that were not given are left out."""
    return instance.model_dump(mode="json", exclude_defaults=True) | {"gapwise": 1}


def save(instance: Instance, path: str | Path) -> None:
    """Write `instance` to `path` (.json or .json.gz), whole or not at all. Raises InputError where it cannot."""
    path = Path(path)
    text = json.dumps(_envelope_first(dump(instance)), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    raw = text.encode("utf-8")
    write_whole(path, gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)


def write_whole(path: Path, raw: bytes) -> None:
    """Write a file in one step: it appears whole, or the old one stays. Raises OutputError where it cannot."""
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
    """JSON Schema (draft 2020-12) of the files of `problem`. Raises InputError for an unknown problem."""
    if problem not in FORMATS:
        raise InputError(f"problem: must be one of {', '.join(FORMATS)}, got {show(problem)}")
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
