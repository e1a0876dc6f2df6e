"""The tasks of a small research group, and the types of AWS EC2 that it may rent."""

import pandas as pd

from instances.eva import EvaPacking, ec2_types

tasks = pd.DataFrame(
    [
        ("train-vision", 4, 1, 4, 24),
        ("train-language", 3, 2, 8, 120),
        ("fine-tune", 2, 2, 6, 60),
        ("notebooks", 8, 0, 1, 6),
        ("preprocess", 5, 0, 6, 12),
    ],
    columns=["workload", "count", "gpu", "cpu", "ram_gb"],
)
types = pd.DataFrame(
    [
        {
            "name": kind.name,
            "family": kind.family,
            "usd_per_hour": kind.usd_per_hour,
            **kind.capacity,
        }
        for kind in ec2_types()
    ]
)


def my_cluster() -> EvaPacking:
    """Return the problem of two tables."""
    return EvaPacking.from_frames(tasks, types)
