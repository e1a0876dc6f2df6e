"""Finished runs in an embedded SQLite file: an interrupted study loses none and repeats none."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from experiments.harness.host import CAN_LOCK, try_lock
from experiments.harness.task import Digests, HarnessTask, R
from instances import InputError, OutputError
from instances.files import HALF_WRITTEN
from instances.reading import refuse_irregular
from instances.text import escape_text

SCHEMA = (
    "CREATE TABLE IF NOT EXISTS runs (key TEXT, options TEXT, what TEXT, how TEXT, outcome TEXT NOT NULL, "
    "PRIMARY KEY (key, options))"
)
HALF_WRITTEN_NAME = re.compile(re.escape(HALF_WRITTEN) + "[a-z0-9_]{8}")  # as `tempfile` makes them
COLUMNS = "key, options, what, how, outcome"


class Store:
    """Store outcomes by their inputs: instance and method, or workload and policy, the options and the versions.

    A store belongs to one process at a time.
    """

    def __init__(self, path: Path, *, resume: bool, code: str | None = None) -> None:
        """Open the store at `path`. Unless `resume`, an older one is set aside as `<name>.previous`.

        `code`: a digest of the code, if outcomes of other code must not be reused.

        Raises InputError if the file cannot be used.
        """
        self.path, self._code = path, code
        self.fault: str | None = None  # why results are no longer kept
        self._digests = Digests()
        self._held: set[str] = set()
        self._lock = _lock_folder(path.parent)
        try:
            if path.exists() and not resume:
                os.replace(path, path.with_name(path.name + ".previous"))
            self._database = sqlite3.connect(path, isolation_level=None)
            self._database.execute(SCHEMA)
            self._database.execute(f"SELECT {COLUMNS} FROM runs LIMIT 1").fetchone()
        except (OSError, sqlite3.Error) as error:
            self._release()
            raise self._useless(error) from error

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)

    def get(self, task: HarnessTask[R]) -> R | None:
        """Return the stored outcome of `task` if it is finished, has the requested options, and passes its check again.

        A task that ended in an error is not finished and is tried again. Raises InputError for a damaged store.
        """
        key = self.key(task)
        try:
            rows = self._database.execute("SELECT outcome FROM runs WHERE key = ?", (key,)).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._useless(error) from error
        for (text,) in rows:
            with suppress(Exception):  # the task is repeated if a row is damaged
                outcome = task.parse_outcome(text)
                if outcome is not None:
                    self._held.add(key)
                    return outcome
        return None

    def put(self, task: HarnessTask[R], outcome: R) -> None:
        """Store the outcome of `task` at once and durably. Raises OutputError if it cannot be stored."""
        if not task.is_final(outcome):
            return
        try:
            key, options = self.key(task), json.dumps(outcome.options, sort_keys=True)
            row = key, options, *task.label(), outcome.model_dump_json()
            self._database.execute(f"INSERT OR REPLACE INTO runs ({COLUMNS}) VALUES (?, ?, ?, ?, ?)", row)
            self._held.add(key)
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise OutputError(f"{self.path}: cannot be written: {error}") from error

    def key(self, task: HarnessTask[Any]) -> str:
        """Compute the digest of all inputs of the outcome of `task`, except the options."""
        content = task.content(self._digests) | ({} if self._code is None else {"code": self._code})
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def keep(self, task: HarnessTask[R], outcome: R) -> None:
        """Store an outcome like `put`, but report the first failure on standard error and store nothing after it."""
        if self.fault is not None:
            return
        try:
            self.put(task, outcome)
        except OutputError as error:
            self.fault = str(error)
            print(f"{escape_text(self.fault)}; from here on results are not kept", file=sys.stderr)

    def count_held(self, tasks: Sequence[HarnessTask[Any]]) -> int:
        """Return how many of `tasks` were found in the store or put there."""
        return sum(self.key(task) in self._held for task in tasks)

    def _useless(self, error: Exception) -> InputError:
        return InputError(f"{self.path}: cannot be used as a store of results: {error}")


def read_outcomes(path: Path) -> list[str]:
    """Read the outcomes in the store at `path`, as JSON. Raises InputError if the file is not a store."""
    refuse_irregular(path)
    try:
        # open for writing, because a killed command may have left a transaction to roll back
        database = sqlite3.connect(f"file:{quote(str(path))}?mode=rw", uri=True)
        try:
            return [text for (text,) in database.execute("SELECT outcome FROM runs ORDER BY what, how, options")]
        finally:
            database.close()
    except sqlite3.Error as error:
        raise InputError(f"{path}: cannot be used as a store of results: {error}") from error


def _lock_folder(folder: Path) -> int | None:
    """Return a handle of `folder` that holds a lock until it is closed or the process ends. Raises InputError."""
    if not CAN_LOCK:
        return None
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise InputError(f"{folder}: {error.strerror}") from error
    if try_lock(handle) is False:
        os.close(handle)
        raise InputError(f"{folder}: another command is writing its results there")
    for entry in os.scandir(folder):
        if HALF_WRITTEN_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):  # left by a killed command
            Path(entry.path).unlink(missing_ok=True)
    return handle
