"""Workloads of SIA for the simulator: from instance files, from Appendix C, or sampled from a pool trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.harness.instance_set import instances_at
from instances import InputError, Instance
from instances.sia import gavel, philly, pool_loads, synthetic, trace_instance
from instances.sia.traces import LOAD

READERS = {"philly": philly, "gavel": gavel}
SEEDS = 3
LEAST_JOBS = 20  # A pool with fewer in the days of a sample has no load to speak of.
OF_A_TRACE = ("trace_format", "start_day", "pools", "load", "least_jobs", "drop_wide")


def workloads(
    files: Sequence[Path],
    workload: str | None,
    trace: Path | None,
    seed: int,
    drawing: Mapping[str, Any],
    trace_format: str | None = None,
) -> list[Instance]:
    """The workloads that the flags describe; without any of them none.

    Raises InputError for a flag without effect.

    Parameters:

    - `files`: instance files.
    - `workload`: name of a synthetic workload.
    - `trace`: file of a pool trace.
    - `seed`: seed of the first workload that is drawn.
    - `drawing`: `seeds`, `days`, `slot_minutes` of workloads that are drawn, and OF_A_TRACE of samples from a trace;
      `None` where a flag was not given.
    - `trace_format`: name of a reader in READERS.
    """
    given = sum([bool(files), workload is not None, trace is not None])
    if given > 1:
        raise InputError("simulate: give instance files, or --workload, or --trace, one of them")
    if not given and all(value is None for value in (*drawing.values(), trace_format)):
        return []
    if trace is None:
        given_ = {**drawing, "trace_format": trace_format}
        _refuse("only --trace takes it", given_, OF_A_TRACE)
    if files:
        _refuse("instance files say it themselves", drawing, ("seeds", "days", "slot_minutes"))
        return list(instances_at(files).values())
    said: dict[str, Any] = {name: drawing[name] for name in ("days", "slot_minutes") if drawing[name] is not None}
    seeds = range(seed, seed + (drawing["seeds"] or SEEDS))
    if workload is not None:
        return [synthetic(workload, k, **said) for k in seeds]
    if trace is None:
        raise InputError("simulate: --seeds, --days and --slot-minutes go with --workload or --trace")
    table = READERS[trace_format or "philly"](trace)
    said |= {name: drawing[name] for name in OF_A_TRACE[1:] if drawing.get(name) is not None}
    said = {"least_jobs": LEAST_JOBS, "source": str(trace), **said}
    return [trace_instance(table, seed=k, name=f"{trace.stem}-seed-{k}", **said) for k in seeds]


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


def _refuse(why: str, drawing: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        if drawing[name] is not None:
            raise InputError(f"--{name.replace('_', '-')}: {why}, got {drawing[name]}")
