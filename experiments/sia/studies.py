"""Studies of SIA's oracle: its times, the policies of Figure 5 with true gaps, other solvers, and growth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Any

import numpy as np
import typer

from experiments.harness.experiment import Quick, Study, TextTable, chunks, limit_time
from experiments.harness.task import Measured, Measurement
from experiments.output.benchmark import Timing, benchmark, proofs, runs
from experiments.output.terminal import percent
from experiments.peers.comparison import LIMIT_S, Peer, PeerRow, comparison
from experiments.peers.growth import Ladder, build_study
from experiments.sia.comparison import models_of
from experiments.sia.reference import HALF_DAYS
from experiments.simulator import simulate, summary
from experiments.simulator.sia import PoolsWorld
from heuristics import sia as heuristics
from instances import Instance, Options, Result, Stopwatch
from instances.arrays import IntArray
from instances.sia import Job, Pool, SiaLocalOracle, SiaOracle, philly, synthetic, trace_instance
from instances.sia.arrays import oracle_arrays

LIGHT = (1, 14, 17, 18)  # These seeds of the base workload are proven within a minute.
BENCHMARK_S = 120.0
HORIZONS, HORIZON_SEEDS = (0.5, 1.0, 3.0), 20  # days of the base workload, and seeds of each
HORIZON_S = 60.0
LOCAL_SECONDS = 20.0  # limit of each run with locality
EXACT, LITERAL = "models.sia:exact", "models.sia:literal"


POLICIES = (
    *("fcfs", "ssf", "gssf", "mmfs", "hived", "themis", "sia-vc", "sia-vc-literal", "safe-ssf", "sia-perfect"),
    "sia-sliding",
)


def benchmarks(
    options: Options,
    trace: Annotated[Path | None, typer.Option(help="Philly pool trace (philly.csv).")] = None,
    quick: Quick = False,
) -> Study:
    """Print CPU seconds of building and solving, with one solver thread, and policies against the best schedules."""
    limit = limit_time(options, BENCHMARK_S)
    rows = list(_rows(options, limit, quick))
    if trace is not None:
        rows += [_time_simulation(trace, name, options) for name in ("fcfs", "sia-perfect", "sia-learned")]
    if quick:
        return benchmark(rows)
    seeds = [synthetic("base", seed) for seed in range(20)]
    best = Timing(f"exact, {len(seeds)} seeds, three days", runs(EXACT, seeds, limit), partial(_describe_gaps, seeds))
    measured = benchmark([*rows, best])
    policies = [run for name in POLICIES for run in runs(f"heuristics.sia:{name.replace('-', '_')}", seeds, options)]

    def tables(outcomes: Sequence[Any]) -> list[TextTable | str]:
        timed = outcomes[: len(measured.tasks)]
        schedules = chunks([(r.solution or {})["starts"] for r in outcomes[len(timed) - len(seeds) :]], len(seeds))
        beside = compare([s.data for s in seeds], schedules[0], dict(zip(POLICIES, schedules[1:], strict=True)))
        head = ["", "delay above", "mean JCT above", "speed-up", "geometric", "jobs slowed", "at worst", "JCT lost"]
        lines = [
            [
                row.policy,
                percent(row.delay_above, 0),
                percent(row.jct_above),
                f"{row.speed_up:.2f}",
                f"{row.geometric:.2f}",
                percent(row.slowed),
                f"{row.worst:.1f} times",
                percent(row.lost, 2),
            ]
            for row in beside
        ]
        about = "delay and mean JCT above the oracle's; the others against FCFS"
        return [*measured.tables(timed), about, TextTable(head, lines)]

    return Study([*measured.tasks, *policies], tables)


def horizons(options: Options, quick: Quick = False) -> Study:
    """Measure SIA_VC and SIA with perfect predictions against the oracle by days: half, one, and the paper's three."""
    limit, seeds = limit_time(options, HORIZON_S), range(1 if quick else HORIZON_SEEDS)
    rows = []
    for days in HORIZONS[:1] if quick else HORIZONS:
        made = [synthetic("base", seed, days=days) for seed in seeds]
        beside = [run for name in ("sia_vc", "sia_perfect") for run in runs(f"heuristics.sia:{name}", made, options)]
        rows.append(Timing(f"{days:g} days", runs(EXACT, made, limit), partial(_describe_excess, made), beside,
                           partial(_jct_above, made)))  # fmt: skip
    return benchmark(rows)


