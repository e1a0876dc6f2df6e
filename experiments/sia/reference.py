"""Reference sets of SIA: jobs on which Figure 6 fails, half-day workloads to proof, three days, jobs on servers."""

from __future__ import annotations

from experiments.harness.instance_set import InstanceSet
from experiments.harness.overview import OverviewRow
from experiments.sia.draw import on_servers
from instances.sia import five_jobs, six_jobs, synthetic

POLICIES = ("fcfs", "ssf", "gssf", "mmfs", "hived", "themis", "sia-vc", "sia-vc-literal", "safe-ssf", "sia-perfect")
HALF_DAYS = (3, 4, 5, 6, 8, 9, 11, 15, 16, 17)
THREE_DAYS = (18,)
LOCAL_POLICIES = ("fcfs", "hived", "sia-vc", "safe-ssf", "sia-perfect", "sia-sliding")
QUARTER_DAYS = (0, 3, 6, 7, 9)

OVERVIEW_ROW = OverviewRow(
    "SIA, SoCC'23",
    "when each job starts",
    "sia-oracle",
    "base workload, half a day",
    "half days",
    "sia-vc",
    "SIA_VC",
    gap="gap in mean JCT",
)


def instance_sets(quick: bool = False) -> list[InstanceSet]:
    """Seeds whose optimum is proven within seconds; the benchmark has all twenty."""
    half = HALF_DAYS[:3] if quick else HALF_DAYS
    days = [synthetic("base", s, slot_minutes=5.0) for s in THREE_DAYS]
    quarters = [on_servers(seed=s) for s in (QUARTER_DAYS[:1] if quick else QUARTER_DAYS)]
    return [
        InstanceSet("five jobs", [five_jobs()], ("all",)),
        InstanceSet("base workload, half a day", [synthetic("base", s, days=0.5) for s in half], ("exact", *POLICIES)),
        InstanceSet("base workload, three days of 5-minute slots", days, ("exact", *POLICIES)),
        InstanceSet("six jobs on servers", [six_jobs()], ("all",)),
        InstanceSet("base workload on servers, a quarter of a day", quarters, ("exact", *LOCAL_POLICIES)),
    ]
