"""Compare an answer of `cluster` with an earlier one, which `--format json` has printed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from instances.errors import InputError
from instances.reading import parse_json, read_bytes

FIGURES = {
    "bill_usd_per_hour": "today's bill",
    "reachable_usd_per_hour": "this plan",
    "least_usd_per_hour": "best bill known",
    "bound_usd_per_hour": "lower bound",
}
"""The figures that are compared, as the table calls them."""


def read_answer(path: Path) -> Mapping[str, Any]:
    """Return an earlier answer. Raises InputError if the file contains none."""
    try:
        found = parse_json(read_bytes(path).decode())
    except (InputError, UnicodeDecodeError) as error:
        raise InputError(f"--since: {path}: {str(error).removeprefix(f'{path}: ')}") from None
    numbers = [found.get(key) for key in FIGURES] if isinstance(found, Mapping) else [""]
    is_answer = isinstance(found, Mapping) and set(FIGURES) <= set(found) and isinstance(found.get("pools"), list)
    if not is_answer or any(isinstance(n, bool) or not isinstance(n, int | float | None) for n in numbers):
        raise InputError(f"--since: {path}: must be an answer of gapwise cluster --format json")
    return dict(found)


def compare(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """Return the differences: figures that changed, pools whose nodes changed, and nodes that the plan drains newly."""
    figures = {key: [before[key], now[key]] for key in FIGURES if _differ(before[key], now[key])}
    counts = [{_name(row): _nodes(row) for row in one["pools"] if isinstance(row, Mapping)} for one in (before, now)]
    pools = {
        name: [counts[0].get(name, 0), counts[1].get(name, 0)]
        for name in dict.fromkeys([*counts[0], *counts[1]])
        if counts[0].get(name, 0) != counts[1].get(name, 0)
    }
    drains = [_drains(one) for one in (before, now)]
    return {
        "figures": figures,
        "pools": pools,
        "drains_new": [name for name in drains[1] if name not in drains[0]],
        "drains_gone": [name for name in drains[0] if name not in drains[1]],
    }


def difference_lines(path: Path, found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the comparison."""
    words = [
        f"{FIGURES[key]} {_usd(old)} to {_usd(new)} USD/h" + (f" ({(new - old) / old:+.1%})" if old and new else "")
        for key, (old, new) in found["figures"].items()
    ]
    yield f"since {path}: {'; '.join(words) or 'the same bills'}"
    if found["pools"]:
        changes = (f"{name} {old} to {new} nodes" for name, (old, new) in found["pools"].items())
        yield f"pools since then: {'; '.join(changes)}"
    new, gone = len(found["drains_new"]), len(found["drains_gone"])
    if new or gone:
        yield f"drained nodes since then: {new} more, {gone} no more"


def _differ(old: float | None, new: float | None) -> bool:
    return old != new and (old is None or new is None or abs(old - new) > 1e-9 * max(abs(old), abs(new)))


def _usd(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4f}"


def _name(row: Mapping[str, Any]) -> str:
    return str(row.get("pool") or "no pool")


def _nodes(row: Mapping[str, Any]) -> int:
    n = row.get("nodes")
    return n if isinstance(n, int) else 0


def _drains(answer: Mapping[str, Any]) -> list[str]:
    steps = answer.get("steps")
    named = [step.get("drain") for step in steps or () if isinstance(step, Mapping)]
    return [json.dumps(name).strip('"') for name in named if isinstance(name, str)]
