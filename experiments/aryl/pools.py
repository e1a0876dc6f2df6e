"""Pools of loaned servers: the excess preemptions of Algorithm 1 and SCF, and the cost of the paper's preemption rule.

The excess depends on the size of the pool, the fragmentation of the placement and the share of servers to reclaim.
Further studies let jobs continue with some of their workers, and count GPU-hours instead of jobs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.harness.experiment import Study, TextTable, chunks, limited
from experiments.harness.sample import Sample
from experiments.harness.task import Measured, Measurement
from experiments.output.terminal import percent
from heuristics.aryl import reclaim_greedy, reclaim_scf
from instances import Options, Result
from instances.aryl import ArylReclaim, loaned_servers
from models.aryl import exact, pareto_front
from models.aryl.loss import compute_loss

SERVERS = (250, 520)
SEEDS = 20
FRAGMENTATION = (0.0, 0.35, 0.7, 1.0)
SHARES = (0.04, 0.08, 0.12, 0.16, 0.24, 0.36, 0.48)
"""Shares of the servers that go back."""
LIMIT_S = 60.0


def excess(preemptions: float, fewest: float) -> float | None:
    """Return `preemptions` / `fewest` - 1; 0 if both are 0, and `None` if only `fewest` is 0."""
    if fewest == 0:
        return 0.0 if preemptions == 0 else None
    return preemptions / fewest - 1


def in_words(preemptions: float, fewest: float) -> str:
    """Return the excess as a percentage, or the two numbers if the percentage is undefined."""
    share = excess(preemptions, fewest)
    return f"{preemptions:g} against 0" if share is None else percent(share, 0)


def place_of(fragmentation: float) -> str:
    """The placement of a generated pool in words."""
    return (
        "best fit" if fragmentation == 0 else "random" if fragmentation == 1 else f"{percent(fragmentation, 0)} random"
    )


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
    pools = list(dict.fromkeys(servers or SERVERS))
    limit = limited(options, LIMIT_S)
    places = list(product(pools, FRAGMENTATION, SHARES))
    tasks = [
        Measurement.of(preemptions, limit, pool=pool, fragmentation=placed, reclaim=round(share * pool), seed=seed)
        for pool, placed, share in places
        for seed in range(seeds)
    ]

    def cells_of(outcomes: Sequence[Measured]) -> dict[tuple[int, float, float], Excess]:
        return {
            place: Excess(*(tuple(one.figures[name] for one in of) for name in ("greedy", "scf", "fewest", "proven")))
            for place, of in zip(places, chunks(outcomes, seeds), strict=True)
        }

    def tables(outcomes: Sequence[Measured]) -> list[TextTable | str]:
        cells = cells_of(outcomes)
        found: list[TextTable | str] = []
        for pool in pools:
            found += _tables(pool, {key[1:]: cell for key, cell in cells.items() if key[0] == pool}, seeds)
        proven = sum(sum(cell.proven) for cell in cells.values())
        return [*found, f"{proven} of {len(outcomes)} optima proven; the others count with their bound"]

    def write(outcomes: Sequence[Measured]) -> None:
        if picture is not None:
            _draw(cells_of(outcomes), pools, seeds, picture)

    def values(outcomes: Sequence[Measured]) -> dict[str, Sample | float | str]:
        cells = cells_of(outcomes)
        proven = sum(sum(cell.proven) for cell in cells.values())
        found: dict[str, Sample | float | str] = {"optima proven": f"{proven:,} of {len(outcomes):,}"}
        for placed in FRAGMENTATION:
            of = [cell for (_, fragmentation, _), cell in cells.items() if fragmentation == placed]
            means = [share for cell in of if (share := excess(cell.means[0], cell.means[2])) is not None]
            worst = [share for cell in of if (share := excess(*cell.worst)) is not None]
            found[f"{place_of(placed)}: excess of the means"] = Sample.of(means)
            found[f"{place_of(placed)}: worst instance"] = Sample.of(worst)
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


def _tables(pool: int, cells: Mapping[tuple[float, float], Excess], seeds: int) -> list[TextTable | str]:
    rows = []
    for share in SHARES:
        row = [f"{percent(share, 0)}: {round(share * pool)}"]
        for fragmentation in FRAGMENTATION:
            cell = cells[fragmentation, share]
            greedy, scf, fewest = cell.means
            shares = f"{in_words(greedy, fewest)} ({in_words(*cell.worst)})"
            row.append(f"{greedy:.1f} / {scf:.1f} / {fewest:.1f}: {shares}, {cell.equal}, {cell.beaten}")
        rows.append(row)
    return [
        TextTable([f"of {pool}", *(place_of(fragmentation) for fragmentation in FRAGMENTATION)], rows),
        "servers that go back: mean preemptions of Algorithm 1 / SCF / optimum, the excess of Algorithm 1's mean",
        f"(and on its worst instance), on how many of {seeds} it is optimal, on how many SCF has fewer",
    ]


def _draw(cells: Mapping[tuple[int, float, float], Excess], pools: Sequence[int], seeds: int, picture: Path) -> None:
    from experiments.aryl.plot import excess_lines  # with matplotlib, only where it is drawn
    from experiments.canvas import save_figure

    lines = {
        (pool, place_of(placed)): {s: _drawn(cells[pool, placed, s]) for s in SHARES}
        for pool in pools
        for placed in FRAGMENTATION
    }
    save_figure(excess_lines(lines, seeds), picture)


def _drawn(cell: Excess) -> tuple[float | None, bool]:
    greedy, _, fewest = cell.means
    return excess(greedy, fewest), all(cell.proven)


FRONT_FRAGMENTATION = (0.0, 0.35, 0.7)
"""A front where all is random takes minutes."""
ELASTIC = (0.05, 0.36, 1.0)
RECLAIM, FRONTS = 40, 5
RULES: tuple[Callable[[ArylReclaim], Result], ...] = (reclaim_greedy, reclaim_scf)


def losses(
    options: Options,
    servers: Annotated[int, typer.Option(min=1, help="Loaned servers of an instance.")] = SERVERS[0],
    reclaim: Annotated[int, typer.Option(min=1, help="Servers that go back.")] = RECLAIM,
    seeds: Annotated[int, typer.Option(min=1, help="Instances of each cell.")] = SEEDS,
    fronts: Annotated[int, typer.Option(min=1, help="Instances of each placement whose front is found.")] = FRONTS,
) -> Study:
    """Print preempted jobs under both rules of preemption, and jobs against GPU-hours."""
    if reclaim > servers:
        raise typer.BadParameter(f"--reclaim: must be <= {servers}, the servers, got {reclaim}")
    limit = limited(options, LIMIT_S)
    drawn = {"servers": servers, "reclaim": reclaim}
    cells = list(product(FRAGMENTATION, ELASTIC))
    tasks = [
        Measurement.of(under_both_rules, limit, 2, **drawn, fragmentation=placed, elastic_share=share, seed=seed)
        for placed, share in cells
        for seed in range(seeds)
    ]
    tasks += [
        Measurement.of(jobs_and_hours, limit, None, **drawn, fragmentation=placed, seed=seed)
        for placed in FRONT_FRAGMENTATION
        for seed in range(fronts)
    ]

    def tables(outcomes: Sequence[Measured]) -> list[TextTable | str]:
        first = chunks(outcomes[: len(cells) * seeds], seeds)
        second = chunks(outcomes[len(cells) * seeds :], fronts)
        return [*_under_both_rules(cells, first), *_jobs_and_hours(second)]

    return Study(tasks, tables)


def under_both_rules(
    servers: int, reclaim: int, fragmentation: float, seed: int, elastic_share: float, options: Options
) -> dict[str, Any]:
    """Return jobs lost by the paper's rule and by the minimum number of workers, for the same choices of servers."""
    data = loaned_servers(servers, fragmentation, seed, reclaim, elastic_share=elastic_share).data
    strict = _base_counts(data)
    chosen = [rule(data).solution or {} for rule in RULES]
    best = [exact(d, options, start=chosen[0]) for d in (strict, data)]
    counts = [[compute_loss(d, c["servers"])[1] for c in chosen] for d in (strict, data)]
    return {
        "jobs": [*counts[0], best[0].bound or 0.0, *counts[1], best[1].bound or 0.0],
        "proven": sum(result.status == "optimal" for result in best),
    }