def _jct_above(
    made: Sequence[Instance[SiaOracle]], exact: Sequence[Result], heuristics: Sequence[Result]
) -> dict[str, list[float]]:
    """Return how far mean JCTs are above proven optima, and above the best schedule and the bound of all workloads."""
    work = [sum(job.duration for job in one.data.jobs) for one in made]
    proven = [r.status == "optimal" for r in exact]
    found: dict[str, list[float]] = {
        "gap in mean JCT, not proven": [
            jct_gap(one.data, r) for one, r, is_proven in zip(made, exact, proven, strict=True) if not is_proven
        ]
    }
    for name, results in zip(("SIA_VC", "SIA, perfect predictions"), chunks(heuristics, len(made)), strict=True):
        best, bound = (
            [(_delay_of(r) + w) / (end + w) - 1 for r, end, w in zip(results, ends, work, strict=True)]
            for ends in ([_delay_of(r) for r in exact], [r.bound or 0.0 for r in exact])
        )
        optimal = [above for above, is_proven in zip(best, proven, strict=True) if is_proven]
        found |= {
            f"{name}: mean JCT above the optimum, proven workloads": optimal,
            f"{name}: mean JCT above the best schedule, all": best,
            f"{name}: mean JCT above the bound, all": bound,
        }
    return found


def _delay_of(result: Result) -> float:
    assert result.objective is not None
    return result.objective


def _describe_excess(made: Sequence[Instance[SiaOracle]], exact: Sequence[Result], heuristics: Sequence[Result]) -> str:
    """Describe the proofs of one row, its largest gap, and the means above the best schedule."""
    found = _jct_above(made, exact, heuristics)
    left = max(found["gap in mean JCT, not proven"], default=0.0)
    means = ", ".join(
        f"{name.partition(':')[0]} {percent(fmean(values))}"
        for name, values in found.items()
        if name.endswith("the best schedule, all")
    )
    return f"{proofs(exact)}, in mean JCT {percent(left)}; mean JCT above the best schedule: {means}"


def _rows(options: Options, limit: Options, quick: bool) -> Iterator[Timing]:
    for days, minutes in ((0.25, 5.0),) if quick else ((0.25, 1.0), (1.0, 5.0)):
        drawn = [synthetic("base", 18, days=days, slot_minutes=minutes)]
        yield Timing(f"literal, {24 * days:g} h at {minutes:g} min", runs(LITERAL, drawn, limit))
        yield Timing(f"exact, {24 * days:g} h at {minutes:g} min", runs(EXACT, drawn, limit))
    for hours in (6.0,) if quick else (6.0, 12.0):
        yield _local(hours, range(1 if quick else 10), options)
    light = LIGHT[-1:] if quick else LIGHT
    for minutes in (5.0,) if quick else (1.0, 5.0):
        for seed in light:
            one = synthetic("base", seed, slot_minutes=minutes)
            what = f"exact, three days at {minutes:g} min, seed {seed}"
            yield Timing(what, runs(EXACT, [one], limit), partial(_gap, one.data))
    seeds = [synthetic("base", seed) for seed in (light if quick else range(20))]
    for name in ("sia_vc", "safe_ssf"):
        yield Timing(
            f"{name.replace('_', '-')}, three days", runs(f"heuristics.sia:{name}", seeds, options), _describe_arrays
        )
    random = Measurement.of(count_slowed, options, count=100 if quick else 1000)
    yield Timing("random instances, three policies", [random], _describe_slowed)


def _gap(data: SiaOracle, results: Sequence[Result]) -> str:
    """Gap in delay and in mean JCT: the second is the first times the delay's share of all time."""
    r = results[0]
    return f"{proofs(results)}, optimum at most {r.objective:g}, gap in mean JCT {percent(jct_gap(data, r), 3)}"


def jct_gap(data: SiaOracle | SiaLocalOracle, result: Result) -> float:
    """Gap in mean JCT: (JCT - bound on JCT) / JCT, of the sum over all jobs."""
    assert result.objective is not None
    assert result.bound is not None
    work = sum(job.duration for job in data.jobs)
    return (result.objective - result.bound) / (result.objective + work)


