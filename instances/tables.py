"""CSV tables from a path the user gives: read, or refused in one line that names file, line, column and value."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from instances.errors import InputError


def read_rows(path: str | Path, columns: Iterable[str], text: Iterable[str] = ()) -> pd.DataFrame:
    """The table at `path`, which must have `columns`; those of `text` are read as text.

    Raises InputError for a file that cannot be read, that is no CSV table or that lacks a column.
    """
    try:
        rows = pd.read_csv(path, dtype=dict.fromkeys(text, str))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # also what pandas' parser and the decoding raise
        raise InputError(f"{path}: not a CSV table: {' '.join(str(error).split())}") from error
    for column in columns:
        if column not in rows:
            raise InputError(f"{path}: missing column {column}")
    return rows


def read_numbers(
    path: str | Path, numbers: Iterable[str], text: Iterable[str] = (), least: float | None = None
) -> pd.DataFrame:
    """The table at `path` with finite numbers, at least `least`, in the columns `numbers`, and the columns `text`.

    Raises InputError as `read_rows` does, and for a value that is no such number.
    """
    numbers, text = tuple(numbers), tuple(text)
    rows = read_rows(path, (*numbers, *text), text)
    for column in numbers:
        values = pd.to_numeric(rows[column], errors="coerce").to_numpy(dtype=float)
        bad = np.flatnonzero(~(np.isfinite(values) & (values >= (-np.inf if least is None else least))))
        if len(bad):
            wanted = "a number" if least is None else f"a number >= {least:g}"
            value = rows[column].iloc[bad[0]]
            raise InputError(f"{path}: line {bad[0] + 2}: {column}: must be {wanted}, got {value}")
        rows[column] = pd.to_numeric(rows[column])
    return rows
