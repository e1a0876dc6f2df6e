"""`python -m experiments.sia.benchmark [--trace philly.csv]`: the oracle, the policies and the simulator of SIA."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Annotated

import numpy as np
import typer

from experiments.output.benchmark import Measured, measure, proofs, show
from experiments.output.terminal import err, percent
from experiments.sia.figure_5 import compare
from experiments.sia.policies import models_of
from experiments.simulator import simulate, summary
from experiments.simulator.sia import PoolsWorld
from heuristics import sia as heuristics
from instances import Instance, Options, Result, Stopwatch
from instances.online import Policy
from instances.sia import Job, Pool, SiaLocalOracle, SiaOracle, philly, synthetic, trace_instance
from instances.sia.online import Start, View
from models.sia import exact, literal, local_exact

LIGHT = (1, 14, 17, 18)  # These seeds of the base workload are proven within a minute.
LOCAL_SECONDS = 20.0  # limit of each run with locality


def main(
    trace: Annotated[Path | None, typer.Option(help="Philly pool trace (philly.csv).")] = None,
    time_limit: Annotated[float, typer.Option(help="CPU seconds of each exact run.")] = 300.0,
    quick: Annotated[bool, typer.Option("--quick", help="Light seeds only.")] = False,
) -> None:
    """Print CPU seconds of one process and one solver thread."""
    show("sia-oracle", [row() for row in _rows(trace, time_limit, quick)])


def _rows(trace: Path | None, time_limit: float, quick: bool) -> Iterator[Callable[[], Measured]]:
    limit = Options(time_limit=time_limit)
    exact(synthetic("base", 0, days=1).data, Options(time_limit=10.0))  # so that no figure holds the compilation
    for days, minutes in ((0.25, 1.0), (1.0, 5.0)):
        data = synthetic("base", 18, days=days, slot_minutes=minutes).data
        yield partial(measure, f"literal, {24 * days:g} h at {minutes:g} min", [partial(literal, data, limit)])
        yield partial(measure, f"exact, {24 * days:g} h at {minutes:g} min", [partial(exact, data, limit)])
    for hours in (6.0, 12.0):
        yield partial(_local, hours, range(3 if quick else 10))
    for minutes in (1.0, 5.0):
        for seed in LIGHT:
            data = synthetic("base", seed, slot_minutes=minutes).data
            what = f"exact, three days at {minutes:g} min, seed {seed}"
            yield partial(measure, what, [partial(exact, data, limit)], _gaps(data))
    seeds = [synthetic("base", seed).data for seed in (LIGHT if quick else range(20))]
    for name in ("sia_vc", "safe_ssf"):
        runs = [partial(getattr(heuristics, name), data) for data in seeds]
        yield partial(measure, f"{name.replace('_', '-')}, three days", runs, _alone)
    yield partial(_slowed, 100 if quick else 1000)
    if not quick:
        yield partial(_policies, seeds, limit)
    if trace is not None:
        instance = trace_instance(philly(trace), slot_minutes=1 / 60, name="philly")
        for name in ("fcfs", "sia-perfect"):
            yield partial(_simulated, instance, name, partial(heuristics.ONLINE[name], instance.data, 0))
        yield partial(_simulated, instance, "sia with learnt arrivals", partial(_learned, instance.data, trace))


def _gaps(data: SiaOracle) -> Callable[[list[Result]], str]:
    """Gap in delay and in mean JCT: the second is the first times the delay's share of all time."""

    def note(results: list[Result]) -> str:
        r = results[0]
        return f"{proofs(results)}, optimum at most {r.objective:g}, gap in mean JCT {percent(jct_gap(data, r), 3)}"

    return note


def jct_gap(data: SiaOracle | SiaLocalOracle, result: Result) -> float:
    """Gap in mean JCT: (JCT - bound on JCT) / JCT, of the sum over all jobs."""
    assert result.objective is not None
    assert result.bound is not None
    work = sum(job.duration for job in data.jobs)
    return (result.objective - result.bound) / (result.objective + work)


