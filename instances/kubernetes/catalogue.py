"""Read prices of machine types in a region from the catalogue of the project; `data/README.md` has its sources."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import get_args

from instances.errors import InputError
from instances.kubernetes.allocatable import GIB, Cloud, default_room, estimate_room
from instances.kubernetes.dump import ON_DEMAND, DumpedNode
from instances.kubernetes.prices import PricedOffer, Prices, family_of, read_prices, refuse_other_zones
from instances.text import brief

CLOUDS: Sequence[Cloud] = get_args(Cloud)
REGIONS = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")
EXAMPLE = "aws/us-east-1"
COLUMNS = ("name", "cpu", "ram_gb", "gpu", "arch")  # all others are regions
LONGEST = 80  # characters of a word in an error message


def find_prices(types: str | Path | None, place: str | None, nodes: Collection[DumpedNode]) -> Prices:
    """Return the rows of the user's table and of the catalogue; those of the user precede those of the catalogue.

    - `types`: the file of the table.
    - `place`: cloud and region of the catalogue.
    - `nodes`: the nodes to price.

    Raises InputError, also if there is neither a table nor a place.
    """
    if types is None and place is None:
        raise InputError(f"give prices: --prices CLOUD/REGION, such as {EXAMPLE}, or --types FILE.csv")
    own = Prices(()) if types is None else read_prices(types)
    if types is not None:
        refuse_other_zones(types, own, nodes)
    return own if place is None else Prices((*own.offers, *read_catalogue(place, nodes)))


def read_catalogue(place: str, nodes: Iterable[DumpedNode]) -> list[PricedOffer]:
    """Return the rows of a region.

    - `place`: `CLOUD/REGION`.
    - `nodes`: the nodes to price; they must not state another region.

    Raises InputError if the region is unknown or wrong.
    """
    cloud, region = _find_region(place)
    found = sorted({value for node in nodes for key in REGIONS if (value := node.labels.get(key))})
    if found and region not in found:
        raise InputError(f"--prices {place}: the nodes are in {_join(found)}; give their prices with --types FILE.csv")
    offers = []
    for row in _read_table(cloud):
        cpus, ram, gpus = int(row["cpu"]), float(row["ram_gb"]), int(row["gpu"])
        offers.append(
            PricedOffer(
                type=row["name"],
                family=family_of(row["name"]),
                usd_per_hour=float(row[region]),
                room={**estimate_room(cloud, cpus, ram), "gpu": gpus},
                capacity_type=ON_DEMAND,
                arch=row["arch"],
                defaults=default_room(cloud),
                size={"cpu": 1000 * cpus, "memory": int(GIB * ram), "gpu": gpus},
            )
        )
    return offers


def _find_region(place: str) -> tuple[Cloud, str]:
    """Return the cloud and the region of a place. Raises InputError."""
    name, _, region = place.partition("/")
    cloud = next((cloud for cloud in CLOUDS if cloud == name), None)
    said = brief(place, LONGEST)
    if cloud is None or not region:
        raise InputError(
            f"--prices: must be CLOUD/REGION with a cloud of {_join(CLOUDS)}, such as {EXAMPLE}, got {said}"
        )
    regions = [column for column in _read_table(cloud)[0] if column not in COLUMNS]
    if region not in regions:
        raise InputError(f"--prices {said}: the catalogue has no such region of {cloud}; it has {_join(regions)}")
    return cloud, region


@cache
def _read_table(cloud: Cloud) -> list[dict[str, str]]:
    text = (files("instances.kubernetes") / "data" / f"prices_{cloud}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def _join(words: Iterable[str]) -> str:
    return ", ".join(words)
