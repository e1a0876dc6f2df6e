"""`python -m experiments.simulate ...`: what does a schedule cost or save once jobs arrive and leave?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import typer
from pebble import ProcessPool
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from experiments import flags
from experiments.simulator import NAMES, summary
from experiments.simulator.plots import GANTT_JOBS, gantt, pool_use, save_figure, slowdown_cdf, speedup_cdf
from experiments.simulator.run import Simulated, run_policy
from experiments.table import ready_folder
from experiments.terminal import err, out
from instances import InputError, Instance, Options, load
from instances.files import write_whole
from instances.sia import VARIANTS, SiaOracle, gavel, philly, synthetic, trace_instance

BASELINE = "fcfs"
DEFAULT = ("ssf", "gssf", "mmfs", "sia-vc", "safe-ssf", "sia-perfect", "sia-sliding")
READERS = {"philly": philly, "gavel": gavel}
HEADINGS = {
    "mean_jct_min": "mean JCT, min",
    "jct_speedup": "speed-up of mean JCT",
    "geometric_speedup": "geometric mean of speed-ups",
    "mean_delay_min": "mean delay, min",
    "slowed": "jobs slowed",
    "total_slowdown_min": "slow-down in all, min",
    "worst_slowdown_min": "worst, min",
}


def simulate(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Instance files of sia-oracle.", show_default=False)
    ] = None,
    workload: Annotated[str | None, typer.Option(help="Synthetic workload: " + ", ".join(VARIANTS) + ".")] = None,
    trace: Annotated[Path | None, typer.Option(help="A pool trace in CSV form.")] = None,
    trace_format: Annotated[Literal["philly", "gavel"], typer.Option(help="Columns of --trace.")] = "philly",
    policy: Annotated[
        list[str] | None,
        typer.Option(help="Policy, `all`, or your own `package.module:function`; repeatable.", show_default=False),
    ] = None,
    seeds: Annotated[int, typer.Option(help="Instances drawn from --workload or --trace.", min=1)] = 3,
    seed: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    days: Annotated[
        float | None, typer.Option(help="Days of submissions; workloads have 3.", show_default="all")
    ] = None,
    start_day: Annotated[float, typer.Option(help="First day of --trace.", min=0)] = 0.0,
    pools: Annotated[int | None, typer.Option(help="Pools drawn from --trace.", show_default="all", min=1)] = None,
    slot_minutes: Annotated[float, typer.Option(help="Minutes of a slot.")] = 1.0,
    warm_up_days: Annotated[float, typer.Option(help="Jobs submitted before do not count.", min=0)] = 0.0,
    time_limit: Annotated[float, typer.Option(help="Wall seconds for the policy `oracle` to plan.")] = 60.0,
    jobs: flags.Jobs = 1,
    format: flags.Format = "table",
    folder: flags.Out = None,
    quiet: flags.Quiet = False,
) -> None:
    """Run policies on instances, a synthetic workload or a trace, and compare them with FCFS without sharing."""
    given = [bool(files), workload is not None, trace is not None]
    if sum(given) != 1:
        raise InputError("simulate: give instance files, or --workload, or --trace")
    if files:
        instances = [load(path) for path in files]
    elif workload is not None:
        drawn = range(seed, seed + seeds)
        instances = [synthetic(workload, k, days=days or 3.0, slot_minutes=slot_minutes) for k in drawn]
    else:
        assert trace is not None
        table = READERS[trace_format](trace)
        instances = [
            trace_instance(
                table,
                pools=pools,
                start_day=start_day,
                days=days,
                slot_minutes=slot_minutes,
                seed=k,
                name=f"{trace.stem}-seed-{k}",
                source=str(trace),
            )
            for k in range(seed, seed + seeds)
        ]
    names = chosen_policies(policy)
    options = Options(time_limit=time_limit, seed=seed)
    if folder is not None:
        ready_folder(folder)
    pairs = [(instance, name) for instance in instances for name in names]
    done = list(_follow(_run_all(pairs, options, jobs), len(pairs), quiet))
    rows = _summaries(instances, done, names, warm_up_days)
    if format == "json":
        for row in rows:
            print(json.dumps(row), flush=True)
    elif format == "csv":
        print(pd.DataFrame(rows).to_csv(index=False), end="")
    else:
        _print(rows, names)
    if folder is not None:
        _write(folder, instances, done, names, rows)
        if not quiet:
            err.print(f"wrote tables and pictures to {folder}", markup=False)


def chosen_policies(given: Sequence[str] | None) -> list[str]:
    """The names, FCFS first. Raises InputError for an unknown one."""
    names = [BASELINE]
    for name in given or DEFAULT:
        if name == "all":
            names += [n for n in NAMES if n != "oracle"]
        elif name in NAMES or ":" in name:
            names.append(name)
        else:
            raise InputError(f"policy: must be all, {', '.join(NAMES)} or package.module:function, got {name!r}")
    return list(dict.fromkeys(names))


def _run_all(pairs: Sequence[tuple[Instance, str]], options: Options, jobs: int) -> Iterator[Simulated]:
    if jobs == 1:
        for instance, name in pairs:
            yield run_policy(instance, name, options)
        return
    with ProcessPool(max_workers=min(jobs, len(pairs))) as pool:
        futures = [pool.schedule(run_policy, args=(instance, name, options)) for instance, name in pairs]
        try:
            for future in futures:
                yield future.result()
        except BaseException:
            pool.stop()
            raise


def _follow(runs: Iterator[Simulated], total: int, quiet: bool) -> Iterator[Simulated]:
    if quiet:
        yield from runs
    elif err.is_terminal:
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        with Progress(*columns, console=err, transient=True) as progress:
            task = progress.add_task("starting", total=total)
            for run in runs:
                progress.update(task, advance=1, description=f"{run.instance} {run.policy}"[:60])
                yield run
    else:
        for i, run in enumerate(runs, 1):
            err.print(f"[{i}/{total}] {run.instance} {run.policy} {run.cpu_s:.2f} s", markup=False)
            yield run


def _summaries(
    instances: Sequence[Instance], done: Sequence[Simulated], names: Sequence[str], warm_up_days: float
) -> list[dict[str, Any]]:
    """One row for each instance and policy, times in minutes."""
    rows = []
    for i, instance in enumerate(instances):
        assert isinstance(instance.data, SiaOracle)
        minutes, mine = instance.data.slot_minutes, done[i * len(names) : (i + 1) * len(names)]
        for run in mine:
            found = summary(run.jobs, mine[0].jobs, warm_up=warm_up_days * 1440 / minutes)
            if not found["jobs"]:
                raise InputError(f"--warm-up-days: {instance.name} has no job after {warm_up_days:g} days")
            row: dict[str, Any] = {"instance": run.instance, "policy": run.policy}
            for key, value in found.items():
                timed = key.endswith(("delay", "jct", "slowdown"))
                row[f"{key}_min" if timed else key] = value * minutes if timed else value
            rows.append(row | {"simulation_cpu_s": run.cpu_s})
    return rows


def _print(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("policy")
    for heading in HEADINGS.values():
        table.add_column(heading, justify="right")
    frame = pd.DataFrame(rows)
    for name in names:
        mine = frame[frame["policy"] == name]
        table.add_row(name, *(_spread(mine[key]) for key in HEADINGS))
    out.print(table)
    out.print(f"{frame['instance'].nunique()} instances: median (least to largest); slowed: ends later than under FCFS")


def _spread(values: pd.Series) -> str:
    if len(values) == 1 or values.min() == values.max():
        return f"{values.median():.4g}"
    return f"{values.median():.4g} ({values.min():.4g} to {values.max():.4g})"


def _write(
    folder: Path,
    instances: Sequence[Instance],
    done: Sequence[Simulated],
    names: Sequence[str],
    rows: Sequence[dict[str, Any]],
) -> None:
    write_whole(folder / "summary.csv", pd.DataFrame(rows).to_csv(index=False).encode())
    labelled = [run.jobs.assign(instance=run.instance, policy=run.policy) for run in done]
    write_whole(folder / "jobs.csv", pd.concat(labelled).to_csv(index=False).encode())
    tables = {name: [run.jobs for run in done[k :: len(names)]] for k, name in enumerate(names)}
    first = instances[0].data
    assert isinstance(first, SiaOracle)
    minutes = first.slot_minutes
    if len(names) > 1:
        save_figure(speedup_cdf(tables, BASELINE), folder / "speedup.svg")
        save_figure(slowdown_cdf(tables, BASELINE, slot_minutes=minutes), folder / "slowdown.svg")
    for run in done[: len(names)]:
        name = run.policy.replace(":", "-").replace(".", "-")
        title = f"{run.instance}, {run.policy}"
        use = pool_use(run.timeline, first.capacity, slot_minutes=minutes, title=title)
        save_figure(use, folder / f"use-{name}.svg")
        if len(run.jobs) <= GANTT_JOBS:
            chart = gantt(run.jobs, first.capacity, slot_minutes=minutes, title=title)
            save_figure(chart, folder / f"gantt-{name}.svg")


if __name__ == "__main__":
    from experiments.cli import main

    main("simulate")
