"""Reference sets of SIA, and its generators: the oracle's problem, without and with locality, and workloads of a trace.

The sets are jobs on which Figure 6 fails, half-day workloads to proof, three days, and jobs on servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from experiments.drawing import Drawing, Flag
from experiments.harness.instance_set import InstanceSet
from experiments.harness.overview import OverviewRow
from instances import InputError, Instance
from instances.sia import (
    VARIANTS,
    SiaLocalOracle,
    five_jobs,
    gavel,
    helios_log,
    philly,
    pool_loads,
    six_jobs,
    synthetic,
    trace_instance,
)
from instances.sia.traces import LOAD
from instances.text import meant

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


def on_servers(
    variant: str = "base", seed: int = 0, *, days: float = 0.25, slot_minutes: float = 1.0
) -> Instance[SiaLocalOracle]:
    """Return a synthetic workload with locality.

    - `seed`: seed of all that is drawn.
    - `days`: days within which jobs are submitted.
    - `slot_minutes`: length of a slot.
    """
    drawn = synthetic(variant, seed, days=days, slot_minutes=slot_minutes)
    return Instance.of(SiaLocalOracle.of(drawn.data), f"local-{drawn.name}", drawn.source)


def _check_variant(variant: str, flag: str = "--variant") -> str:
    if variant not in VARIANTS:
        raise InputError(f"{flag}: must be one of {', '.join(VARIANTS)}, got {variant!r}{meant(VARIANTS, variant)}")
    return variant


FLAGS = {
    "variant": Flag(kind=str, help="Workload: " + ", ".join(VARIANTS) + ".", value=_check_variant),
    "slot_minutes": Flag(help="Minutes of a slot."),
}
oracle = Drawing(
    "A workload of SIA's Appendix A.1 or C: bursts of jobs that come to pools of 8 GPUs.",
    synthetic,
    flags=FLAGS,
    left_out=("fairness_weight",),
)
local_oracle = Drawing(
    "The same workload on servers of 8 GPUs, each pool a server, jobs on one server.", on_servers, flags=FLAGS
)


READERS = {"philly": philly, "gavel": gavel, "helios": helios_log}
SEEDS = 3
LEAST_JOBS = 20  # A pool with fewer in the days of a sample has no load to speak of.


def samples(
    seed: int,
    *,
    workload: Annotated[str | None, typer.Option(help="Synthetic workload: " + ", ".join(VARIANTS) + ".")] = None,
    trace: Annotated[Path | None, typer.Option(help="A pool trace in CSV form.")] = None,
    trace_format: Annotated[
        Literal["philly", "gavel", "helios"] | None,
        typer.Option(metavar="NAME", help="Columns of --trace: philly, gavel or helios.", show_default="philly"),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Workloads drawn from --workload or --trace.", min=1, show_default="3")
    ] = None,
    days: Annotated[
        float | None, typer.Option(help="Days of submissions; workloads have 3.", show_default="all")
    ] = None,
    slot_minutes: Annotated[float | None, typer.Option(help="Minutes of a slot.", show_default="1")] = None,
    start_day: Annotated[float | None, typer.Option(help="First day of --trace.", min=0, show_default="0")] = None,
    pools: Annotated[int | None, typer.Option(help="Pools drawn from --trace.", show_default="all", min=1)] = None,
    load: Annotated[
        tuple[float, float] | None,
        typer.Option(help="Least and largest load that pools of --trace are sized for.", show_default="0.6 1.1"),
    ] = None,
    least_jobs: Annotated[
        int | None, typer.Option(help="Minimum number of jobs of a pool of --trace.", min=1, show_default="20")
    ] = None,
    drop_wide: Annotated[
        bool | None, typer.Option("--drop-wide", help="Size pools of --trace for the load alone; drop wider jobs.")
    ] = None,
) -> tuple[list[Instance], list[str]]:
    """Return the workloads that the flags describe, the first of them with this seed, and lines to print about them.

    Raises InputError for a flag without effect.
    """
    if workload is not None and _check_variant(workload, "--workload") and trace is not None:
        raise InputError("simulate: give instance files, or --workload, or --trace, one of them")
    of_trace = {"start_day": start_day, "pools": pools, "load": load, "least_jobs": least_jobs, "drop_wide": drop_wide}
    if trace is None:
        for name, value in {"trace_format": trace_format, **of_trace}.items():
            if value is not None:
                raise InputError(f"--{name.replace('_', '-')}: only --trace takes it, got {value}")
        if workload is None:
            raise InputError("simulate: --seeds, --days and --slot-minutes go with --workload or --trace")
    drawn = range(seed, seed + (seeds or SEEDS))
    given = {"days": days, "slot_minutes": slot_minutes, **of_trace}
    said: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if workload is not None:
        return [synthetic(workload, k, **said) for k in drawn], []
    assert trace is not None
    table = READERS[trace_format or "philly"](trace)
    said = {"least_jobs": LEAST_JOBS, "source": str(trace), **said}
    found = [trace_instance(table, seed=k, name=f"{trace.stem}-seed-{k}", **said) for k in drawn]
    return found, list_missed_loads(found, load)


def list_missed_loads(samples: Sequence[Instance[Any]], load: tuple[float, float] | None) -> list[str]:
    """Return a line for each sample with pools whose load is not the one they were sized for."""
    low, high = load or LOAD
    lines = []
    for sample in samples:
        off = {pool: x for pool, x in pool_loads(sample.data).items() if not low - 0.05 <= x <= high + 0.05}
        if off:
            said = ", ".join(f"{pool} {x:.2f}" for pool, x in off.items())
            lines.append(f"{sample.name}: pools of whole GPUs, as wide as their widest job, have another load: {said}")
    return lines
