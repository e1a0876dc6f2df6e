"""Tables of tasks and of instance types, as one has them in pandas, as the content of an instance of `eva-packing`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from instances.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

OF_TYPES = ("name", "family", "usd_per_hour", "max_instances")
OF_TASKS = ("workload", "job", "count", "tasks_in_job", "max_per_instance", "allowed_types")
OF_RUNNING = ("type", "count", "usd_per_hour")
FAMILY = "@"  # between a resource and the family of instance types where the amount is the demand


def packing_content(
    tasks: pd.DataFrame, types: pd.DataFrame, throughput: pd.DataFrame | None, default: float, objective: str
) -> dict[str, Any]:
    """Return the `data` of an instance file. Raises InputError for tables that do not fit together."""
    types, tasks = _name_rows(types, "types", "name"), _name_rows(tasks, "tasks", "workload")
    _refuse_missing(types, "types", ("usd_per_hour",))
    resources = [str(column) for column in types if column not in OF_TYPES]
    if not resources:
        raise InputError("types: needs a column of amounts for each resource, beside name, family and usd_per_hour")
    _refuse_missing(tasks, "tasks", resources)
    for column in map(str, tasks):
        if column not in (*OF_TASKS, *resources) and column.partition(FAMILY)[0] not in resources:
            raise InputError(f"tasks: {column}: unknown column, must be one of {', '.join((*OF_TASKS, *resources))}")
    content: dict[str, Any] = {
        "resources": resources,
        "instance_types": [_type(row, place, resources) for place, row in enumerate(_rows(types))],
        "tasks": _tasks(tasks, resources),
        "objective": objective,
    }
    if throughput is not None or default != 1.0:
        content["throughput"] = {"default": default, "pairwise": _pairs(throughput)}
    return content


def running_content(running: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the running instances of a table. Raises InputError for a wrong column or value."""
    table = _name_rows(running, "running", "type")
    for column in map(str, table):
        if column not in OF_RUNNING:
            raise InputError(f"running: {column}: unknown column, must be one of {', '.join(OF_RUNNING)}")
    found = []
    for place, row in enumerate(_rows(table)):
        where = f"running: row {place}"
        entry = {"type": str(row["type"]), "count": _whole(row.get("count", 1), where, "count")}
        if not _absent(row.get("usd_per_hour")):
            entry["usd_per_hour"] = _number(row["usd_per_hour"], where, "usd_per_hour")
        found.append(entry)
    return found


def _type(row: dict[str, Any], place: int, resources: list[str]) -> dict[str, Any]:
    where = f"types: row {place}"
    name = str(row["name"])
    found: dict[str, Any] = {
        "name": name,
        "family": str(row.get("family", name)),
        "capacity": {resource: _number(row[resource], where, resource) for resource in resources},
        "usd_per_hour": _number(row["usd_per_hour"], where, "usd_per_hour"),
    }
    if not _absent(row.get("max_instances")):
        found["max_instances"] = _whole(row["max_instances"], where, "max_instances")
    return found


def _tasks(table: pd.DataFrame, resources: list[str]) -> list[dict[str, Any]]:
    """Return one entry per workload and job; rows of the same name are added up."""
    found: dict[tuple[str, str | None], dict[str, Any]] = {}
    for place, row in enumerate(_rows(table)):
        where = f"tasks: row {place}"
        demand: dict[str, dict[str, float]] = {"default": {r: _number(row[r], where, r) for r in resources}}
        for column in (c for c in row if FAMILY in c and not _absent(row[c])):
            resource, _, family = column.partition(FAMILY)
            amounts = demand.setdefault(family, dict(demand["default"]))
            amounts[resource] = _number(row[column], where, column)
        job = None if _absent(row.get("job")) else str(row["job"])
        entry: dict[str, Any] = {"workload": str(row["workload"]), "demand": demand}
        entry["count"] = _whole(row.get("count", 1), where, "count")
        if job is not None:
            entry["job"] = job
        if not _absent(row.get("tasks_in_job")):
            entry["tasks_in_job"] = _whole(row["tasks_in_job"], where, "tasks_in_job")
        if not _absent(row.get("max_per_instance")):
            entry["max_per_instance"] = _whole(row["max_per_instance"], where, "max_per_instance")
        allowed = row.get("allowed_types")
        if isinstance(allowed, list | tuple):
            entry["allowed_types"] = list(map(str, allowed))
        elif not _absent(allowed):
            entry["allowed_types"] = [name.strip() for name in str(allowed).split(",")]
        key = entry["workload"], job
        if key not in found:
            found[key] = entry
        elif any(found[key].get(name) != entry.get(name) for name in ("max_per_instance", "allowed_types")):
            raise InputError(f"{where}: workload: must have the same constraints in all rows, got others of {key[0]!r}")
        elif found[key]["demand"] != demand:
            raise InputError(f"{where}: workload: must have one demand in all rows, got another of {key[0]!r}")
        else:
            found[key]["count"] += entry["count"]
    return list(found.values())


def _pairs(throughput: pd.DataFrame | None) -> list[tuple[str, str, float]]:
    if throughput is None:
        return []
    return [
        (str(workload), str(beside), _number(value, f"throughput: row {workload}", str(beside)))
        for workload, row in throughput.iterrows()
        for beside, value in row.items()
        if not _absent(value)
    ]


def _name_rows(table: pd.DataFrame, what: str, name: str) -> pd.DataFrame:
    """Return the table with its names in a column. Raises InputError if it is no table or has no names."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise InputError(f"{what}: must be a DataFrame, got {type(table).__name__}")
    if name in table.columns:
        return table
    if isinstance(table.index, pd.RangeIndex):
        raise InputError(f"{what}: needs a column {name}, or the names as its index")
    return table.rename_axis(index=name).reset_index()


def _refuse_missing(table: pd.DataFrame, what: str, columns: Iterable[str]) -> None:
    for column in columns:
        if column not in table.columns:
            raise InputError(f"{what}: missing column {column}")


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _absent(value: Any) -> bool:
    import pandas as pd

    return value is None or bool(pd.isna(value))


def _number(value: Any, where: str, column: str) -> float:
    """Return the number in a cell. Raises InputError for text, truth values and missing values."""
    try:
        if isinstance(value, str | bool) or _absent(value):
            raise ValueError
        return float(value)
    except (TypeError, ValueError):
        raise InputError(f"{where}: {column}: must be a number, got {value!r}") from None


def _whole(value: Any, where: str, column: str) -> int:
    number = _number(value, where, column)
    if not number.is_integer():
        raise InputError(f"{where}: {column}: must be a whole number, got {value!r}")
    return int(number)
