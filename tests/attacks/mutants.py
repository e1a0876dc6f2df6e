"""Mutate instance files and CSV traces by seed: most have one error, many are only extreme."""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

from instances import dump
from instances.aryl import loaning_days
from instances.boa import poisson_renting
from instances.eva import synthetic_cloud
from tests.attacks.small import CONVEX, NET_SAVING, READINGS, examples

Path = tuple[Any, ...]
DEEP = "@deep@"  # replaced in the text, for Python's own writer does not nest that far
NUMBERS = (0, 1, -1, 2, 3, 1e-9, 0.5e-9, 1.5e-9, 1e9, 1e9 + 1, 999_999_999.999999, 1e-300, 1e308, 5e-324, 2**31)
NUMBERS += (2**53 + 1, 2**63, 10**400, -(10**400), math.nan, math.inf, -math.inf, -0.0, 0.1, 1.0, 1e-6, 1e6)
NUMBERS += (100_000, 1_000_000)
OTHERS = (None, True, False, "", "x", "1", "NaN", [], {}, [1], [[]], {"": 0}, [None], "ghost", "default", 1.0, DEEP)
NAMES = ("ghost", "default", "all", "Ghost", " ", "\u00a0", "\u200b", "é", "é", "a@b", "$x^$", '"', "'", "\n", "\\")
NAMES += ("0", "1", "None", "nan", "x" * 200, "x" * 201, "end", "st", "free", "obj", "[red]", "<b>", "=1+1", "-")
NAMES += ("\ud800", "\x00", "🐙")
FACTORS = (10, 0.1, 1e3, 1e-3, 1e6, 1e-6, 1e9, 1e-9, -1, 2, 0.5, 1 + 1e-9, 1 - 1e-9, 1 + 1e-12, 1e12)


def bases() -> list[Any]:
    """Return the contents of small instance files of all problems and readings, without their known optima."""
    every = READINGS | CONVEX | NET_SAVING
    contents = [dump(instance) for reading in every for instance in examples(every, reading, 3)]
    return [{name: value for name, value in content.items() if name != "reference"} for content in contents]


def workload_bases() -> list[Any]:
    """Return the contents of small workload files of every world."""
    renting = dump(poisson_renting(0.1, 1))
    for job_class in renting["data"]["classes"]:
        del job_class["epochs"][2:]
    return [dump(synthetic_cloud(4, 0)), renting, dump(loaning_days(0.05, 0, training_servers=40))]


def mutant(sources: list[Any], seed: int, index: int) -> str:
    """Return the text of the mutated file number `index`."""
    rng = random.Random(f"file {seed} {index}")
    content = copy.deepcopy(rng.choice(sources))
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        kind = rng.choices(list(MUTATIONS), weights=list(MUTATIONS.values()))[0]
        content = kind(rng, content)
    depth = rng.choice((50, 900, 20_000))
    text = json.dumps(content, ensure_ascii=rng.random() < 0.5).replace(f'"{DEEP}"', "[" * depth + "]" * depth)
    return _torn(rng, text) if rng.random() < 0.05 else text


def _places(content: Any, at: Path = ()) -> Iterator[Path]:
    yield at
    if isinstance(content, dict):
        for name, value in content.items():
            yield from _places(value, (*at, name))
    elif isinstance(content, list):
        for i, value in enumerate(content):
            yield from _places(value, (*at, i))


def _get(content: Any, at: Path) -> Any:
    for step in at:
        content = content[step]
    return content


def _set(content: Any, at: Path, value: Any) -> Any:
    if not at:
        return value
    _get(content, at[:-1])[at[-1]] = value
    return content


def _pick(rng: random.Random, content: Any, *kinds: type) -> Path | None:
    """Pick a place of the data, if any, that holds one of `kinds` (bool is not a number here)."""
    found = [
        at
        for at in _places(content)
        if at and (not kinds or (isinstance(_get(content, at), kinds) and not isinstance(_get(content, at), bool)))
    ]
    inside = [at for at in found if at[0] == "data"]
    found = inside if inside and rng.random() < 0.9 else found
    return rng.choice(found) if found else None


def _number(rng: random.Random, content: Any) -> Any:
    at = _pick(rng, content, int, float)
    return content if at is None else _set(content, at, rng.choice(NUMBERS))


def _scaled(rng: random.Random, content: Any) -> Any:
    """One number, or all under one name, times a factor: the extremes of what is valid."""
    at = _pick(rng, content, int, float)
    if at is None:
        return content
    factor, alone = rng.choice(FACTORS), rng.random() < 0.5
    for place in list(_places(content)):
        value = _get(content, place)
        if place == at or (not alone and place and place[-1] == at[-1] and isinstance(value, int | float)):
            whole = isinstance(value, int) and abs(value) < 2**53 and factor >= 1
            try:
                scaled = round(value * factor) if whole else value * factor
            except OverflowError:
                scaled = value
            content = _set(content, place, scaled)
    return content


def _level(rng: random.Random, content: Any) -> Any:
    """All numbers under one name equal."""
    at = _pick(rng, content, int, float)
    if at is None:
        return content
    value = _get(content, at)
    for place in list(_places(content)):
        if place and place[-1] == at[-1] and type(_get(content, place)) is type(value):
            content = _set(content, place, value)
    return content


