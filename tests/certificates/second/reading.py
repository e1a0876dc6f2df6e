"""Read instance and certificate files independently: written-out defaults, digest and valid numbers."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

Object = dict[str, Any]


class Refused(Exception):
    """What is wrong with a certificate."""


class GaveUp(Refused):
    """A search that takes too long; of a certificate it says nothing."""


def see(holds: object, why: str) -> None:
    if not holds:
        raise Refused(why)


def amount(value: float) -> float:
    return round(float(value), 9) + 0.0


def same(value: Any) -> Any:
    return value


def pair(value: Any) -> list[Any]:
    workload, beside, share = value
    return [workload, beside, float(share)]


ANY = ""  # any other name
SPREAD = ([{"tasks": same, "max_per_instance": (same, 1)}], [])
CURVE: Object = {"amdahl": (float, None), "power": (float, None)}
CURVE |= {"table": ({"gpus": same, "speedup": [float]}, None), ANY: CURVE}
POOLS = [{"name": same, "gpus": same}]
JOB = {"id": same, "pool": same, "submit": same, "duration": same, "gpus": same}
FORMATS: dict[str, Object] = {
    "eva-packing": {
        "resources": same,
        "instance_types": [
            {
                "name": same,
                "family": same,
                "capacity": {ANY: amount},
                "usd_per_hour": amount,
                "max_instances": (same, None),
            }
        ],
        "tasks": [
            {
                "workload": same,
                "count": same,
                "demand": {ANY: {ANY: amount}},
                "job": (same, None),
                "tasks_in_job": (same, None),
                "allowed_types": (same, None),
                "max_per_instance": (same, None),
            }
        ],
        "objective": same,
        "throughput": ({"default": (float, 1.0), "pairwise": ([pair], [])}, None),
        "running": ([{"type": same, "count": same, "usd_per_hour": (amount, None)}], []),
        "spread": SPREAD,
    },
    "node-placement": {
        "resources": same,
        "nodes": [{"name": same, "capacity": {ANY: amount}, "pods": (same, {})}],
        "pods": [
            {
                "name": same,
                "count": same,
                "demand": {ANY: amount},
                "allowed_nodes": (same, None),
                "max_per_node": (same, None),
            }
        ],
        "spread": SPREAD,
        "movable": (same, True),
    },
    "boa-allocation": {
        "budget": amount,
        "gpu_types": ([{"name": same, "price": (amount, 1.0)}], [{"name": "gpu", "price": 1.0}]),
        "classes": [
            {
                "name": same,
                "arrivals_per_hour": amount,
                "weight": (amount, 1.0),
                "rescale_hours": amount,
                "epochs": [{"size_hours": amount, "speedup": CURVE}],
            }
        ],
        "widths": same,
        "speedup_reading": (same, "measured"),
        "max_width": (same, None),
    },
    "sia-oracle": {
        "slot_minutes": amount,
        "pools": POOLS,
        "jobs": [JOB | {"latest_start": (same, None)}],
        "fairness_weight": (amount, 0.0),
        "fair_share": (same, "all-use"),
    },
    "sia-local-oracle": {"slot_minutes": amount, "pools": POOLS, "jobs": [JOB]},
}
"""The fields of `data`, and of those that may be left out the default; without a value it is null."""


def whole_data(form: Any, value: Any) -> Any:
    """Return a value of this form with all defaults written out."""
    if isinstance(form, list):
        return [whole_data(form[0], one) for one in value]
    if not isinstance(form, dict):
        return form(value)
    found = {}
    for name, part in form.items():
        inner, *default = part if isinstance(part, tuple) else (part,)
        if name == ANY:
            continue
        given = value[name] if not default else value.get(name, default[0])
        found[name] = given if given is None else whole_data(inner, given)
    others = [name for name in value if name not in form]
    return found | {name: whole_data(form[ANY], value[name]) for name in others}


def without_defaults(form: Any, value: Any) -> Any:
    """Remove each field that has its default from a value of this form in which all defaults are written out."""
    if isinstance(form, list):
        return [without_defaults(form[0], one) for one in value]
    if not isinstance(form, dict):
        return value
    found = {}
    for name, one in value.items():
        part = form[name] if name in form else form[ANY]
        inner, *default = part if isinstance(part, tuple) else (part,)
        if not default or one != (default[0] and whole_data(inner, default[0])):
            found[name] = one if one is None else without_defaults(inner, one)
    return found


def digest(problem: str, data: Object) -> str:
    """Compute the digest of data in which all defaults are written out."""
    content = {"problem": problem, "data": without_defaults(FORMATS[problem], data)}
    return "2:" + hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def certificate(text: str, problem: str, data: Object) -> Object:
    """Return the contents of a certificate without its header."""
    try:
        content = json.loads(text, object_pairs_hook=_once, parse_constant=_none, parse_float=_none)
    except (ValueError, RecursionError) as error:
        raise Refused("not JSON, or with other numbers than whole ones") from error
    see(isinstance(content, dict), "no object")
    see(is_whole(content.pop("gapwise_certificate", None), 1, 2), "of another version")
    see(content.pop("problem", None) == problem, "of another problem")
    see(content.pop("instance", None) == digest(problem, data), "of another instance")
    return dict(content)


def _once(pairs: Sequence[tuple[str, Any]]) -> Object:
    see(len({name for name, _ in pairs}) == len(pairs), "a field twice")
    return dict(pairs)


def _none(text: str) -> Any:
    raise ValueError(text)


Field = Callable[[Any], Any]


def fields(content: Any, required: dict[str, Field], optional: dict[str, Field] | None = None) -> Object:
    """Return an object with only these fields; an optional field is `None` if it is missing or null."""
    see(isinstance(content, dict), "no object")
    optional = optional or {}
    see(required.keys() <= content.keys() <= required.keys() | optional.keys(), f"the fields {sorted(content)[:9]}")
    found = {name: read(content[name]) for name, read in required.items()}
    left = {name: content.get(name) for name in optional}
    return found | {name: None if value is None else optional[name](value) for name, value in left.items()}


def record(required: dict[str, Field], optional: dict[str, Field] | None = None) -> Field:
    """Return a reader of objects with these fields."""
    return lambda content: fields(content, required, optional)


def is_whole(value: Any, low: int = 0, end: int = 1 << 62) -> bool:
    return type(value) is int and low <= value < end


def whole(low: int = 0, end: int = 1 << 62) -> Field:
    """Return a reader of integers from `low` on and below `end`."""

    def read(value: Any) -> int:
        see(is_whole(value, low, end), f"{str(value)[:40]} is no whole number from {low} on and below {end}")
        return int(value)

    return read


def listed(read: Field, length: int | None = None) -> Field:
    """Return a reader of lists, of a certain length if given."""

    def read_all(value: Any) -> list[Any]:
        see(isinstance(value, list) and length in (None, len(value)), "no list, or of another length")
        return [read(one) for one in value]

    return read_all


def word(*words: Any) -> Field:
    """One of these."""

    def read(value: Any) -> Any:
        see(
            any(type(value) is type(one) and value == one for one in words),
            f"{str(value)[:40]} where {words} should be",
        )
        return value

    return read


def rational(value: Any) -> Fraction:
    """Read a text p/q, or p, that is not negative."""
    found = re.fullmatch(r"([0-9]{1,2000})(?:/([0-9]{1,2000}))?", value) if isinstance(value, str) else None
    see(found and int(found[2] or 1), f"{str(value)[:40]} is no rational number")
    return Fraction(value)


def leaves(nodes: Sequence[Object], start: Any, sides: Callable[[Object, Any], Sequence[Any]]) -> Iterator[Any]:
    """Yield the leaves of a tree with their decisions; `sides(node, decided)` are the starts of its children."""
    waiting, reached = [(0, start)], set[int]()
    while waiting:
        place, decided = waiting.pop()
        see(place < len(nodes) and place not in reached, f"node {place} is none, or is reached twice")
        reached.add(place)
        node = nodes[place]
        see((node["branch"] is None) == (node["children"] is None), f"node {place}: a branch without children")
        if node["branch"] is None:
            yield node, decided
        else:
            waiting += zip(node["children"], sides(node, decided), strict=True)
    see(len(reached) == len(nodes), "nodes that are not reached")


CHILDREN = listed(whole(), 2)


def exact(number: float) -> Fraction:
    """Return a number of the data exactly as it is written."""
    return Fraction(repr(number))


def steps(number: float) -> int:
    """Return an amount in steps of the grid."""
    return int(exact(number) * 10**9)
