"""`python -m experiments.simulate ...`: what does a schedule cost or save once jobs arrive and leave?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import typer
from pebble import ProcessExpired, ProcessPool
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from experiments import flags
from experiments.simulator import NAMES, summary
from experiments.simulator.run import Simulated, own_maker, run_policy
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
    trace_format: Annotated[
        Literal["philly", "gavel"] | None, typer.Option(help="Columns of --trace.", show_default="philly")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(help="Policy, `all`, or your own `package.module:function`; repeatable.", show_default=False),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="Instances drawn from --workload or --trace.", min=1, show_default="3")
    ] = None,
    seed: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    days: Annotated[
        float | None, typer.Option(help="Days of submissions; workloads have 3.", show_default="all")
    ] = None,
    start_day: Annotated[float | None, typer.Option(help="First day of --trace.", min=0, show_default="0")] = None,
    pools: Annotated[int | None, typer.Option(help="Pools drawn from --trace.", show_default="all", min=1)] = None,
    slot_minutes: Annotated[float | None, typer.Option(help="Minutes of a slot.", show_default="1")] = None,
    warm_up_days: Annotated[float, typer.Option(help="Jobs submitted before do not count.", min=0)] = 0.0,
    time_limit: Annotated[float, typer.Option(help="Wall seconds for the policy `oracle` to plan.")] = 60.0,
    jobs: flags.Jobs = 1,
    format: flags.Format = "table",
    folder: flags.Out = None,
    quiet: flags.Quiet = False,
) -> None:
    """Run policies on instances, a synthetic workload or a trace, and compare them with FCFS without sharing."""
    if sum([bool(files), workload is not None, trace is not None]) != 1:
        raise InputError("simulate: give instance files, or --workload, or --trace")
    drawing: dict[str, Any] = {"seeds": seeds, "days": days, "slot_minutes": slot_minutes}
    sampling = {"trace_format": trace_format, "start_day": start_day, "pools": pools}
    if trace is None:
        _refuse("only --trace takes it", sampling)
    if files:
        _refuse("instance files say it themselves", drawing)
        instances = [load(path) for path in files]
    else:
        said = {
            name: value for name, value in {"days": days, "slot_minutes": slot_minutes}.items() if value is not None
        }
        drawn = range(seed, seed + (seeds or 3))
        if workload is not None:
            instances = [synthetic(workload, k, **said) for k in drawn]
        else:
            assert trace is not None
            instances = _sampled(
                trace, trace_format or "philly", drawn, pools=pools, start_day=start_day or 0.0, **said
            )
    names = chosen_policies(policy)
    options = Options(time_limit=time_limit, seed=seed)
    if folder is not None:
        ready_folder(folder)
    for name in names:
        if ":" in name:
            own_maker(name)  # before anything is run
    pairs = [(instance, name) for instance in instances for name in names]
    done = list(_follow(_run_all(pairs, options, jobs), len(pairs), quiet))
    rows = _summaries(instances, done, names, warm_up_days)
    failed = [run for run in done if isinstance(run, Failed)]
    if format == "json":
        for row in rows:
            print(json.dumps(row), flush=True)
    elif format == "csv":
        print(pd.DataFrame(rows).to_csv(index=False), end="")
    elif len(failed) < len(done):
        _print(rows, names)
    for run in failed:
        err.print(f"gapwise: {run.reason}")
    if folder is not None:
        _write(folder, instances, done, names, rows)
        if not quiet:
            err.print(f"wrote tables and pictures to {folder}", markup=False)
    raise typer.Exit(1 if failed else 0)


@dataclass(frozen=True)
class Failed:
    """A policy that did not get to the end on an instance."""

    instance: str
    policy: str
    reason: str
    cpu_s: float = 0.0


def _refuse(why: str, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        if value is not None:
            raise InputError(f"--{name.replace('_', '-')}: {why}, got {value}")


def _sampled(trace: Path, form: str, seeds: Iterable[int], **wanted: Any) -> list[Instance]:
    """Instances sampled from a trace, one for each seed."""
    table = READERS[form](trace)
    source = str(trace)
    return [trace_instance(table, seed=k, name=f"{trace.stem}-seed-{k}", source=source, **wanted) for k in seeds]


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


def _run_all(pairs: Sequence[tuple[Instance, str]], options: Options, jobs: int) -> Iterator[Simulated | Failed]:
    """The runs in order. A policy that fails loses its own run only."""
    if jobs == 1:
        for instance, name in pairs:
            yield _run(instance, name, options)
        return
    with ProcessPool(max_workers=min(jobs, len(pairs))) as pool:
        futures = [pool.schedule(_run, args=(instance, name, options)) for instance, name in pairs]
        try:
            for (instance, name), future in zip(pairs, futures, strict=True):
                try:
                    yield future.result()
                except ProcessExpired as error:
                    reason = f"the process died with exit code {error.exitcode}"
                    yield Failed(instance.name, name, f"{instance.name}: policy {name}: {reason}")
        except BaseException:
            pool.stop()
            raise


def _run(instance: Instance, name: str, options: Options) -> Simulated | Failed:
    try:
        return run_policy(instance, name, options)
    except InputError as error:
        return Failed(instance.name, name, " ".join(str(error).split()))


def _follow(runs: Iterator[Simulated | Failed], total: int, quiet: bool) -> Iterator[Simulated | Failed]:
    if quiet:
        yield from runs
    elif err.is_terminal:
        columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        with Progress(*columns, console=err, transient=True) as progress:
            task = progress.add_task("starting", total=total)
            for run in runs:
                progress.update(task, advance=1, description=f"{run.instance} {run.policy}"[:60])
                yield run
    else:
        for i, run in enumerate(runs, 1):
            end = "failed" if isinstance(run, Failed) else f"{run.cpu_s:.2f} s"
            err.print(f"[{i}/{total}] {run.instance} {run.policy} {end}", markup=False)
            yield run


def _summaries(
    instances: Sequence[Instance], done: Sequence[Simulated | Failed], names: Sequence[str], warm_up_days: float
) -> list[dict[str, Any]]:
    """One row for each instance and policy, times in minutes; of a policy that failed the error."""
    rows = []
    for i, instance in enumerate(instances):
        assert isinstance(instance.data, SiaOracle)
        minutes, mine = instance.data.slot_minutes, done[i * len(names) : (i + 1) * len(names)]
        base = None if isinstance(mine[0], Failed) else mine[0].jobs
        for run in mine:
            row: dict[str, Any] = {"instance": run.instance, "policy": run.policy}
            if isinstance(run, Failed):
                rows.append(row | {"error": run.reason})
                continue
            found = summary(run.jobs, base, warm_up=warm_up_days * 1440 / minutes)
            if not found["jobs"]:
                raise InputError(f"--warm-up-days: {instance.name} has no job after {warm_up_days:g} days")
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
    frame = pd.DataFrame(rows).reindex(columns=["instance", "policy", *HEADINGS])
    frame = frame.dropna(subset=["mean_jct_min"])
    for name in names:
        mine = frame[frame["policy"] == name]
        table.add_row(name, *(_spread(mine[key]) for key in HEADINGS))
    out.print(table)
    out.print(f"{frame['instance'].nunique()} instances: median (least to largest); slowed: ends later than under FCFS")


def _spread(values: pd.Series) -> str:
    if values.isna().all():
        return "-"
    if len(values) == 1 or values.min() == values.max():
        return f"{values.median():.4g}"
    return f"{values.median():.4g} ({values.min():.4g} to {values.max():.4g})"


def _write(
    folder: Path,
    instances: Sequence[Instance],
    done: Sequence[Simulated | Failed],
    names: Sequence[str],
    rows: Sequence[dict[str, Any]],
) -> None:
    from experiments.simulator.plots import GANTT_JOBS, gantt, pool_use, save_figure, slowdown_cdf, speedup_cdf

    write_whole(folder / "summary.csv", pd.DataFrame(rows).to_csv(index=False).encode())
    finished = [run for run in done if isinstance(run, Simulated)]
    if not finished:
        return
    labelled = [run.jobs.assign(instance=run.instance, policy=run.policy) for run in finished]
    write_whole(folder / "jobs.csv", pd.concat(labelled).to_csv(index=False).encode())
    failed = {run.policy for run in done if isinstance(run, Failed)}
    tables = {name: [run.jobs for run in finished if run.policy == name] for name in names if name not in failed}
    first = instances[0].data
    assert isinstance(first, SiaOracle)
    minutes = first.slot_minutes
    if len(tables) > 1 and BASELINE in tables:
        save_figure(speedup_cdf(tables, BASELINE), folder / "speedup.svg")
        save_figure(slowdown_cdf(tables, BASELINE, slot_minutes=minutes), folder / "slowdown.svg")
    for run in done[: len(names)]:
        if isinstance(run, Failed):
            continue
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
