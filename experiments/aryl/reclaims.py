"""Studies of reclaims: of drawn pools of loaned servers, and of those that happen in runs.

The excess of Algorithm 1 and SCF depends on the size of the pool, the fragmentation of the placement and the share of
servers to reclaim. Further studies let jobs continue with some of their workers, and count GPU-hours instead of jobs.

The bound on the preemptions of a run depends on its starts. Any orchestrator with the same first starts on loaned
servers has at least this number of preemptions, for any choice of servers and any knowledge of the future load.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from experiments.aryl.simulation import POLICIES
from experiments.harness.experiment import Study, TextTable, chunks, limit_time
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from experiments.output.terminal import percent
from experiments.simulator.aryl import LoaningWorld
from experiments.simulator.kernel import simulate
from heuristics.aryl import reclaim_greedy, reclaim_literal_order, reclaim_random, reclaim_scf
from heuristics.aryl.online import Loaning, flexible_first
from instances import Options, Result
from instances.aryl import ArylLoaning, ArylReclaim, loaned_servers, loaning_days
from models.aryl import exact, pareto_front
from models.aryl.loss import compute_loss
from models.aryl.preemption_bound import PreemptionBound, Stay, bound_preemptions, make_stay

POOLS = (250, 520)
SEEDS, FRONTS = 20, 5
FRAGMENTATION = (0.0, 0.35, 0.7, 1.0)
FRONT_FRAGMENTATION = FRAGMENTATION[:3]
"""A front where all is random takes minutes."""
SHARES = (0.04, 0.08, 0.12, 0.16, 0.24, 0.36, 0.48)
"""Shares of the servers that go back."""
ELASTIC = (0.05, 0.36, 1.0)
LIMIT_S = 60.0
RULES: tuple[Callable[[ArylReclaim], Result], ...] = (reclaim_greedy, reclaim_scf)


def excess(preemptions: float, fewest: float) -> float | None:
    """Return `preemptions` / `fewest` - 1; 0 if both are 0, and `None` if only `fewest` is 0."""
    if fewest == 0:
        return 0.0 if preemptions == 0 else None
    return preemptions / fewest - 1


def format_excess(preemptions: float, fewest: float) -> str:
    """Return the excess as a percentage, or the two numbers if the percentage is undefined."""
    share = excess(preemptions, fewest)
    return f"{preemptions:g} against 0" if share is None else percent(share, 0)


def place_of(fragmentation: float) -> str:
    """Return the placement of a generated pool in words."""
    return {0.0: "best fit", 1.0: "random"}.get(fragmentation, f"{percent(fragmentation, 0)} random")


@dataclass(frozen=True)
class Excess:
    """Preemptions by instance: of Algorithm 1, of SCF, and of the optimum, or its bound if it is not `proven`."""

    greedy: tuple[float, ...]
    scf: tuple[float, ...]
    fewest: tuple[float, ...]
    proven: tuple[bool, ...]

    @property
    def means(self) -> tuple[float, float, float]:
        """Mean preemptions of Algorithm 1, of SCF and of the optimum."""
        greedy, scf, fewest = (sum(counts) / len(counts) for counts in (self.greedy, self.scf, self.fewest))
        return greedy, scf, fewest

    @property
    def excess_of_means(self) -> float | None:
        """The excess of Algorithm 1's mean."""
        greedy, _, fewest = self.means
        return excess(greedy, fewest)

    @property
    def worst(self) -> tuple[float, float]:
        """Return the pair with the largest excess; an optimum of 0 that Algorithm 1 misses is larger than any other."""

        def size(pair: tuple[float, float]) -> float:
            share = excess(*pair)
            return math.inf if share is None else share

        return max(zip(self.greedy, self.fewest, strict=True), key=size)

    @property
    def equal(self) -> int:
        """Instances on which Algorithm 1 has the fewest preemptions."""
        return sum(a == b for a, b in zip(self.greedy, self.fewest, strict=True))

    @property
    def beaten(self) -> int:
        """Instances on which SCF has fewer preemptions than Algorithm 1."""
        return sum(b < a for a, b in zip(self.greedy, self.scf, strict=True))


Cells = Mapping[tuple[int, float, float], Excess]
"""By the size of the pool, the fragmentation, and the share of the servers that go back."""


