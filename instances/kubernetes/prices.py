"""Read a price table of instance types, optionally by zone and capacity type."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor, isnan
from pathlib import Path
from typing import Any

from instances.errors import InputError
from instances.eva.node_room import POOL_PODS
from instances.fields import LARGEST, STEPS
from instances.kubernetes.dump import ON_DEMAND, DumpedNode
from instances.kubernetes.pods import Amounts
from instances.tables import format_in_one_line, read_rows
from instances.text import brief

NUMBERS = ("usd_per_hour", "cpu", "ram_gb")
MAY_MISS = ("pods", "gpu", "max_new", "ephemeral_storage_gb")  # numbers that a column or a cell may miss
OPTIONAL = ("family", "zone", "capacity_type", "arch", "pool")
UNITS = {"cpu": "CPUs, such as 3.92", "ram_gb": "GiB, such as 14.6", "ephemeral_storage_gb": "GiB, such as 80"}
GIB = 2**30
STEP = Fraction(1, STEPS)  # the minimum price
DEFAULTS: Amounts = {"pods": POOL_PODS}  # of a row that states no number, if neither its type nor its pool shows one
UNIT = re.compile(r"[+-]?[0-9.]+\s*[A-Za-z]+")  # a number with a unit
LONGEST = 200  # characters of the zones in an error message
LABEL = "="  # between the key and the value of a label, in the name of a row


@dataclass(frozen=True, eq=False)
class PricedOffer:
    """A row: an instance type in one zone or in all zones.

    - `type`: the type, the name of a machine, or `KEY=VALUE` for the machines with a label.
    - `room`: the capacity of a node for pods, as the row states it; `gpu` counts GPUs of any vendor.
    - `arch`: the value of the label `kubernetes.io/arch`.
    - `pool`: the only pool that may use the row; that pool need not have a node of the type.
    - `max_new`: the largest number of new nodes of the row; `None` if there is no limit.
    - `defaults`: amounts that `room` does not state, if neither nodes of the type nor those of the pool show them.
    - `size`: the size of the machine if `room` is an estimate, which nodes of the type replace; `None` otherwise.
    """

    type: str
    family: str
    usd_per_hour: float
    room: Amounts
    zone: str | None = None
    capacity_type: str = ON_DEMAND
    arch: str | None = None
    pool: str | None = None
    max_new: int | None = None
    defaults: Amounts = field(default_factory=lambda: DEFAULTS)
    size: Amounts | None = None

    def describes(self, node: DumpedNode) -> bool:
        """Return whether a node is of this type, has this name, or has this label."""
        key, is_label, value = self.type.partition(LABEL)
        return self.type in (node.type, node.name) or bool(is_label and node.labels.get(key) == value)

    def is_rented(self, names: Collection[str]) -> bool:
        """Return whether new nodes may be of this row, given the names of all nodes."""
        of_machines = LABEL in self.type or self.type in names
        return self.capacity_type == ON_DEMAND and self.max_new != 0 and (self.max_new is not None or not of_machines)


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
        own = [name for name in self._of_type if LABEL in name and self._of_type[name][0].describes(node)]
        for name in (node.type or "", node.name, *own):
            found = self.closest(name, node.capacity_type, node.zone, node.pool)
            if found is not None:
                return found
        return None

    def keep_types(self, types: Collection[str]) -> Prices:
        """Return the prices without the estimated rows of other types."""
        return Prices(tuple(offer for offer in self.offers if offer.size is None or offer.type in types))

    def closest(self, type: str, capacity_type: str, zone: str | None, pool: str | None) -> PricedOffer | None:
        """Return the row for a type: one of the pool before one of all pools, then one of the zone before others.

        A row with a stated room precedes one with an estimate.
        """
        rows = [
            offer
            for offer in self._of_type.get(type, ())
            if offer.capacity_type == capacity_type and offer.zone in (None, zone) and offer.pool in (None, pool)
        ]
        return max(rows, key=_rank, default=None)


def _rank(offer: PricedOffer) -> tuple[bool, bool, bool]:
    return offer.pool is not None, offer.zone is not None, offer.size is None


def family_of(name: str) -> str:
    """Return the family of a type by its name: the part before the dot or the last dash."""
    return name.partition(".")[0] if "." in name else name.rpartition("-")[0] or name


def read_prices(path: str | Path) -> Prices:
    """Read the table at `path` with one row per type, or per type, zone and capacity type.

    The columns are `name`, `usd_per_hour`, and the capacity of a node for pods: `cpu` and `ram_gb` in GiB. Optional
    columns are `pods`, `gpu`, `ephemeral_storage_gb`, `max_new`, `family`, `zone`, `capacity_type`, `arch` and `pool`.
    Any other resource has a column of its name, which contains a `/`. Raises InputError.
    """
    rows = read_rows(path, ("name", *NUMBERS), ("name", *OPTIONAL))
    others = [column for column in rows.columns if "/" in str(column) or str(column).startswith("hugepages-")]
    unknown = [column for column in rows.columns if column not in ("name", *NUMBERS, *MAY_MISS, *OPTIONAL, *others)]
    if unknown:
        raise InputError(f"{path}: unknown column {format_in_one_line(unknown[0])}")
    found: dict[tuple[Any, ...], PricedOffer] = {}
    for line, row in enumerate(rows.to_dict("records"), start=2):
        text = {name: _text(row.get(name)) for name in ("name", *OPTIONAL)}
        name = text["name"]
        if name is None:
            raise InputError(f"{path}: line {line}: name: missing")
        stated = [*NUMBERS, *others, *(column for column in MAY_MISS if not _is_empty(row.get(column)))]
        amount = {column: _number(path, line, column, row[column]) for column in stated}
        room = {"cpu": floor(amount["cpu"] * 1000), "memory": floor(amount["ram_gb"] * GIB), "gpu": 0}
        room |= {column: floor(amount[column]) for column in ("pods", "gpu", *others) if column in amount}
        if "ephemeral_storage_gb" in amount:
            room["ephemeral-storage"] = floor(amount["ephemeral_storage_gb"] * GIB)
        offer = PricedOffer(
            type=name,
            family=text["family"] or family_of(name),
            usd_per_hour=float(amount["usd_per_hour"]),
            room=room,
            zone=text["zone"],
            capacity_type=(text["capacity_type"] or ON_DEMAND).lower(),
            arch=text["arch"],
            pool=text["pool"],
            max_new=floor(amount["max_new"]) if "max_new" in amount else None,
        )
        key = (offer.type, offer.zone, offer.capacity_type, offer.pool)
        if key in found:
            raise InputError(f"{path}: line {line}: {offer.type} is there twice")
        found[key] = offer
    if not found:
        raise InputError(f"{path}: no row")
    return Prices(tuple(found.values()))


def refuse_other_zones(path: str | Path, prices: Prices, nodes: Iterable[DumpedNode]) -> None:
    """Raise InputError if each row is for a zone without a node: the table is that of another region."""
    priced, zones = {offer.zone for offer in prices.offers}, {node.zone for node in nodes}
    if None not in priced | zones and not priced & zones:
        here, there = (", ".join(sorted(map(str, names))) for names in (zones, priced))
        raise InputError(
            f"{path}: all rows are for {brief(there, LONGEST)}, but the nodes are in {brief(here, LONGEST)}"
        )


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, float) and isnan(value)) or value == ""


def _number(path: str | Path, line: int, name: str, value: Any) -> Fraction:
    least = STEP if name == "usd_per_hour" else Fraction(0)
    try:
        found = Fraction(repr(float(value)))
    except (ValueError, TypeError, OverflowError):
        found = Fraction(-1)
    if not least <= found <= LARGEST:
        what = f"{float(least):g} to {LARGEST:g}"
        if isinstance(value, str) and UNIT.fullmatch(value.strip()):
            what = f"a number without a unit: {UNITS[name]}" if name in UNITS else "a number without a unit"
        raise InputError(f"{path}: line {line}: {name}: must be {what}, got {format_in_one_line(value)}")
    return found
