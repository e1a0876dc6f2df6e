"""Read a price table of instance types, optionally by zone and capacity type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

from instances.errors import InputError
from instances.fields import LARGEST, STEPS
from instances.kubernetes.dump import ON_DEMAND, DumpedNode
from instances.kubernetes.pods import Amounts
from instances.tables import one_line, read_rows

NUMBERS = ("usd_per_hour", "cpu", "ram_gb", "pods", "gpu")
NAMES = ("name", "family")
OPTIONAL = ("zone", "capacity_type", "arch", "pool")
GIB = 2**30
STEP = Fraction(1, STEPS)  # the minimum price


@dataclass(frozen=True)
class PricedOffer:
    """A row: an instance type in one zone or in all zones.

    - `room`: the capacity of a node for pods, as the row states it; `gpu` counts GPUs of any vendor.
    - `arch`: the value of the label `kubernetes.io/arch`.
    - `pool`: the only pool that may use the row; that pool need not have a node of the type.
    """

    type: str
    family: str
    usd_per_hour: float
    room: Amounts
    zone: str | None = None
    capacity_type: str = ON_DEMAND
    arch: str | None = None
    pool: str | None = None


@dataclass(frozen=True)
class Prices:
    """The rows of a table of types."""

    offers: Sequence[PricedOffer]
    _of_type: Mapping[str, list[PricedOffer]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found: dict[str, list[PricedOffer]] = {}
        for offer in self.offers:
            found.setdefault(offer.type, []).append(offer)
        object.__setattr__(self, "_of_type", found)

    def of(self, node: DumpedNode) -> PricedOffer | None:
        """Return the row of a node that runs, or `None` if no row is of its kind."""
        return self.closest(node.type or "", node.capacity_type, node.zone, node.pool)

    def closest(self, type: str, capacity_type: str, zone: str | None, pool: str | None) -> PricedOffer | None:
        """Return the row for a type: one of the pool before one of all pools, then one of the zone before others."""
        rows = [
            offer
            for offer in self._of_type.get(type, ())
            if offer.capacity_type == capacity_type and offer.zone in (None, zone) and offer.pool in (None, pool)
        ]
        return max(rows, key=lambda offer: (offer.pool is not None, offer.zone is not None), default=None)


def read_prices(path: str | Path) -> Prices:
    """Read the table at `path` with one row per type, or per type, zone and capacity type.

    The columns are `name`, `family`, `usd_per_hour`, and the capacity of a node for pods: `cpu`, `ram_gb` in GiB,
    `pods` and `gpu`. Optional columns are `zone`, `capacity_type`, `arch` and `pool`. Any other resource has a column
    of its name, which contains a `/`. Raises InputError.
    """
    rows = read_rows(path, (*NAMES, *NUMBERS), (*NAMES, *OPTIONAL))
    others = [column for column in rows.columns if "/" in str(column) or str(column).startswith("hugepages-")]
    unknown = [column for column in rows.columns if column not in (*NAMES, *NUMBERS, *OPTIONAL, *others)]
    if unknown:
        raise InputError(f"{path}: unknown column {one_line(unknown[0])}")
    found: dict[tuple[Any, ...], PricedOffer] = {}
    for line, row in enumerate(rows.to_dict("records"), start=2):
        text = {name: _text(row.get(name)) for name in (*NAMES, *OPTIONAL)}
        for name in NAMES:
            if text[name] is None:
                raise InputError(f"{path}: line {line}: {name}: missing")
        amount = {name: _number(path, line, name, row[name]) for name in (*NUMBERS, *others)}
        room = {
            "cpu": floor(amount["cpu"] * 1000),
            "memory": floor(amount["ram_gb"] * GIB),
            **{name: floor(amount[name]) for name in ("pods", "gpu", *others)},
        }
        offer = PricedOffer(
            type=str(text["name"]),
            family=str(text["family"]),
            usd_per_hour=float(amount["usd_per_hour"]),
            room=room,
            zone=text["zone"],
            capacity_type=(text["capacity_type"] or ON_DEMAND).lower(),
            arch=text["arch"],
            pool=text["pool"],
        )
        key = (offer.type, offer.zone, offer.capacity_type, offer.pool)
        if key in found:
            raise InputError(f"{path}: line {line}: {offer.type} is there twice")
        found[key] = offer
    if not found:
        raise InputError(f"{path}: no row")
    return Prices(tuple(found.values()))


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _number(path: str | Path, line: int, name: str, value: Any) -> Fraction:
    least = STEP if name == "usd_per_hour" else Fraction(0)
    try:
        found = Fraction(repr(float(value)))
    except (ValueError, TypeError, OverflowError):
        found = Fraction(-1)
    if not least <= found <= LARGEST:
        raise InputError(f"{path}: line {line}: {name}: must be {float(least):g} to {LARGEST:g}, got {one_line(value)}")
    return found
