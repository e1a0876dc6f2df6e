"""Workloads of SIA for the simulator: those of Appendix C, or sampled from a pool trace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from instances import InputError, Instance
from instances.sia import VARIANTS, gavel, helios_log, philly, pool_loads, synthetic, trace_instance
from instances.sia.traces import LOAD
from instances.text import meant

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
    """The workloads that the flags describe, the first of which has this seed, and lines to print about them.

    Raises InputError for a flag without effect.
    """
    if workload is not None and workload not in VARIANTS:
        known = ", ".join(VARIANTS)
        raise InputError(f"--workload: must be one of {known}, got {workload!r}{meant(VARIANTS, workload)}")
    if workload is not None and trace is not None:
        raise InputError("simulate: give instance files, or --workload, or --trace, one of them")
    said: dict[str, Any] = {"start_day": start_day, "pools": pools, "load": load, "least_jobs": least_jobs}
    said |= {"drop_wide": drop_wide}
    if trace is None:
        for name, value in {"trace_format": trace_format, **said}.items():
            if value is not None:
                raise InputError(f"--{name.replace('_', '-')}: only --trace takes it, got {value}")
        if workload is None:
            raise InputError("simulate: --seeds, --days and --slot-minutes go with --workload or --trace")
    drawn = range(seed, seed + (seeds or SEEDS))
    said = {n: value for n, value in {"days": days, "slot_minutes": slot_minutes, **said}.items() if value is not None}
    if workload is not None:
        return [synthetic(workload, k, **said) for k in drawn], []
    assert trace is not None
    table = READERS[trace_format or "philly"](trace)
    said = {"least_jobs": LEAST_JOBS, "source": str(trace), **said}
    found = [trace_instance(table, seed=k, name=f"{trace.stem}-seed-{k}", **said) for k in drawn]
    return found, missed_loads(found, load)


def missed_loads(samples: Sequence[Instance[Any]], load: tuple[float, float] | None = None) -> list[str]:
    """A line for each sample with pools whose load is not what they were sized for, with what it is."""
    low, high = load or LOAD
    lines = []
    for sample in samples:
        off = {pool: x for pool, x in pool_loads(sample.data).items() if not low - 0.05 <= x <= high + 0.05}
        if off:
            said = ", ".join(f"{pool} {x:.2f}" for pool, x in off.items())
            lines.append(f"{sample.name}: pools of whole GPUs, as wide as their widest job, have another load: {said}")
    return lines
