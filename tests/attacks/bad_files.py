"""Give bad files of every kind to every command that reads a file: one line, status 2, nothing written.

`python -m tests.attacks.bad_files [--cases N] [--seed K]` tries all, or so many of them, and prints what failed.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from instances import dump, save
from instances.eva import table_3
from tests.attacks.flags import CLOUD, RENTED, SPEEDUPS, fill
from tests.attacks.forked import called, campaign, wrong

PRICE = b"12.0"  # of the good instance
PHILLY = "job_id,pool,submit_s,duration_s,gpus\n0,p,0,600,2\n1,q,30,90,1\n"
NO_CERTIFICATE = ("verify", "good.json", "result.json", "{bad}")
PLACES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "solve": (("solve", "{bad}", "--out", "left"), ".json", ""),
    "solve, start": (("solve", "good.json", "--start", "{bad}", "--out", "left"), ".json", ""),
    "check": (("check", "{bad}"), ".json", ""),
    "check, solution": (("check", "good.json", "--solution", "{bad}"), ".json", ""),
    "gap_study": (("gap_study", "{bad}", "--out", "left"), ".json", ""),
    "pareto": (("pareto", "{bad}", "--out", "left"), ".json", ""),
    "pareto, trace": (("pareto", "{bad}", "--out", "left"), ".csv", RENTED),
    "pareto, speedups": (("pareto", "rented.csv", "--speedups", "{bad}", "--out", "left"), ".csv", SPEEDUPS),
    "simulate": (("simulate", "{bad}", "--out", "left"), ".json", ""),
    "simulate, trace": (("simulate", "--trace", "{bad}", "--out", "left"), ".csv", PHILLY),
    "draw eva-cloud": (("draw", "eva-cloud", "--trace", "{bad}", "--out", "left"), ".csv", CLOUD),
    "draw boa-renting": (("draw", "boa-renting", "--trace", "{bad}", "--out", "left"), ".csv", RENTED),
    "draw boa-renting, speedups": (
        ("draw", "boa-renting", "--trace", "rented.csv", "--speedups", "{bad}", "--out", "left"), ".csv", SPEEDUPS
    ),
    "draw aryl-loaning": (("draw", "aryl-loaning", "--trace", "{bad}", "--out", "left"), ".csv", PHILLY),
    "draw eva-reconfiguration": (("draw", "eva-reconfiguration", "--workload", "{bad}", "--out", "left"), ".json", ""),
    "verify, instance": (("verify", "{bad}", "result.json", "result.json"), ".json", ""),
    "verify, result": (("verify", "good.json", "{bad}", "result.json"), ".json", ""),
    "verify, certificate": (NO_CERTIFICATE, ".vipr", ""),
    "library record": (("library", "record", "{bad}", "--out", "left"), ".json", ""),
    "library record, store": (("library", "record", "{bad}", "--out", "left"), "runs.sqlite", ""),
}  # fmt: skip
"""By name: the arguments, how the file is called at its end, and for a table what a good one holds."""

Make = Callable[[Path, bytes], object]  # writes the bad file at a path, of the bytes of a good one


def _fifo(path: Path, good: bytes) -> None:
    os.mkfifo(path)


def _socket(path: Path, good: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def _endless(path: Path, good: bytes) -> None:
    path.symlink_to("/dev/zero")


def _too_large(path: Path, good: bytes) -> None:
    path.write_bytes(good)
    os.truncate(path, (1 << 28) + 1)


def _bomb(path: Path, good: bytes) -> None:
    path.write_bytes(gzip.compress(b" " * (3 << 27), 1))


ANY: dict[str, Make] = {
    "missing": lambda path, good: None,
    "empty": lambda path, good: path.touch(),
    "spaces": lambda path, good: path.write_text(" \n \n"),
    "latin-1": lambda path, good: path.write_bytes(b"\xe4\xf6\xfc" + good),
    "UTF-16": lambda path, good: path.write_bytes(good.decode().encode("utf-16")),
    "NUL": lambda path, good: path.write_bytes(b"\0" + good),
    "bytes": lambda path, good: path.write_bytes(random.Random(0).randbytes(5000)),
    "folder": lambda path, good: path.mkdir(),
    "pipe": _fifo,
    "socket": _socket,
    "endless": _endless,
    "null": lambda path, good: path.symlink_to("/dev/null"),
    "full": lambda path, good: path.symlink_to("/dev/full"),
    "memory": lambda path, good: path.symlink_to("/proc/self/mem"),
    "loop": lambda path, good: path.symlink_to(path.name),
    "dangling": lambda path, good: path.symlink_to("nowhere"),
    "too large": _too_large,
}
JSON: dict[str, Make] = {
    "torn": lambda path, good: path.write_bytes(good[: len(good) // 2]),
    "deep": lambda path, good: path.write_text("[" * 100_000 + "]" * 100_000),
    "not finite": lambda path, good: path.write_bytes(good.replace(PRICE, b"NaN")),
    "too great": lambda path, good: path.write_bytes(good.replace(PRICE, b"1e400")),
    "digits": lambda path, good: path.write_bytes(good.replace(PRICE, b"9" * 5000)),
    "twice": lambda path, good: path.write_bytes(good.replace(b'"data"', b'"name": "x", "name": "y", "data"')),
    "version": lambda path, good: path.write_bytes(good.replace(b'"gapwise": 1', b'"gapwise": 2')),
    "half a pair": lambda path, good: path.write_bytes(good.replace(b'"data"', b'"\\ud800": 1, "data"')),
    "long name": lambda path, good: path.write_bytes(good.replace(b'"data"', b'"%s": 1, "data"' % (b"x" * 100_000))),
    "list": lambda path, good: path.write_text("[1, 2]"),
    "number": lambda path, good: path.write_text("7"),
}
TABLE: dict[str, Make] = {
    "cells": lambda path, good: path.write_bytes(good + b"," * 40 + b"\n"),
    "quote": lambda path, good: path.write_bytes(good + b'"open'),
    "no column": lambda path, good: path.write_text("a,b\n1,2\n"),
    "header alone": lambda path, good: path.write_bytes(good.split(b"\n")[0] + b"\n"),
    "words": lambda path, good: path.write_bytes(good.replace(b"600", b"w").replace(b"0", b"w")),
    "great": lambda path, good: path.write_bytes(good.replace(b"600", b"1e308").replace(b"7200", b"1e308")),
}  # fmt: skip
NAMES = {
    "name": "n" * 300,
    "path": "/".join(["d" * 50] * 100) + "/x",
    "line": "a\nb",
    "escape": "\x1b[31mred",
    "not UTF-8": os.fsdecode(b"\xff\xfe"),
    "web": "http://localhost/x",
}
PACKED: dict[str, Make] = {
    "packed, torn": lambda path, good: path.write_bytes(gzip.compress(good)[:-9]),
    "packed, changed": lambda path, good: path.write_bytes(gzip.compress(good)[:-6] + b"\1\2\3\4\5\6"),
    "packed, not": lambda path, good: path.write_bytes(good),
    "packed, much": _bomb,
}


@dataclass(frozen=True)
class Case:
    """A place where a command takes a file, and a kind of file."""

    place: str
    kind: str

    def __str__(self) -> str:
        return f"{self.place}, {self.kind}"


def every_case() -> list[Case]:
    """All places with all kinds that are bad there."""
    return [
        Case(place, kind)
        for place, (_, suffix, good) in PLACES.items()
        for kind in [*ANY, *(TABLE if good else JSON if suffix == ".json" else {}), *NAMES, *PACKED]
    ]


def tried(cases: Sequence[Case], folder: Path) -> Iterator[tuple[Case, int | None, str | None]]:
    """Each case with the exit status, and with what is wrong: any other end than status 2 is."""
    fill(folder)
    save(table_3(), folder / "good.json")
    json_text = json.dumps(dump(table_3())).encode()
    assert PRICE in json_text
    (folder / "result.json").write_text("{}")
    for number, case in enumerate(cases):
        arguments, suffix, good = PLACES[case.place]
        name = NAMES.get(case.kind, f"bad{number}") + suffix + (".gz" if case.kind in PACKED else "")
        make = (ANY | JSON | TABLE | PACKED).get(case.kind)
        if make is not None:
            make(folder / name, good.encode() or json_text)
        done = called([name if word == "{bad}" else word for word in arguments], folder)
        symptom = wrong(done, [folder / "left"])
        if symptom is None and done.status != 2:
            symptom = f"status {done.status}: {done.err[:200]}"
        if make is not None and not (folder / name).is_dir():
            (folder / name).unlink(missing_ok=True)
        yield case, done.status, symptom


if __name__ == "__main__":
    raise SystemExit(campaign(__doc__, every_case(), tried))
