"""More named instances of Aryl: elastic jobs under both objectives, smaller spreads, and workers to place."""

from __future__ import annotations

from experiments.aryl.reference import FILLS
from experiments.harness.instance_set import InstanceSet
from instances.aryl import elastic_jobs, loaned_servers, placement_moment, spread_jobs


def instance_sets() -> list[InstanceSet]:
    """Return the sets in addition to those of the reference study."""
    jobs = [elastic_jobs(7, s, objective="mean-jct", elastic_share=0.75) for s in range(10)]
    knapsacks = [elastic_jobs(n, s) for n in (20, 200) for s in range(8)]
    return [
        InstanceSet("7 jobs, mean JCT", jobs, ("exact",)),
        InstanceSet("20 and 200 jobs, knapsack", knapsacks, ("exact",)),
        *(
            InstanceSet(f"200 servers, {name}", [loaned_servers(200, f, s, 20) for s in range(5)], ("exact",))
            for name, f in FILLS.items()
        ),
        InstanceSet("300 servers, spread", [spread_jobs(300, 300, s, 60) for s in range(5)], ("exact",)),
        InstanceSet("40 servers, spread", [spread_jobs(40, 40, s, 8) for s in range(8)], ("exact",)),
        InstanceSet("30 servers to place workers on", [placement_moment(20, 10, s) for s in range(10)], ("exact",)),
    ]
