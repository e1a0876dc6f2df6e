"""Generate workloads of Aryl's loaning cluster."""

from __future__ import annotations

from experiments.drawing import Drawing, Flag
from instances.aryl import loaning_days

loaning = Drawing(
    "Days of jobs on a training cluster that borrows inference servers, with the moments of Aryl's trace.",
    loaning_days,
    flags={
        "days": Flag(default=15.0),
        "seed": Flag(default=0),
        "trace": Flag(shown="drawn"),
        "training_servers": Flag(default=443, help="Servers of 8 GPUs; inference servers in proportion."),
        "orchestrator_period_seconds": Flag("orchestrator_period"),
        "scheduling_period_seconds": Flag("scheduling_period"),
    },
)