def _local(hours: float, seeds: Sequence[int], options: Options) -> Timing:
    """Return the runs of the oracle with locality on the base workload, and the distance of SIA_VC from its optimum."""
    drawn = [synthetic("base", seed, days=hours / 24) for seed in seeds]
    cases = [Instance.of(SiaLocalOracle.of(one.data), one.name) for one in drawn]
    limit = replace(options, time_limit=LOCAL_SECONDS)

    def describe(results: Sequence[Result], clocks: Sequence[Result]) -> str:
        of = list(zip((case.data for case in cases), results, clocks, strict=True))
        gaps = [jct_gap(data, r) for data, r, _ in of]
        optima = [(data, r, clock) for data, r, clock in of if r.status == "optimal"]
        above = fmean(jct_gap(data, clock.model_copy(update={"bound": r.bound})) for data, r, clock in optima)
        higher = sum(r.solved and (r.bound or 0) > r.info.get("without_locality", 0) for r in results)
        jobs = [len(data.jobs) for data, _, _ in of]
        return (
            f"{len(optima)}/{len(of)} proven in {LOCAL_SECONDS:g} s, {min(jobs)} to {max(jobs)} jobs; "
            f"largest gap in mean JCT {percent(max(gaps), 2)}; bound above that without locality in {higher}; "
            f"mean gap of SIA_VC to the proven optima {percent(above, 2)}"
        )

    clocks = runs("heuristics.sia:local_sia_vc", cases, options)
    return Timing(
        f"exact with locality, {hours:g} h at 1 min", runs("models.sia:local_exact", cases, limit), describe, clocks
    )


def _describe_arrays(results: Sequence[Result]) -> str:
    seconds = [r.solve_s or 0.0 for r in results]
    return f"the algorithm alone {1000 * fmean(seconds):.1f} ms mean, {1000 * max(seconds):.1f} ms max"


def _describe_gaps(seeds: Sequence[Instance[SiaOracle]], results: Sequence[Result]) -> str:
    gaps = [jct_gap(one.data, r) for one, r in zip(seeds, results, strict=True)]
    near = sum(r.gap is not None and r.gap <= 0.03 for r in results)
    return (
        f"{sum(r.status == 'optimal' for r in results)}/{len(gaps)} proven; gap in mean JCT at most 1%: "
        f"{sum(g <= 0.01 for g in gaps)}, largest {percent(max(gaps), 2)}; gap in delay at most 3%: {near}"
    )


def count_slowed(count: int, options: Options) -> dict[str, Any]:
    """Small random instances: how many runs of the theorem-keeping policies delay a job past a cut-off."""
    rng, late = np.random.default_rng(0), 0
    seconds = []
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
                late += method(data).status == "violates"
        seconds.append(watch.cpu_s)
    return {"late": late, "mean_s": fmean(seconds)}


def _describe_slowed(measured: Sequence[Measured]) -> str:
    found = measured[0].figures
    each = f"{1000 * found['mean_s']:.1f} ms each"
    return f"{found['late']} runs of SIA_VC, safe shortest-first and SIA with perfect predictions slow a job; {each}"


def _time_simulation(trace: Path, policy: str, options: Options) -> Timing:
    """Return a policy on a whole trace in slots of a second; `sia-learned` has models of its first weeks."""
    task = Measurement.of(measure_simulation, options, None, trace=trace, policy=policy)
    return Timing(f"simulator, {trace.stem}, {policy}", [task], _delay)


def measure_simulation(trace: Path, policy: str, options: Options) -> dict[str, Any]:
    """Jobs, mean delay and the CPU seconds of the run of a policy, which those of its training are part of."""
    data = trace_instance(philly(trace), slot_minutes=1 / 60, name="philly").data
    with Stopwatch() as watch:
        world = PoolsWorld.of(data)
        if policy == "sia-learned":
            from heuristics.sia.learned import sia_learned  # with pandas, only where it is asked for

            simulate(world, sia_learned(data, models_of(trace)))
        else:
            simulate(world, heuristics.ONLINE[policy](data, 0))
    jobs = world.jobs_table()
    return {"jobs": len(jobs), "mean_delay_h": summary(jobs)["mean_delay"] / 3600, "cpu_s": watch.cpu_s}


def _delay(measured: Sequence[Measured]) -> str:
    found = measured[0].figures
    return f"{found['jobs']:,} jobs, mean delay {found['mean_delay_h']:.1f} h"


