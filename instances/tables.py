"""Read CSV tables: those of the project, and those at a path that the user gives.

An invalid table of a user is rejected with one line that names the file, the line, the column and the value.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from instances.arrays import FloatArray
from instances.errors import InputError
from instances.reading import read_bytes

if TYPE_CHECKING:
    import pandas as pd

MOST = 1e15  # integers up to this are exact in floating point


@cache
def read_packaged(package: str, name: str) -> pd.DataFrame:
    """Return the table `data/<name>.csv` of a package of the project; its `data/README.md` describes the columns."""
    import pandas as pd  # slow to import, and few commands need it

    with (files(package) / "data" / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)


def read_rows(path: str | Path, columns: Iterable[str], text: Iterable[str] = ()) -> pd.DataFrame:
    """Read the table at `path`, which must have `columns`; those in `text` are read as text.

    Raises InputError for a file that cannot be read (see `read_bytes`) or is not a CSV table. Raises it also if a
    column is missing, or if a row has more cells than the header.
    """
    import pandas as pd

    raw = read_bytes(path)
    try:
        _refuse_cells_too_many(path, raw)
        rows = pd.read_csv(io.BytesIO(raw), dtype=dict.fromkeys(text, str), index_col=False)
    except InputError:
        raise
    except (ValueError, csv.Error) as error:  # also what pandas' parser and the decoding raise
        raise InputError(f"{path}: not a CSV table: {' '.join(str(error).split())}") from error
    for column in columns:
        if column not in rows:
            raise InputError(f"{path}: missing column {column}")
    return rows


def _refuse_cells_too_many(path: str | Path, raw: bytes) -> None:
    """Raise InputError if a row has more cells than the header: pandas would drop them, or shift the columns."""
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8", newline=""))
    columns = len(next(reader, []))
    for row in reader:
        if len(row) > columns:
            raise InputError(f"{path}: line {reader.line_num}: {len(row)} cells, but there are {columns} columns")


def read_numbers(
    path: str | Path, numbers: Iterable[str], text: Iterable[str] = (), least: float | None = None
) -> pd.DataFrame:
    """Read the table at `path` with finite numbers, at least `least`, in the columns `numbers`, and the columns `text`.

    Raises InputError as `read_rows` does, and if a value is not such a number.
    """
    numbers, text = tuple(numbers), tuple(text)
    rows = read_rows(path, (*numbers, *text), text)
    for column in numbers:
        values = as_numbers(rows[column])
        bad = np.flatnonzero(~((np.abs(values) <= MOST) & (values >= (-np.inf if least is None else least))))
        if len(bad):
            wanted = "a number" if least is None else f"a number >= {least:g}"
            value = format_in_one_line(rows[column].iloc[bad[0]])
            raise InputError(f"{path}: line {bad[0] + 2}: {column}: must be {wanted}, got {value}")
        rows[column] = values
    return rows


def as_numbers(column: pd.Series) -> FloatArray:
    """Convert the cells of a column to numbers, NaN for a cell that is not a number."""
    return np.array([_number(value) for value in column.tolist()], dtype=float)


def format_in_one_line(value: object) -> str:
    """Return a cell in one short line, for an error message."""
    return " ".join(str(value).split())[:60]


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (ValueError, TypeError, OverflowError):
        return math.nan
