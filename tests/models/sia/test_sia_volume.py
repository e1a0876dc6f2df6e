"""Test that bounds of the volume algorithm at tree nodes hold, and its proofs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from instances import Stopwatch
from instances.sia.arrays import oracle_arrays
from models.sia import exact
from models.sia.parameters import DEFAULTS
from models.sia.relaxation import StartRelaxation
from models.sia.rows import SCALE, Rows, StartColumns, round_up
from models.sia.volume import StartSubproblem
from tests.sia_cases import made

ALWAYS = replace(DEFAULTS, ascent_starts_per_job=0)


def drawn(seed):
    """Draw a small problem with enumerable schedules; about half of the jobs wait for each other."""
    rng = np.random.default_rng(seed)
    capacity = int(rng.integers(3, 9))
    widths = rng.integers(1, capacity + 1, 5)
    jobs = [("p", int(rng.integers(0, 4)), int(rng.integers(1, 5)), int(n)) for n in widths]
    return made(*jobs, pools=(("p", capacity),))


def optimum(arrays):
    """Compute the minimum delay by enumeration."""
    windows = (range(s, m + 1) for s, m in zip(arrays.submit, arrays.cutoff, strict=True))
    found = (np.array(starts) for starts in product(*windows))
    return min(arrays.delay(starts) for starts in found if arrays.feasible(starts))


def small(count, first=0):
    """Problems of at most 20,000 combinations of starts, in steps, with the optimum."""
    for seed in range(first, first + count):
        arrays = oracle_arrays(data := drawn(seed))
        if np.prod(arrays.cutoff - arrays.submit + 1) <= 20_000 and len(arrays.submit) == 5:
            yield seed, data, arrays, optimum(arrays)


def test_no_bound_with_cuts_is_above_the_optimum_and_none_of_less_delay_is_closed():
    cut = 0
    for _, _, arrays, best in small(20):
        columns = StartColumns(arrays)
        relaxation = StartRelaxation(columns, arrays.cutoff, ALWAYS)
        for _ in range(6):
            assert relaxation.ascend(best + 1, best + 1, Stopwatch())
            assert round_up(relaxation.last_bound) <= best
            relaxation.close_columns(best + 1)
            assert columns.has_open_starts()
            cut += relaxation.extend_ascent()
    assert cut > 0


def test_proofs_without_linear_programs_at_nodes_are_those_of_enumeration():
    for _, data, arrays, best in small(12, 100):
        result = exact(data, parameters=ALWAYS)
        assert (result.status, result.objective, result.bound) == ("optimal", best * arrays.slot, best * arrays.slot)


def test_prices_are_charged_as_in_integers():
    """The compiled sum is the Lagrangian bound in integers, save for rounding, and a row's excess is its slope."""
    rng = np.random.default_rng(0)
    for _, _, arrays, _ in small(10, 200):
        relaxation = StartRelaxation(StartColumns(arrays), arrays.cutoff, ALWAYS)
        relaxation.ascend(arrays.most, arrays.most, Stopwatch())
        relaxation.extend_ascent()
        rows = Rows(relaxation.columns, relaxation.ascent[0])
        if not len(rows):
            continue
        relaxation.columns.open &= rng.random(len(relaxation.columns.open)) < 0.8
        relaxation.columns.open[relaxation.columns.find_columns(arrays.cutoff)] = True
        prices = rng.integers(0, SCALE, len(rows))
        problem = StartSubproblem(rows)
        found, _ = problem.minimise(prices / SCALE * problem.norm)
        assert abs(found - rows.evaluate_lagrangian(prices)[0] / SCALE) < 1e-6
