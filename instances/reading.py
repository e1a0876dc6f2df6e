"""Read files that the user names: JSON, tables, results and certificates are all read here."""

from __future__ import annotations

import errno
import gzip
import io
import json
import os
import stat
import zlib
from pathlib import Path
from typing import Any

from instances.errors import InputError

LARGEST_FILE = 1 << 28  # bytes, also after decompression
STDIN = "-"
GZIP = b"\x1f\x8b"


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a regular file, of the standard input (`-`), or of a pipe that the shell has opened.

    A file .gz, or a stream with the gzip signature, is decompressed. Raises InputError for a file that cannot be read
    and for content of more than `LARGEST_FILE` bytes. A device or a named pipe is rejected, because it may never end.
    """
    path = Path(path)
    try:
        if not _is_stream(path):
            refuse_irregular(path)
        with open(0, "rb", closefd=False) if str(path) == STDIN else path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise _unreadable(path, error) from error
    _refuse_large(path, raw)
    if path.suffix != ".gz" and not (_is_stream(path) and raw.startswith(GZIP)):
        return raw
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
            raw = packed.read(LARGEST_FILE + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: must be a complete gzip file, because {_why_packed(path)}") from error
    _refuse_large(path, raw)
    return raw


def refuse_irregular(path: Path) -> None:
    """Raise InputError if `path` does not exist or is not a regular file, without opening it."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(mode):
        raise InputError(f"{path}: {os.strerror(errno.EISDIR) if stat.S_ISDIR(mode) else 'not a regular file'}")


def is_folder(path: Path) -> bool:
    """Return whether `path` is a folder; on an error return False, because reading the file then gives the reason."""
    try:
        return path.is_dir()
    except OSError:
        return False


def _why_packed(path: Path) -> str:
    return "its name ends in .gz" if path.suffix == ".gz" else "it begins like one"


def _unreadable(path: Path, error: Exception) -> InputError:
    hint = ": only files are read" if str(path).startswith(("http:", "https:")) else ""
    return InputError(f"{path}: {getattr(error, 'strerror', None) or error}{hint}")


def _is_stream(path: Path) -> bool:
    return str(path) == STDIN or str(path).startswith(("/dev/stdin", "/dev/fd/", "/proc/self/fd/"))


def _refuse_large(path: Path, raw: bytes) -> None:
    if len(raw) > LARGEST_FILE:
        raise InputError(f"{path}: must be at most {LARGEST_FILE >> 20} MiB")


def parse_json(text: str) -> Any:
    """Parse a JSON text. Raises InputError of one line for invalid JSON and for duplicate fields."""
    try:
        return json.loads(text, object_pairs_hook=_refuse_duplicates)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"not valid JSON: {error}") from error


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise InputError(f"duplicate field {name!r:.80}")
        content[name] = value
    return content