@dataclass(frozen=True)
class PolicyFigures:
    """A policy over some workloads.

    - `delay_above`: median excess of its delay over the oracle's schedule.
    - `jct_above`: mean excess in mean JCT.
    - `speed_up`: median over the workloads of mean JCT under FCFS / mean JCT.
    - `geometric`: median of the geometric mean of the jobs' own speed-ups, as in the paper.
    - `slowed`: share of jobs that end later than under FCFS.
    - `worst`: maximum over the jobs of JCT / JCT under FCFS.
    - `lost`: total delay of the slowed jobs, relative to the total JCT under FCFS.
    """

    policy: str
    delay_above: float
    jct_above: float
    speed_up: float
    geometric: float
    slowed: float
    worst: float
    lost: float


def compare(
    workloads: Sequence[SiaOracle],
    oracle: Sequence[Mapping[str, int]],
    policies: Mapping[str, Sequence[Mapping[str, int]]],
) -> list[PolicyFigures]:
    """Return the figures of the oracle and of policies by name, from the starts of the jobs of each workload."""
    arrays = [oracle_arrays(data) for data in workloads]
    fcfs, run = [a.cutoff - a.submit for a in arrays], [a.duration for a in arrays]
    best = list(map(_delays, workloads, oracle))
    found = []
    for policy, starts in {"oracle": oracle, **policies}.items():
        delay = list(map(_delays, workloads, starts))
        ratios = [(d + r) / (f + r) for d, f, r in zip(delay, fcfs, run, strict=True)]
        ratio = np.concatenate(ratios)
        lost = sum(int(np.maximum(d - f, 0).sum()) for d, f in zip(delay, fcfs, strict=True))
        found.append(
            PolicyFigures(
                policy=policy,
                delay_above=median(d.sum() / b.sum() - 1 for d, b in zip(delay, best, strict=True)),
                jct_above=fmean((d + r).sum() / (b + r).sum() - 1 for d, b, r in zip(delay, best, run, strict=True)),
                speed_up=median((f + r).sum() / (d + r).sum() for d, f, r in zip(delay, fcfs, run, strict=True)),
                geometric=median(float(np.exp(-np.log(one).mean())) for one in ratios),
                slowed=float((ratio > 1).mean()),
                worst=float(ratio.max()),
                lost=lost / sum(int((f + r).sum()) for f, r in zip(fcfs, run, strict=True)),
            )
        )
    return found


def _delays(data: SiaOracle, starts: Mapping[str, int]) -> IntArray:
    return np.array([starts[job.id] - job.submit for job in data.jobs])


START_TIMES = "experiments.peers.cp_sat.sia:start_times"
PEERS = (
    Peer("CP-SAT, start times", START_TIMES, extra=True),
    Peer("CP-SAT, start times, 8 workers", START_TIMES, workers=8, extra=True),
)
UNSEEN = (0, 1, 2, 7, 10)


def peers(options: Options, quick: Quick = False) -> Study:
    """Compare the exact oracle with the best compact model for another solver, at equal CPU limits."""
    rows = {
        "SIA, half a day, of the reference": [synthetic("base", s, days=0.5) for s in HALF_DAYS[:5]],
        "SIA, half a day, seeds 0, 1, 2, 7, 10": [synthetic("base", s, days=0.5) for s in UNSEEN],
    }
    made = [PeerRow(work, instances, EXACT, PEERS) for work, instances in rows.items()]
    if quick:
        few = [synthetic("base", 0, days=0.125, slot_minutes=10.0)]
        made = [PeerRow("SIA, an eighth of a day at 10 min", few, EXACT, [Peer("HiGHS, the literal program", LITERAL)])]
    return comparison(made, limit_time(options, LIMIT_S))


def _hours(size: float, seed: int) -> Instance[SiaOracle]:
    return synthetic("base", seed, days=size / 24)


LADDERS = (Ladder("SIA, base workload", "hours", (3, 6, 12, 24, 48, 72), _hours, EXACT, PEERS[1]),)


def growth(options: Options, quick: Quick = False) -> Study:
    """How CPU seconds of the exact oracle and of its peer grow with the size of the instance."""
    return build_study(LADDERS, limit_time(options, LIMIT_S), quick)
