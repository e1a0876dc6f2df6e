"""The folder that a command writes to, and the names of the files in it: no two results share one."""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from experiments.output.columns import csv_text
from instances import InputError, OutputError, Result
from instances.files import write_whole

PLAIN = re.compile(r"[a-z0-9][a-z0-9_+-]*(\.[a-z0-9_+-]+)*")
MOST = 60  # characters of a name that are kept as they are
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def ready_folder(path: Path) -> Path:
    """Make the folder for output and see that it can be written to, before any work. Raises InputError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be made a folder: {error.strerror}") from error
    probe = path / ".gapwise-probe"
    try:
        write_whole(probe, b"")
    except OutputError as error:
        raise InputError(f"{path}: cannot be written to") from error
    probe.unlink()
    return path


@contextmanager
def files_first(write: Callable[[], None]) -> Iterator[None]:
    """Write files, then do what is inside, print say, and only then raise what the writing raised.

    So neither an output that nobody reads to its end nor a full disk costs the other.
    """
    fault = None
    try:
        write()
    except OutputError as error:
        fault = error
    yield
    if fault is not None:
        raise fault


def write_certified(folder: Path, result: Result, kind: str, text: str) -> None:
    """Write a result and its certificate, two files of one name, to `folder`."""
    content = result.model_dump_json(indent=1) + "\n"
    write_whole(folder / result_file(result.instance, result.method), content.encode())
    ending = "vipr" if kind == "vipr" else "certificate.json"
    write_whole(folder / result_file(result.instance, result.method, ending), text.encode())


def write_results(folder: Path | None, results: Iterable[Result]) -> None:
    """Write `results.csv` and one JSON file per result, with its solution, to `folder`, if it is given."""
    if folder is None:
        return
    results = list(results)
    write_whole(folder / "results.csv", csv_text(results).encode())
    write_result_files(folder, results)


def write_result_files(folder: Path, results: Iterable[Result]) -> None:
    """Write one JSON file per result."""
    for result in results:
        content = result.model_dump_json(indent=1) + "\n"
        write_whole(folder / result_file(result.instance, result.method), content.encode())


def remove_interrupted(folder: Path, result: Result) -> None:
    """Remove the files that an interrupt left for a run that is now finished."""
    path = folder / result_file(result.instance, result.method)
    with suppress(OSError, ValueError):
        if stat.S_ISREG(path.lstat().st_mode):
            left = Result.model_validate_json(path.read_bytes())
            if (left.instance, left.method, left.termination) == (result.instance, result.method, "interrupted"):
                path.unlink()


def result_file(instance: str, method: str, ending: str = "json") -> str:
    """Return the file name of the result of `method` on `instance`, or of another file of it with an `ending`.

    A short name of small letters, digits and `._+-` stays as it is. Any other is made of those and followed by `~`,
    which no plain name has, and a digest: some file systems take capitals for small letters.
    """
    return f"{part(instance, dots=True)}.{part(method, dots=False)}.{ending}"


def part(name: str, dots: bool) -> str:
    plain = PLAIN.fullmatch(name) and len(name) <= MOST and not RESERVED.fullmatch(name)
    if plain and (dots or "." not in name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    readable = re.sub(r"[^a-z0-9_+]+", "-", name.lower())[:MOST].strip("-")
    return f"{readable}~{digest}"
