"""More named instances of SIA: quarters of a day of the base workload, with and without locality, and heavier ones."""

from __future__ import annotations

from experiments.harness.instance_set import InstanceSet
from experiments.sia.reference import on_servers
from instances import Instance
from instances.sia import synthetic

QUARTERS = range(20, 40)
ON_SERVERS = range(10, 16)
HALVES = (0, 1, 2, 7, 10)
THREE_DAYS = range(20)


def instance_sets() -> list[InstanceSet]:
    """Return the sets in addition to those of the reference study."""
    sets: dict[str, list[Instance]] = {
        "base workload, a quarter of a day": [synthetic("base", s, days=0.25) for s in QUARTERS],
        "base workload on servers, an eighth of a day": [on_servers(seed=s, days=0.125) for s in ON_SERVERS],
        "base workload, more half days": [synthetic("base", s, days=0.5) for s in HALVES],
        "base workload, three days": [synthetic("base", s) for s in THREE_DAYS],
    }
    return [InstanceSet(name, made, ("exact",)) for name, made in sets.items()]