def excesses(
    options: Options,
    picture: Annotated[Path | None, typer.Option(help="Write the picture there (.svg, .png or .pdf).")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Instances of each cell.")] = SEEDS,
    servers: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Loaned servers of an instance; repeatable.", show_default="250 and 520"),
    ] = None,
) -> Study:
    """Print mean preemptions of Algorithm 1, SCF and the optimum, the excess of the means and of the worst instance."""
    if picture is not None and picture.suffix not in (".svg", ".png", ".pdf"):
        raise typer.BadParameter(f"{picture}: a picture is written as .svg, .png or .pdf")
    pools = list(dict.fromkeys(servers or POOLS))
    limit = limit_time(options, LIMIT_S)
    places = list(product(pools, FRAGMENTATION, SHARES))
    tasks = [
        Measurement.of(preemptions, limit, pool=pool, fragmentation=placed, reclaim=round(share * pool), seed=seed)
        for pool, placed, share in places
        for seed in range(seeds)
    ]

    def cells_of(outcomes: Sequence[Measured]) -> Cells:
        return {
            place: Excess(*(tuple(one.figures[name] for one in of) for name in ("greedy", "scf", "fewest", "proven")))
            for place, of in zip(places, chunks(outcomes, seeds), strict=True)
        }

    def tables(outcomes: Sequence[Measured]) -> list[TextTable | str]:
        cells = cells_of(outcomes)
        found = [part for pool in pools for part in _tables(pool, cells, seeds)]
        proven = sum(sum(cell.proven) for cell in cells.values())
        return [*found, f"{proven} of {len(outcomes)} optima proven; the others count with their bound"]

    def write(outcomes: Sequence[Measured]) -> None:
        if picture is not None:
            _draw(cells_of(outcomes), seeds, picture)

    def values(outcomes: Sequence[Measured]) -> dict[str, Sample | float | str]:
        cells = cells_of(outcomes)
        proven = sum(sum(cell.proven) for cell in cells.values())
        found: dict[str, Sample | float | str] = {"optima proven": f"{proven:,} of {len(outcomes):,}"}
        for placed in FRAGMENTATION:
            of = [cell for (_, fragmentation, _), cell in cells.items() if fragmentation == placed]
            means, worst = [cell.excess_of_means for cell in of], [excess(*cell.worst) for cell in of]
            for what, shares in (("excess of the means", means), ("worst instance", worst)):
                found[f"{place_of(placed)}: {what}"] = Sample.of([share for share in shares if share is not None])
        return found

    return Study(tasks, tables, write, values)


def preemptions(pool: int, fragmentation: float, seed: int, reclaim: int, options: Options) -> dict[str, Any]:
    """Preemptions of Algorithm 1, of SCF and of the optimum, or its bound, on one instance."""
    data = loaned_servers(pool, fragmentation, seed, reclaim).data
    result = exact(data, options)
    return {
        "greedy": reclaim_greedy(data).objective or 0.0,
        "scf": reclaim_scf(data).objective or 0.0,
        "fewest": result.bound or 0.0,
        "proven": result.status == "optimal",
    }


def _tables(pool: int, cells: Cells, seeds: int) -> list[TextTable | str]:
    rows = []
    for share in SHARES:
        row = [f"{percent(share, 0)}: {round(share * pool)}"]
        for fragmentation in FRAGMENTATION:
            cell = cells[pool, fragmentation, share]
            greedy, scf, fewest = cell.means
            shares = f"{format_excess(greedy, fewest)} ({format_excess(*cell.worst)})"
            row.append(f"{greedy:.1f} / {scf:.1f} / {fewest:.1f}: {shares}, {cell.equal}, {cell.beaten}")
        rows.append(row)
    return [
        TextTable([f"of {pool}", *map(place_of, FRAGMENTATION)], rows),
        "servers that go back: mean preemptions of Algorithm 1 / SCF / optimum, the excess of Algorithm 1's mean",
        f"(and on its worst instance), on how many of {seeds} it is optimal, on how many SCF has fewer",
    ]


def _draw(cells: Cells, seeds: int, picture: Path) -> None:
    from experiments.aryl.pictures import excess_lines  # with matplotlib, only where it is drawn
    from experiments.canvas import save_figure

    lines: dict[tuple[int, str], dict[float, tuple[float | None, bool]]] = {}
    for (pool, placed, share), cell in cells.items():
        lines.setdefault((pool, place_of(placed)), {})[share] = cell.excess_of_means, all(cell.proven)
    save_figure(excess_lines(lines, seeds), picture)


