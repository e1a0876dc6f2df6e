"""Reference sets of Eva: Table 3, samples of Table 7 with and without the interference of Figure 1, and rounds."""

from __future__ import annotations

from experiments.harness.instance_set import InstanceSet
from experiments.harness.overview import OverviewRow
from instances.eva import random_round, table_3, table_3_round, table_7

OVERVIEW_ROW = OverviewRow(
    "Eva, EuroSys'25",
    "which instances to rent",
    "eva-packing",
    "200 tasks",
    "200 tasks",
    "full-reconfiguration",
    "Full Reconfiguration",
)


def instance_sets(quick: bool = False) -> list[InstanceSet]:
    """Table 4's own setting is `200 tasks`, with seeds 0 to 29."""
    few, three = range(2 if quick else 10), range(1 if quick else 3)
    large = ("exact", "heuristics")
    return [
        InstanceSet("table 3", [table_3()]),
        InstanceSet("8 tasks, literal too", [table_7(8, s) for s in three]),
        InstanceSet("200 tasks", [table_7(200, s) for s in range(3 if quick else 30)], large),
        InstanceSet("8,000 tasks", [table_7(8000, s) for s in range(1 if quick else 5)], large),
        InstanceSet("table 3, interference", [table_3("net-saving")]),
        InstanceSet("200 tasks, interference", [table_7(200, s, objective="net-saving") for s in few], large),
        InstanceSet("table 3, a round", [table_3_round()]),
        InstanceSet(
            "rounds of 6 tasks, literal too", [random_round(6, s, tasks_per_job=k) for k in (1, 2) for s in three]
        ),
        InstanceSet("rounds of 40 tasks", [random_round(40, s) for s in few], large),
        InstanceSet("rounds of 20 tasks in jobs of two", [random_round(20, s, tasks_per_job=2) for s in few], large),
    ]
