"""Finished runs in an embedded SQLite file: an interrupted study loses none and repeats none."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Any

from experiments.methods import concluded
from experiments.methods.own import source_digest
from experiments.runner import Run
from experiments.terminal import err
from experiments.text import shown
from instances import InputError, Instance, OutputError, Result
from instances.result import versions

SCHEMA = "CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, instance TEXT, method TEXT, result TEXT NOT NULL)"
CHECKED = ("status", "objective", "bound", "gap", "violations", "solution")


class Store:
    """Results by what they depend on: the instance's content, the method, its effective options and the versions.

    A store belongs to one process at a time.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        """Open the store at `path`. Unless `resume`, an older one is set aside as `<name>.previous`.

        Raises InputError where the file cannot be used.
        """
        self.path = path
        self.fault: str | None = None  # why results are no longer kept
        self._keys = Keys()
        self._held: set[str] = set()
        self._lock = _locked(path.parent)
        try:
            if path.exists() and not resume:
                os.replace(path, path.with_name(path.name + ".previous"))
            self._database = sqlite3.connect(path, isolation_level=None)
            self._database.execute(SCHEMA)
            first = self._database.execute("SELECT key, instance, method, result FROM runs LIMIT 1").fetchone()
            self._empty = first is None
        except (OSError, sqlite3.Error) as error:
            os.close(self._lock)
            raise self._useless(error) from error

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()
        os.close(self._lock)

    def get(self, run: Run) -> Result | None:
        """The result of `run`, if it is finished and its solution passes the checker again.

        Runs that ended in an error are not finished: they are tried again. Raises InputError for a damaged store.
        """
        if self._empty:
            return None
        try:
            row = self._database.execute("SELECT result FROM runs WHERE key = ?", (self._keys.of(run),)).fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._useless(error) from error
        try:
            result = Result.model_validate_json(row[0]) if row else None
            if result is None or not _holds(run, result):
                return None
            self._held.add(self._keys.of(run))
            return result
        except Exception:  # a damaged row: whatever the checker makes of it, the run is done again
            return None

    def put(self, run: Run, result: Result) -> None:
        """Keep the result of `run`, at once and for good. Raises OutputError where it cannot be kept."""
        if result.status == "error":
            return
        try:
            row = self._keys.of(run), result.instance, result.method, result.model_dump_json()
            self._database.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", row)
            self._held.add(row[0])
            self._empty = False
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise OutputError(f"{self.path}: cannot be written: {error}") from error

    def keep(self, run: Run, result: Result) -> None:
        """`put`, but where it fails, the first time is told on standard error and nothing more is kept."""
        if self.fault is not None:
            return
        try:
            self.put(run, result)
        except OutputError as error:
            self.fault = str(error)
            err.print(f"{shown(self.fault)}; from here on results are not kept")

    @property
    def held(self) -> int:
        """How many of the runs that were asked for or put are in the store."""
        return len(self._held)

    def _useless(self, error: Exception) -> InputError:
        return InputError(f"{self.path}: cannot be used as a store of results: {error}")


def _locked(folder: Path) -> int:
    """A handle of `folder` that holds a lock until it is closed, or the process ends. Raises InputError."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise InputError(f"{folder}: another command is writing its results there") from None
    except OSError:  # a file system without locks
        pass
    return handle


def _holds(run: Run, kept: Result) -> bool:
    """Whether a kept result says what the checker says of its solution."""
    again = concluded(run.method, run.instance, kept.unchecked(), run.options)
    return all(getattr(again, name) == getattr(kept, name) for name in CHECKED)


class Keys:
    """Digests of all that the results of runs depend on; the parts that many runs share are made once."""

    def __init__(self) -> None:
        self._instances: dict[int, tuple[Instance, str]] = {}
        self._sources: dict[str, str] = {}

    def of(self, run: Run) -> str:
        """Digest of all that the result of `run` depends on."""
        content: dict[str, Any] = {
            "instance": self._instance(run.instance),
            "method": run.method.target,
            "starts": run.method.starts,
            "options": run.options.only(run.method.honours),
            "versions": versions(),
        }
        if run.method.own:
            content["source"] = self._source(run.method.target)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _instance(self, instance: Instance) -> str:
        if id(instance) not in self._instances:
            text = instance.model_dump_json(exclude_defaults=True)
            # with the instance, whose id would otherwise be given to another
            self._instances[id(instance)] = instance, hashlib.sha256(text.encode()).hexdigest()
        return self._instances[id(instance)][1]

    def _source(self, target: str) -> str:
        if target not in self._sources:
            self._sources[target] = source_digest(target)
        return self._sources[target]


def key(run: Run) -> str:
    """Digest of all that the result of `run` depends on."""
    return Keys().of(run)