def losses(
    options: Options,
    servers: Annotated[int, typer.Option(min=1, help="Loaned servers of an instance.")] = POOLS[0],
    reclaim: Annotated[int, typer.Option(min=1, help="Servers that go back.")] = 40,
    seeds: Annotated[int, typer.Option(min=1, help="Instances of each cell.")] = SEEDS,
    fronts: Annotated[int, typer.Option(min=1, help="Instances of each placement whose front is found.")] = FRONTS,
) -> Study:
    """Print preempted jobs under both rules of preemption, and jobs against GPU-hours."""
    if reclaim > servers:
        raise typer.BadParameter(f"--reclaim: must be <= {servers}, the servers, got {reclaim}")
    limit = limit_time(options, LIMIT_S)
    drawn = {"servers": servers, "reclaim": reclaim}
    cells = list(product(FRAGMENTATION, ELASTIC))
    tasks = [
        Measurement.of(compare_rules, limit, 2, **drawn, fragmentation=placed, elastic_share=share, seed=seed)
        for placed, share in cells
        for seed in range(seeds)
    ]
    tasks += [
        Measurement.of(jobs_and_hours, limit, None, **drawn, fragmentation=placed, seed=seed)
        for placed in FRONT_FRAGMENTATION
        for seed in range(fronts)
    ]

    def tables(outcomes: Sequence[Measured]) -> list[TextTable | str]:
        first, second = outcomes[: len(cells) * seeds], outcomes[len(cells) * seeds :]
        rows = []
        for (placed, share), of in zip(cells, chunks(first, seeds), strict=True):
            rows.append([f"{place_of(placed)}, {share:.0%}", *(f"{mean:.2f}" for mean in _means(of, "jobs"))])
        names = "Algorithm 1", "SCF", "optimum"
        proven = sum(one.figures["proven"] for one in first)
        pairs = []
        for placed, of in zip(FRONT_FRAGMENTATION, chunks(second, fronts), strict=True):
            *four, beside, points = _means(of, "row")
            both = [f"{jobs:.1f}, {hours:,.0f}" for jobs, hours in chunks(four, 2)]
            pairs.append([place_of(placed), *both, f"{beside:,.0f} GPU-hours", f"{points:.1f}"])
        columns = "fewest jobs", "fewest GPU-hours", "no more jobs than Algorithm 1", "points"
        complete = sum(one.figures["complete"] for one in second)
        return [
            TextTable(["placement, elastic jobs", *names, *(f"{name}, any workers" for name in names)], rows),
            f"{proven} of {2 * len(first)} optima proven",
            TextTable(["jobs, GPU-hours", *names[:2], *columns], pairs),
            f"{complete} of {len(second)} fronts proven complete",
        ]

    return Study(tasks, tables)


def _means(outcomes: Sequence[Measured], name: str) -> list[float]:
    """Return the mean of each entry of a list that all outcomes have."""
    return [sum(values) / len(outcomes) for values in zip(*(one.figures[name] for one in outcomes), strict=True)]


def compare_rules(
    servers: int, reclaim: int, fragmentation: float, seed: int, elastic_share: float, options: Options
) -> dict[str, Any]:
    """Return jobs lost by the paper's rule and by the minimum number of workers, for the same choices of servers.

    By the paper's rule, losing any server of a base worker preempts the job.
    """
    data = loaned_servers(servers, fragmentation, seed, reclaim, elastic_share=elastic_share).data
    jobs = tuple(job.model_copy(update={"workers": None, "min_workers": None}) for job in data.jobs)
    both = data.model_copy(update={"jobs": jobs}), data
    chosen = [rule(data).solution or {} for rule in RULES]
    lost, proven = list[float](), 0
    for one in both:
        best = exact(one, options, start=chosen[0])
        lost += [*(compute_loss(one, choice["servers"])[1] for choice in chosen), best.bound or 0.0]
        proven += best.status == "optimal"
    return {"jobs": lost, "proven": proven}


