"""The benchmark over Caprara and Toth's ten classes of two-dimensional vector packing: a row a class and size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from experiments.output.benchmark import Measured, measure
from instances import Options, Result
from instances.eva.vector_packing import Types, caprara_toth, paper_sizes
from models.eva import exact


def vector_packing_rows(types: Types, seeds: Sequence[int], limit: float) -> Iterator[Callable[[], Measured]]:
    """A measurement of each class and size.

    - `types`: one instance type, or three.
    - `seeds`: the seeds of the instances of a row.
    - `limit`: the time limit of each.
    """
    exact(caprara_toth(10, 24, 0, types=types).data)  # Compiled code is loaded before anything is measured.
    for number in range(1, 11):
        for items in paper_sizes(number):
            solves = [
                partial(exact, caprara_toth(number, items, seed, types=types).data, Options(time_limit=limit, gap=0.0))
                for seed in seeds
            ]
            yield partial(measure, f"class {number}, {items} items", solves, _found)


def _found(results: list[Result]) -> str:
    """How many are proven, how many linear programs were solved, and how far cost and bound are apart at most.

    A linear program over listed patterns counts as solved: HiGHS has all its columns.
    """
    proven = sum(r.status == "optimal" for r in results)
    solved = sum(r.info["method"] == "patterns" or bool(r.info.get("lp_converged")) for r in results)
    apart = max((r.objective or 0.0) - (r.bound or 0.0) for r in results)
    return f"{proven}/{len(results)} proven, {solved} linear programs solved, at most {apart:g} above the bound"
