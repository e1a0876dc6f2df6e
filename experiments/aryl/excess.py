"""`python -m experiments.aryl.excess [--picture FILE]`: how far Algorithm 1 is above the fewest preemptions.

Against the fragmentation of the placement and the number of servers to reclaim.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from experiments.output.terminal import err, out, percent
from heuristics.aryl import reclaim_greedy
from instances import Options, Stopwatch
from instances.aryl import loaned_servers
from instances.files import write_whole
from models.aryl import exact

SERVERS = 600
SEEDS = 20
FRAGMENTATION = (0.0, 0.35, 0.7, 1.0)
RECLAIM = (10, 20, 40, 60, 80, 120, 180, 240)
LIMIT_S = 60.0


def excess(preemptions: float, fewest: float) -> float | None:
    """`preemptions` over `fewest`, less one; 0 where both are 0, and `None`, as no share says it, where `fewest` is."""
    if fewest == 0:
        return 0.0 if preemptions == 0 else None
    return preemptions / fewest - 1


def in_words(preemptions: float, fewest: float) -> str:
    """The excess as a percentage, or the two numbers where there is no percentage."""
    share = excess(preemptions, fewest)
    return f"{preemptions:g} against 0" if share is None else percent(share, 0)


@dataclass(frozen=True)
class Cell:
    """Preemptions by instance: those of Algorithm 1, and of the optimum or its bound where `proven` says no."""

    greedy: tuple[float, ...]
    fewest: tuple[float, ...]
    proven: tuple[bool, ...]

    @property
    def means(self) -> tuple[float, float]:
        """Mean preemptions of Algorithm 1 and of the optimum."""
        return sum(self.greedy) / len(self.greedy), sum(self.fewest) / len(self.fewest)

    @property
    def worst(self) -> tuple[float, float]:
        """The instance of the largest excess; one with an optimum of 0 that Algorithm 1 misses is beyond any share."""

        def size(pair: tuple[float, float]) -> float:
            share = excess(*pair)
            return math.inf if share is None else share

        return max(zip(self.greedy, self.fewest, strict=True), key=size)

    @property
    def equal(self) -> int:
        """Instances on which Algorithm 1 has the fewest preemptions."""
        return sum(a == b for a, b in zip(self.greedy, self.fewest, strict=True))


def main(
    picture: Annotated[Path | None, typer.Option(help="Write the picture there (.svg, .png or .pdf).")] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Instances of each placement and number of servers.")] = SEEDS,
    servers: Annotated[int, typer.Option(min=1, help="Loaned servers of an instance.")] = SERVERS,
) -> None:
    """Print mean preemptions of Algorithm 1 and of the optimum, the excess of the means and of the worst instance."""
    if picture is not None and picture.suffix not in (".svg", ".png", ".pdf"):
        raise typer.BadParameter(f"{picture}: a picture is written as .svg, .png or .pdf")
    reclaims = [k for k in RECLAIM if k <= servers]
    with Stopwatch() as clock:
        cells = {(f, k): _cell(servers, f, k, seeds) for f in FRAGMENTATION for k in reclaims}
    title = f"Algorithm 1 above the optimum, {servers} servers, {seeds} instances of each placement and N_R"
    table = Table(title=title, title_justify="left", box=None)
    table.add_column("placement")
    for name in ("N_R", "Algorithm 1", "optimum", "above", "at most", "optimal"):
        table.add_column(name, justify="right")
    for (fragmentation, k), cell in cells.items():
        greedy, fewest = cell.means
        means = f"{greedy:.2f}", f"{fewest:.2f}", in_words(greedy, fewest)
        place = f"{percent(fragmentation, 0)} random"
        table.add_row(place, str(k), *means, in_words(*cell.worst), f"{cell.equal} of {seeds}")
    out.print(table)
    proven = sum(sum(cell.proven) for cell in cells.values())
    out.print(f"{proven} of {seeds * len(cells)} optima proven; the others count with their bound")
    err.print(f"{clock.cpu_s:.0f} CPU s")
    if picture is not None:
        _draw(cells, servers, seeds, picture)


def _cell(servers: int, fragmentation: float, reclaim: int, seeds: int) -> Cell:
    greedy, fewest, proven = [], [], []
    for seed in range(seeds):
        data = loaned_servers(servers, fragmentation, seed, reclaim).data
        result = exact(data, Options(time_limit=LIMIT_S))
        greedy.append(reclaim_greedy(data).objective or 0.0)
        fewest.append(result.bound or 0.0)
        proven.append(result.status == "optimal")
    cell = Cell(tuple(greedy), tuple(fewest), tuple(proven))
    err.print(f"{fragmentation:g} {reclaim}: {sum(greedy):g} against {sum(fewest):g}, {sum(proven)}/{seeds} proven")
    return cell


def _draw(cells: dict[tuple[float, int], Cell], servers: int, seeds: int, picture: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    with pyplot.rc_context({"svg.hashsalt": "gapwise"}):
        figure, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
        for fragmentation in FRAGMENTATION:
            line = {k: cell for (f, k), cell in cells.items() if f == fragmentation}
            shares = {k: excess(*cell.means) for k, cell in line.items()}
            heights = [float("nan") if share is None else 100 * share for share in shares.values()]
            axes.plot(list(line), heights, marker="o", markersize=3, label=f"{percent(fragmentation, 0)} random")
            for k, cell in line.items():
                if shares[k] is None:
                    axes.annotate(in_words(*cell.means), (k, 0), rotation=90, fontsize=7)
        axes.axvline(60, color="grey", linewidth=0.8, linestyle=":")
        ylabel = f"preemptions above the optimum, %\n(means of {seeds} instances)"
        axes.set(xlabel=f"servers to reclaim, of {servers}", ylabel=ylabel)
        axes.legend(frameon=False, title="placement")
        drawn = io.BytesIO()
        kind = picture.suffix[1:]
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(drawn, format=kind, metadata=metadata)
        pyplot.close(figure)
    write_whole(picture, drawn.getvalue())


if __name__ == "__main__":
    typer.run(main)
