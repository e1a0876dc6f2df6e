"""Finished runs in an embedded SQLite file: an interrupted study loses none and repeats none."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from pathlib import Path
from types import TracebackType

from experiments.runner import Run
from instances import InputError, Result, dump
from instances.result import versions

SCHEMA = "CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, instance TEXT, method TEXT, result TEXT NOT NULL)"


class Store:
    """Results by what they depend on: the instance's content, the method, its effective options and the versions."""

    def __init__(self, path: Path, *, resume: bool) -> None:
        """Open the store at `path`. Unless `resume`, an older one is set aside as `<name>.previous`.

        Raises InputError where the file cannot be used.
        """
        self.path = path
        try:
            if path.exists() and not resume:
                os.replace(path, path.with_name(path.name + ".previous"))
            self._database = sqlite3.connect(path, isolation_level=None)
            self._database.execute(SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"{path}: cannot be used as a store of results: {error}") from error

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def get(self, run: Run) -> Result | None:
        """The result of `run`, if it is finished. Runs that ended in an error are not: they are tried again."""
        row = self._database.execute("SELECT result FROM runs WHERE key = ?", (key(run),)).fetchone()
        return Result.model_validate_json(row[0]) if row else None

    def put(self, run: Run, result: Result) -> None:
        """Keep the result of `run`, at once and for good."""
        if result.status == "error":
            return
        row = key(run), result.instance, result.method, result.model_dump_json()
        self._database.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", row)


def key(run: Run) -> str:
    """Digest of all that the result of `run` depends on."""
    content = {
        "instance": dump(run.instance),
        "method": run.method.target,
        "options": run.options.only(run.method.honours),
        "versions": versions(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
