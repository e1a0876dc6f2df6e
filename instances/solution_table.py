"""Convert a solution of any problem to a table with one row per decision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


Row = dict[str, Any]


def solution_table(solution: Mapping[str, Any] | None) -> pd.DataFrame:
    """Return the rows of a solution as a frame, which is empty without a solution."""
    import pandas as pd  # slow to import, and few commands need it

    rows = solution_rows(solution)
    return pd.DataFrame(rows, columns=None if rows else ["path", "value"])


def solution_rows(solution: Mapping[str, Any] | None) -> list[Row]:
    """Return the rows of a solution, none without a solution. An unknown form gives one row per value."""
    for form, rows in WHOLE.items():
        if solution and form in solution:
            return list(rows(solution))
    for form, rows in FORMS.items():
        if solution and form in solution:
            return list(rows(solution[form]))
    return list(_values(solution or {}, ""))


def _instances(instances: list[dict[str, Any]]) -> Iterator[Row]:
    """Yield one row per kind of task on each rented instance; a group of `count` identical ones is one instance."""
    for i, rented in enumerate(instances):
        said = {name: value for name, value in rented.items() if name not in ("type", "count", "tasks")}
        for task, tasks in rented.get("tasks", {}).items() or [(None, 0)]:
            yield {"instance": i, **said, "type": rented["type"], "count": rented.get("count", 1)} | {
                "task": task,
                "tasks": tasks,
            }


def _round(solution: Mapping[str, Any]) -> Iterator[Row]:
    """Yield existing instances or nodes by name, then new instances by index, as in a packing."""
    for name, tasks in (solution.get("existing") or solution.get("nodes") or {}).items():
        for task, number in tasks.items() or [(None, 0)]:
            yield {"instance": name, "type": "existing", "count": 1, "task": task, "tasks": number}
    yield from _instances(solution.get("instances", []))


def _list_placed(solution: Mapping[str, Any]) -> Iterator[Row]:
    for part in ("base", "flexible"):
        for job, hosts in solution.get(part, {}).items():
            for server, workers in hosts.items():
                yield {"job": job, "part": part, "server": server, "workers": workers}


def _schedule(solution: Mapping[str, Any]) -> Iterator[Row]:
    """Yield the start of each job, and its server if it has one."""
    servers = solution.get("servers", {})
    for job, start in solution["starts"].items():
        yield {"job": job, "start": start} | ({"server": servers[job]} if job in servers else {})


def _widths(widths: dict[str, list[float]]) -> Iterator[Row]:
    for name, epochs in widths.items():
        for epoch, width in enumerate(epochs):
            yield {"class": name, "epoch": epoch, "width": width}


def _paths(paths: dict[str, list[dict[str, Any]]]) -> Iterator[Row]:
    for name, mixed in paths.items():
        for i, path in enumerate(mixed):
            for epoch, width in enumerate(path["widths"]):
                yield {"class": name, "path": i, "probability": path["probability"], "epoch": epoch, "width": width}


def _assignment(assignment: dict[str, list[list[dict[str, Any]]]]) -> Iterator[Row]:
    for name, epochs in assignment.items():
        for epoch, mixed in enumerate(epochs):
            for part in mixed:
                yield {"class": name, "epoch": epoch, **part}


def _workers(workers: dict[str, int]) -> Iterator[Row]:
    for job, number in workers.items():
        yield {"job": job, "workers": number}


def _intervals(intervals: list[dict[str, Any]]) -> Iterator[Row]:
    start = 0.0
    for i, interval in enumerate(intervals):
        for job, number in interval["workers"].items():
            yield {"interval": i, "start": start, "length": interval["length"], "job": job, "workers": number}
        start += interval["length"]


def _servers(servers: list[str]) -> Iterator[Row]:
    for server in servers:
        yield {"server": server}


def _values(value: Any, path: str) -> Iterator[Row]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _values(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            yield from _values(inner, f"{path}[{i}]")
    else:
        yield {"path": path, "value": value}


WHOLE: dict[str, Callable[[Any], Iterator[Row]]] = {
    "existing": _round,
    "nodes": _round,
    "base": _list_placed,
    "flexible": _list_placed,
    "starts": _schedule,
}
"""Forms that need more than one field."""
FORMS: dict[str, Callable[[Any], Iterator[Row]]] = {
    "instances": _instances,
    "widths": _widths,
    "paths": _paths,
    "assignment": _assignment,
    "workers": _workers,
    "intervals": _intervals,
    "servers": _servers,
}