def _other(rng: random.Random, content: Any) -> Any:
    at = _pick(rng, content)
    return content if at is None else _set(content, at, copy.deepcopy(rng.choice(OTHERS)))


def _without(rng: random.Random, content: Any) -> Any:
    at = _pick(rng, content)
    if at is not None:
        del _get(content, at[:-1])[at[-1]]
    return content


def _field_renamed(rng: random.Random, content: Any) -> Any:
    at = _pick(rng, content, dict)
    if at is None or not _get(content, at):
        return content
    record = _get(content, at)
    old = rng.choice(list(record))
    new = rng.choice([*NAMES, *record, old.upper() if isinstance(old, str) else "x", f" {old}"])
    return _set(content, at, {(new if name == old else name): value for name, value in record.items()})


def _name_everywhere(rng: random.Random, content: Any) -> Any:
    """Replace a name by an awkward one, or by another name of the file, everywhere, keys included."""
    at = _pick(rng, content, str)
    if at is None:
        return content
    old = _get(content, at)
    texts = [_get(content, place) for place in _places(content) if isinstance(_get(content, place), str)]
    return _replaced(content, old, rng.choice([*NAMES, *NAMES, *texts]))


def _replaced(content: Any, old: str, new: str) -> Any:
    if isinstance(content, dict):
        return {(new if name == old else name): _replaced(value, old, new) for name, value in content.items()}
    if isinstance(content, list):
        return [_replaced(value, old, new) for value in content]
    return new if isinstance(content, str) and content == old else content


def _repeated(rng: random.Random, content: Any) -> Any:
    """Repeat an entry of a list once or very often, under the same name or new names."""
    at = _pick(rng, content, list)
    if at is None or not _get(content, at):
        return content
    entries = _get(content, at)
    chosen, times, own = rng.choice(entries), rng.choice((1, 1, 2, 5, 40, 2000)), rng.random() < 0.6
    for i in range(times):
        entry = copy.deepcopy(chosen)
        if own and isinstance(entry, dict):
            entry |= {n: f"{v}+{i}" for n, v in entry.items() if n in ("name", "id", "workload") and isinstance(v, str)}
        elif own and isinstance(entry, str):
            entry = f"{entry}+{i}"
        entries.append(entry)
    return content


def _swapped(rng: random.Random, content: Any) -> Any:
    one = _pick(rng, content)
    if one is None:
        return content
    same = [at for at in _places(content) if at and type(_get(content, at)) is type(_get(content, one))]
    other = rng.choice(same)
    if one[: len(other)] == other or other[: len(one)] == one:
        return content
    a, b = _get(content, one), _get(content, other)
    return _set(_set(content, one, b), other, a)


def _torn(rng: random.Random, text: str) -> str:
    where = rng.randrange(len(text))
    piece = rng.choice(("", ",", "}", '"', "\ufeff", "//", "\x00", '{"name": 1, "name": 2}', "NaN", "1e999"))
    return rng.choice((text[:where], text[:where] + piece + text[where:], piece + text, text + piece))


MUTATIONS: dict[Callable[[random.Random, Any], Any], int] = {
    _scaled: 6,
    _number: 4,
    _name_everywhere: 4,
    _repeated: 3,
    _level: 2,
    _swapped: 2,
    _other: 2,
    _without: 2,
    _field_renamed: 1,
}

CELLS = (
    "",
    "0",
    "-1",
    "1e-9",
    "1e9",
    "1e18",
    "1e19",
    "1e308",
    "1e309",
    "-1e308",
    "nan",
    "NaN",
    "inf",
    "-inf",
    "1.5",
    "x",
)
CELLS += (
    "9" * 400,
    "0x10",
    "1_000",
    "1,5",
    '"1',
    "True",
    " 1",
    "é",
    "\x00",
    "🐙",
    "x" * 300,
    "2 ",
    "1e-320",
    "99999999999",
)


def csv_mutant(text: str, rng: random.Random) -> str:
    """`text` with one to three cells, rows, columns or characters changed."""
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(rng.choice((1, 1, 2, 3))):
        row = rng.randrange(len(rows))
        column = rng.randrange(len(rows[row])) if rows[row] else 0
        match rng.randrange(9):
            case 0 | 1 | 2 | 3:
                if rows[row]:
                    rows[row][column : column + 1] = [rng.choice(CELLS)]
            case 4:
                rows.insert(row, list(rows[rng.randrange(len(rows))]))
            case 5:
                del rows[row]
            case 6:
                rows = [cells[:column] + cells[column + 1 :] for cells in rows]
            case 7:
                cell = rng.choice(CELLS)
                rows = [rows[0], *([*cells[:column], cell, *cells[column + 1 :]] for cells in rows[1:])]
            case 8:
                rows[row] = rows[row] + [rng.choice(CELLS)]
        if not rows:
            return ""
    text = "\n".join(",".join(cells) for cells in rows) + "\n"
    return _torn(rng, text) if rng.random() < 0.1 else text