def _local(hours: float, seeds: Sequence[int]) -> Measured:
    """The oracle with locality on the base workload, under a limit of time, and how far SIA_VC is from its optimum."""
    cases = [SiaLocalOracle.of(synthetic("base", seed, days=hours / 24).data) for seed in seeds]
    seconds, results, dearer = [], [], 0
    for data in cases:
        with Stopwatch() as watch:
            results.append(local_exact(data, Options(time_limit=LOCAL_SECONDS)))
        seconds.append(watch.cpu_s)
        dearer += results[-1].solved and (results[-1].bound or 0) > results[-1].info.get("without_locality", 0)
    gaps = [jct_gap(data, r) for data, r in zip(cases, results, strict=True)]
    proven = [k for k, r in enumerate(results) if r.status == "optimal"]
    clocks = [heuristics.local_sia_vc(cases[k]).model_copy(update={"bound": results[k].bound}) for k in proven]
    above = fmean(jct_gap(cases[k], clock) for k, clock in zip(proven, clocks, strict=True))
    found = (
        f"{len(proven)}/{len(cases)} proven in {LOCAL_SECONDS:g} s, {min(len(d.jobs) for d in cases)} to "
        f"{max(len(d.jobs) for d in cases)} jobs; largest gap in mean JCT {percent(max(gaps), 2)}; "
        f"bound above that without locality in {dearer}; mean gap of SIA_VC to the proven optima {percent(above, 2)}"
    )
    return Measured(f"exact with locality, {hours:g} h at 1 min", len(cases), fmean(seconds), max(seconds), found)


def _alone(results: list[Result]) -> str:
    seconds = [r.solve_s or 0.0 for r in results]
    return f"the algorithm alone {1000 * fmean(seconds):.1f} ms mean, {1000 * max(seconds):.1f} ms max"


def _policies(seeds: list[SiaOracle], limit: Options) -> Measured:
    """Exact runs on all seeds, and every policy beside the best schedules, as in Figure 5."""
    seconds, proven, gaps, starts = [], 0, [], []
    for data in seeds:
        with Stopwatch() as watch:
            r = exact(data, limit)
        seconds.append(watch.cpu_s)
        proven += r.status == "optimal"
        gaps.append(jct_gap(data, r))
        assert r.solution is not None
        starts.append(r.solution["starts"])
        err.print(
            f"  {r.status} delay {r.objective:g}, bound {r.bound:g}, gap in mean JCT {percent(gaps[-1], 3)}, "
            f"{watch.cpu_s:.0f} s",
            markup=False,
        )
    for row in compare(seeds, starts):
        err.print(
            f"  {row.policy}: delay {percent(row.delay_above, 0)} above the oracle (median), mean JCT "
            f"{percent(row.jct_above)}; against FCFS: {row.speed_up:.2f} times as fast in mean JCT, "
            f"{row.geometric:.2f} in the geometric mean of jobs, {percent(row.slowed)} of jobs "
            f"slowed, at worst {row.worst:.1f} times as long, {percent(row.lost, 2)} of all JCT lost",
            markup=False,
        )
    found = (
        f"{proven}/{len(seeds)} proven; gap in mean JCT at most 1%: {sum(g <= 0.01 for g in gaps)}, "
        f"at most 3%: {sum(g <= 0.03 for g in gaps)}, largest {percent(max(gaps))}"
    )
    return Measured(f"exact, {len(seeds)} seeds, three days", len(seeds), fmean(seconds), max(seconds), found)


def _slowed(count: int) -> Measured:
    """Small random instances: jobs that the theorem-keeping policies delay past a cut-off."""
    rng, slowed, seconds = np.random.default_rng(0), 0, []
    for _ in range(count):
        pools = [Pool(name=f"p{i}", gpus=int(rng.integers(1, 9))) for i in range(rng.integers(1, 5))]
        jobs = []
        for k in range(rng.integers(1, 40)):
            pool = pools[rng.integers(len(pools))]
            width, duration = int(rng.integers(1, pool.gpus + 1)), int(rng.integers(1, 60))
            jobs.append(
                Job(id=f"j{k}", pool=pool.name, submit=int(rng.integers(0, 120)), duration=duration, gpus=width)
            )
        data = SiaOracle(slot_minutes=1.0, pools=tuple(pools), jobs=tuple(jobs))
        with Stopwatch() as watch:
            for method in (heuristics.sia_vc, heuristics.safe_ssf, heuristics.sia_perfect):
                slowed += method(data).status == "violates"
        seconds.append(watch.cpu_s)
    found = f"{slowed} runs of SIA_VC, safe shortest-first and SIA with perfect predictions slow a job"
    return Measured("random instances, three policies", count, fmean(seconds), max(seconds), found)


def _learned(data: SiaOracle, trace: Path) -> Policy[View, Start]:
    """SIA with models of the first weeks of a trace; the training counts as well."""
    from heuristics.sia.learned import sia_learned

    return sia_learned(data, models_of(trace))


def _simulated(instance: Instance[SiaOracle], name: str, make: Callable[[], Policy[View, Start]]) -> Measured:
    with Stopwatch() as watch:
        world = PoolsWorld.of(instance.data)
        simulate(world, make())
    jobs = world.jobs_table()
    note = f"mean delay {summary(jobs)['mean_delay'] / 3600:.1f} h"
    return Measured(f"simulator, {len(jobs):,} jobs, {name}", 1, watch.cpu_s, watch.cpu_s, note)


if __name__ == "__main__":
    typer.run(main)
