"""`python -m experiments.benchmarks.aryl_excess [--picture FILE]`: how far Algorithm 1 is above the fewest preemptions.

Against the fragmentation of the placement and the number of servers to reclaim, the two things that decide it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from experiments.terminal import err, out, percent
from heuristics.aryl import reclaim_greedy
from instances import Options
from instances.aryl import loaned_servers
from models.aryl import exact

SERVERS = 600
FRAGMENTATION = (0.0, 0.35, 0.7, 1.0)
RECLAIM = (10, 20, 40, 60, 80, 120, 180, 240)
LIMIT_S = 30.0

Cell = tuple[float, float, int, int]  # preemptions of Algorithm 1, of the best bound, proven, instances


def main(
    picture: Annotated[Path | None, typer.Option(help="Write the picture there (.svg, .png or .pdf).")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Instances of each fragmentation.")] = 5,
) -> None:
    """Print the excess over all instances of a cell: preemptions of Algorithm 1 over proven bounds, less one."""
    cells = {(f, k): _cell(f, k, seeds) for f in FRAGMENTATION for k in RECLAIM}
    table = Table(title=f"Algorithm 1 above the optimum, {SERVERS} servers, {seeds} instances each", box=None)
    table.add_column("N_R", justify="right")
    for fragmentation in FRAGMENTATION:
        table.add_column(f"{percent(fragmentation, 0)} random", justify="right")
    for k in RECLAIM:
        row = [cells[f, k] for f in FRAGMENTATION]
        table.add_row(str(k), *(f"{greedy:g} / {best:g}  {_excess(greedy, best)}" for greedy, best, _, _ in row))
    out.print(table)
    proven, total = sum(cell[2] for cell in cells.values()), sum(cell[3] for cell in cells.values())
    out.print(f"{proven} of {total} optima proven; the others count with their bound")
    if picture is not None:
        _draw(cells, picture)


def _cell(fragmentation: float, reclaim: int, seeds: int) -> Cell:
    greedy = best = 0.0
    proven = 0
    for seed in range(seeds):
        data = loaned_servers(SERVERS, fragmentation, seed, reclaim).data
        result = exact(data, Options(time_limit=LIMIT_S))
        greedy += reclaim_greedy(data).objective or 0.0
        best += result.bound or 0.0
        proven += result.status == "optimal"
    err.print(f"{fragmentation:g} {reclaim}: {greedy:g} against {best:g}, {proven}/{seeds} proven", markup=False)
    return greedy, best, proven, seeds


def _excess(greedy: float, best: float) -> str:
    return percent(greedy / best - 1, 0) if best else "-"


def _draw(cells: dict[tuple[float, int], Cell], picture: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    for fragmentation in FRAGMENTATION:
        excess = [100 * (cells[fragmentation, k][0] / max(1.0, cells[fragmentation, k][1]) - 1) for k in RECLAIM]
        axes.plot(RECLAIM, excess, marker="o", markersize=3, label=f"{percent(fragmentation, 0)} random")
    axes.axvline(60, color="grey", linewidth=0.8, linestyle=":")
    axes.set(xlabel="servers to reclaim, of 600", ylabel="preemptions above the optimum, %")
    axes.legend(frameon=False, title="placement")
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)
    pyplot.close(figure)


if __name__ == "__main__":
    typer.run(main)
