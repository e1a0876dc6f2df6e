"""Workloads of SIA for the simulator: from instance files, from Appendix C, or sampled from a pool trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.harness.instance_set import instances_at
from instances import InputError, Instance
from instances.sia import gavel, philly, synthetic, trace_instance

READERS = {"philly": philly, "gavel": gavel}
SEEDS = 3


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
    - `drawing`: `seeds`, `days`, `slot_minutes` of workloads that are drawn, and `start_day`, `pools` of samples from a
      trace; `None` where a flag was not given.
    - `trace_format`: name of a reader in READERS.
    """
    given = sum([bool(files), workload is not None, trace is not None])
    if given > 1:
        raise InputError("simulate: give instance files, or --workload, or --trace, one of them")
    if not given and all(value is None for value in (*drawing.values(), trace_format)):
        return []
    if trace is None:
        said = {**drawing, "trace_format": trace_format}
        _refuse("only --trace takes it", said, ("trace_format", "start_day", "pools"))
    if files:
        _refuse("instance files say it themselves", drawing, ("seeds", "days", "slot_minutes"))
        return list(instances_at(files).values())
    said = {name: drawing[name] for name in ("days", "slot_minutes") if drawing[name] is not None}
    seeds = range(seed, seed + (drawing["seeds"] or SEEDS))
    if workload is not None:
        return [synthetic(workload, k, **said) for k in seeds]
    if trace is None:
        raise InputError("simulate: --seeds, --days and --slot-minutes go with --workload or --trace")
    table = READERS[trace_format or "philly"](trace)
    said |= {"pools": drawing["pools"], "start_day": drawing["start_day"] or 0.0, "source": str(trace)}
    return [trace_instance(table, seed=k, name=f"{trace.stem}-seed-{k}", **said) for k in seeds]


def _refuse(why: str, drawing: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        if drawing[name] is not None:
            raise InputError(f"--{name.replace('_', '-')}: {why}, got {drawing[name]}")