def _under_both_rules(
    cells: Sequence[tuple[float, float]], outcomes: Sequence[Sequence[Measured]]
) -> list[TextTable | str]:
    rows = []
    for (fragmentation, share), of in zip(cells, outcomes, strict=True):
        means = [f"{sum(values) / len(of):.2f}" for values in zip(*(one.figures["jobs"] for one in of), strict=True)]
        rows.append([f"{place_of(fragmentation)}, {share:.0%}", *means])
    rules = "Algorithm 1", "SCF", "optimum"
    proven = sum(one.figures["proven"] for of in outcomes for one in of)
    head = ["placement, elastic jobs", *rules, *(f"{rule}, any workers" for rule in rules)]
    return [TextTable(head, rows), f"{proven} of {2 * sum(map(len, outcomes))} optima proven"]


def _base_counts(data: ArylReclaim) -> ArylReclaim:
    """Return the same jobs under the paper's rule: losing any server of a base worker preempts the job."""
    jobs = tuple(job.model_copy(update={"workers": None, "min_workers": None}) for job in data.jobs)
    return data.model_copy(update={"jobs": jobs})


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


def _jobs_and_hours(outcomes: Sequence[Sequence[Measured]]) -> list[TextTable | str]:
    rows = []
    for fragmentation, of in zip(FRONT_FRAGMENTATION, outcomes, strict=True):
        means = [sum(values) / len(of) for values in zip(*(one.figures["row"] for one in of), strict=True)]
        cells = [f"{means[i]:.1f}, {means[i + 1]:,.0f}" for i in range(0, 8, 2)]
        rows.append([place_of(fragmentation), *cells, f"{means[8]:,.0f} GPU-hours", f"{means[9]:.1f}"])
    columns = "fewest jobs", "fewest GPU-hours", "no more jobs than Algorithm 1", "points"
    complete = sum(one.figures["complete"] for of in outcomes for one in of)
    return [
        TextTable(["jobs, GPU-hours", "Algorithm 1", "SCF", *columns], rows),
        f"{complete} of {sum(map(len, outcomes))} fronts proven complete",
    ]