def jobs_and_hours(servers: int, reclaim: int, fragmentation: float, seed: int, options: Options) -> dict[str, Any]:
    """Return jobs and GPU-hours of Algorithm 1, SCF and both ends of the front.

    The row also has the minimum GPU-hours on the front with no more jobs than Algorithm 1, and the number of points.
    """
    data = loaned_servers(servers, fragmentation, seed, reclaim, objective="lost-gpu-hours").data
    front = pareto_front(data, options)
    pairs = [compute_loss(data, (rule(data).solution or {})["servers"]) for rule in RULES]
    corners = [(p.gpu_hours, p.jobs) for p in (front.points[0], front.points[-1])]
    row = [float(number) for hours, jobs in (*pairs, *corners) for number in (jobs, hours)]
    beside = min(p.gpu_hours for p in front.points if p.jobs <= pairs[0][1])
    return {"row": [*row, float(beside), float(len(front.points))], "complete": front.complete}


ORDERS: dict[str, Callable[..., Result]] = {
    "Algorithm 1": reclaim_greedy,
    "in file order": reclaim_literal_order,
    "SCF": reclaim_scf,
    "random": reclaim_random,
}
PERIODS = (300.0, 1800.0, 3600.0)
LIMIT = Options(time_limit=20.0)


class Workers(StrEnum):
    """Width of the workers of inelastic jobs."""

    WHOLE = "whole"
    SMALL = "small"


class Watched:
    """A reclaimer that follows Algorithm 1, and records the losses of the other orders."""

    def __init__(self) -> None:
        self.lost: dict[str, list[float]] = {name: [] for name in ORDERS}
        self.least: list[float] = []
        self.proven = 0
        self.servers: list[int] = []
        self.pools: list[int] = []

    def __call__(self, problem: ArylReclaim) -> Sequence[str]:
        results = {name: solve(problem, Options(seed=len(self.least))) for name, solve in ORDERS.items()}
        for name, result in results.items():
            self.lost[name].append(result.objective or 0.0)
        best = exact(problem, LIMIT)
        self.least.append(math.ceil((best.bound or 0.0) - 1e-6))
        self.proven += best.status == "optimal"
        self.servers.append(problem.reclaim)
        self.pools.append(len(problem.servers))
        solution = results["Algorithm 1"].solution
        assert solution is not None
        servers: Sequence[str] = solution["servers"]
        return servers

    def cells(self) -> list[str]:
        """Return the cells of a row: means and sums over the reclaims."""
        number, fewest = len(self.least), sum(self.least)
        if not number:
            return ["0", *["-"] * (5 + len(ORDERS))]
        means = [f"{sum(values) / number:.1f}" for values in (self.servers, self.pools)]
        cells = [str(number), *means, str(self.proven), f"{fewest:.0f}"]
        for lost in self.lost.values():
            share = percent(sum(lost) / fewest - 1, 1) if fewest else "-"
            cells.append(f"{sum(lost):.0f} ({share})")
        equal = sum(a == b for a, b in zip(self.lost["Algorithm 1"], self.least, strict=True))
        return [*cells, f"{equal} of {number}"]


Trace = Annotated[Path | None, typer.Option(help="Jobs in CSV form, as Philly's.", show_default="drawn")]
Days = Annotated[float, typer.Option(help="Days of arrivals.")]
Seeds = Annotated[int, typer.Option(help="Workloads of each kind.", min=1)]
Load = Annotated[float, typer.Option(help="Load of the training servers.")]
AnyGpu = Annotated[float, typer.Option(help="Share of jobs that may run on loaned servers.")]


def reclaims(
    options: Options,
    trace: Trace = None,
    servers: Annotated[
        list[int] | None, typer.Option(help="Training servers; repeatable.", min=2, show_default="56")
    ] = None,
    period: Annotated[
        list[float] | None,
        typer.Option(help="Seconds between two reclaims; repeatable.", min=1, show_default="300, 1800, 3600"),
    ] = None,
    workers: Annotated[
        list[Workers] | None, typer.Option(help="Width of workers; repeatable.", show_default="both")
    ] = None,
    days: Days = 10.0,
    seeds: Seeds = 3,
    load: Load = 0.95,
    any_gpu_share: AnyGpu = 0.6,
) -> Study:
    """Print preemptions of each order on the reclaims of runs, against the fewest, by size, period and workers."""
    drawn = {"seeds": seeds, "days": days, "trace": trace, "load": load, "any_gpu_share": any_gpu_share}
    kinds = list(product(servers or (56,), period or PERIODS, workers or Workers))
    tasks = [
        Measurement.of(
            count_excesses,
            options,
            None,
            training_servers=n,
            orchestrator_period_seconds=every,
            workers=width.value,
            **drawn,
        )
        for n, every, width in kinds
    ]
    columns = "training servers", "period, s", "workers", "reclaims", "servers each", "of, with base workers"

    def tables(outcomes: Sequence[Measured]) -> list[TextTable | str]:
        rows = [
            [str(size), f"{every:g}", width.value, *one.figures["cells"]]
            for (size, every, width), one in zip(kinds, outcomes, strict=True)
        ]
        return [TextTable([*columns, "proven", "fewest", *ORDERS, "Algorithm 1 optimal"], rows)]

    return Study(tasks, tables)


def count_excesses(seeds: int, days: float, options: Options, **drawn: Any) -> dict[str, Any]:
    """Return the cells of a row, over all reclaims of some runs; the seed of `random` is the number of the reclaim."""
    seen = Watched()
    for seed in range(seeds):
        data = loaning_days(days, seed, **drawn).data
        simulate(LoaningWorld(data), Loaning(data, "sjf", flexible_first(seen)))
    return {"cells": seen.cells()}


RUNS = {
    "Algorithm 1": "sjf-loans",
    "fewest now, exact": "sjf-loans-exact",
    "SCF": "sjf-loans-scf",
    "Random": "sjf-loans-random",
}


def stays_of(data: ArylLoaning, jobs: pd.DataFrame, *, scales: bool) -> list[Stay]:
    """Return the first stays on loaned servers from a run's job table; training servers cause no preemptions."""
    of = {job.id: job for job in data.jobs}
    loaned = jobs[jobs["loaned"]]
    starts = zip(loaned["job"], loaned["submit"] + loaned["queueing"], strict=True)
    found = (make_stay(data, of[name], float(start), scales=scales) for name, start in starts)
    return [stay for stay in found if stay is not None]


def bound_forced_preemptions(world: LoaningWorld, *, scales: bool) -> PreemptionBound:
    """Bound the preemptions that no orchestrator can avoid if jobs start as in this run."""
    return bound_preemptions(stays_of(world.data, world.jobs_table(), scales=scales), world.data, LIMIT)


def unavoidable(
    options: Options,
    trace: Trace = None,
    servers: Annotated[int, typer.Option(help="Training servers.", min=2)] = 56,
    days: Days = 10.0,
    seeds: Seeds = 3,
    load: Load = 0.95,
    any_gpu_share: AnyGpu = 0.6,
) -> Study:
    """Print preemptions by period and reclaimer, and those that the starts of each run make unavoidable."""
    drawn = {"trace": trace, "training_servers": servers, "load": load, "any_gpu_share": any_gpu_share, "days": days}
    kinds = list(product(PERIODS, RUNS.items()))
    tasks = [
        Measurement.of(
            count_preemptions, options, None, policy=policy, orchestrator_period_seconds=period, seed=seed, **drawn
        )
        for period, (name, policy) in kinds
        for seed in range(seeds)
    ]

    def tables(outcomes: Sequence[Measured]) -> list[TextTable | str]:
        rows = []
        for (period, (name, _)), of in zip(kinds, chunks(outcomes, seeds), strict=True):
            total, least, proven = (sum(one.figures[key] for one in of) for key in ("preempted", "forced", "proven"))
            share = percent(least / total) if total else "-"
            rows.append([f"{period:g}", name, str(total), str(least), share, f"{proven} of {seeds}"])
        columns = "preemptions", "unavoidable from these starts", "share", "proven least"
        return [TextTable(["period, s", f"{seeds} runs of {days:g} days", *columns], rows)]

    return Study(tasks, tables)


def count_preemptions(policy: str, seed: int, days: float, options: Options, **drawn: Any) -> dict[str, Any]:
    """Preemptions of a run, those that no orchestrator avoids, and whether fewer would not fit by GPUs."""
    data = loaning_days(days, seed, **drawn).data
    world = LoaningWorld(data)
    simulate(world, POLICIES[policy](data, Options()))
    forced = bound_forced_preemptions(world, scales=False)
    return {
        "preempted": int(world.totals()["preemptions"]),
        "forced": forced.preemptions,
        "proven": forced.proven,
    }
