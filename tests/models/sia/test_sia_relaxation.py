"""Test the relaxation, cuts and covers in the proof of sia-oracle."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instances import Options, Stopwatch
from instances.sia import Job, Pool, SiaOracle, synthetic
from instances.sia.arrays import coarse, oracle_arrays
from instances.sia.reservations import backfill
from models.sia import build_literal, exact
from models.sia.cuts import round_row
from models.sia.parameters import DEFAULTS
from models.sia.relaxation import StartRelaxation
from models.sia.rows import NO_JOB, SCALE, Rows, StartColumns, build_capacity_row, build_cover_row
from tests.sampling import few
from tests.sia_cases import made
from tests.sia_optima import best_oracle


def test_the_lagrangian_bound_is_valid_for_any_prices():
    data = synthetic("base", 3, days=0.5).data
    columns, optimum = StartColumns(oracle_arrays(data)), exact(data).objective
    rows = Rows(columns, [build_capacity_row(columns.arrays, t) for t in range(0, columns.arrays.horizon, 3)])
    rng = np.random.default_rng(0)
    for share in (0.01, 0.1, 1.0):
        prices = np.rint(rng.random(len(rows)) * share * 0.15 * SCALE).astype(np.int64)
        assert rows.evaluate_lagrangian(prices)[0] <= optimum * SCALE


@given(
    gpus=st.lists(st.integers(1, 9), min_size=1, max_size=9),
    capacity=st.integers(9, 30),
    chosen=st.lists(st.booleans(), min_size=9, max_size=9),
    divisor=st.integers(2, 9),
)
def test_rounding_cuts_off_no_set_of_jobs_that_fits(gpus, capacity, chosen, divisor):
    """Brute force: all sets that fit on the GPUs."""
    members = np.array([i for i in range(len(gpus)) if chosen[i] and gpus[i] % divisor], dtype=np.int64)
    if (sum(gpus[i] for i in members) - capacity) % divisor == 0:
        return  # nothing to round
    row = round_row(np.array(gpus), capacity, members, divisor, (0, 0, NO_JOB))
    assert (row.weight >= 0).all()
    for kept in product((0, 1), repeat=len(gpus)):
        if np.dot(kept, gpus) <= capacity:
            assert np.dot(kept, row.weight) <= row.limit


def _schedules(arrays, count):
    """Feasible schedules, far from all alike: of random priorities."""
    rng = np.random.default_rng(1)
    plan = arrays.cutoff
    for _ in range(count):
        yield backfill(arrays, plan, rng.random(len(plan)))


@pytest.mark.parametrize(
    ("variant", "seed", "days"), few([("base", 12, 0.6), ("more-wide", 0, 0.6), ("base", 18, 1.0)], 1)
)
def test_no_schedule_breaks_a_cut_and_cuts_raise_the_bound(variant, seed, days):
    data = synthetic(variant, seed, days=days).data
    arrays = oracle_arrays(data)
    columns, best = StartColumns(arrays), exact(data)
    relaxation = StartRelaxation(columns, arrays.cutoff)
    far = arrays.most + 1  # so that no column is closed
    assert relaxation.converge(far, Stopwatch())
    before, touching = relaxation.value, 0
    for _ in range(8):
        if not relaxation.add_cuts():
            break
        touching += sum(row.overlapping != NO_JOB for row in relaxation.rows.rows)
        assert relaxation.converge(far, Stopwatch())
        for starts in (_starts(best, data, arrays), *_schedules(arrays, 20)):
            used = np.array(
                [
                    relaxation.rows.evaluate_row(r, columns.find_columns(starts)).sum()
                    for r in range(len(relaxation.rows))
                ]
            )
            assert (used <= relaxation.rows.limits).all()
    assert touching  # both kinds of cuts are among them
    assert before < relaxation.value <= best.objective + 1e-6
    assert relaxation.bound <= best.objective


def _starts(result, data, arrays):
    return np.array([result.solution["starts"][job.id] for job in data.jobs]) - arrays.origin + arrays.submit


def test_relaxation_equals_the_literal_models_own():
    """Column and row generation, and leaving Y out, change no value."""
    from pyomo.environ import TransformationFactory

    from models.core.highs import solve_arrays
    from models.core.pyomo_model import compile_model

    data = synthetic("base", 7, days=0.3).data
    model = build_literal(data)
    TransformationFactory("core.relax_integer_vars").apply_to(model)
    whole = solve_arrays(compile_model(model).model, Options()).objective
    arrays = oracle_arrays(data)
    relaxed = StartRelaxation(StartColumns(arrays), arrays.cutoff)
    assert relaxed.converge(arrays.most, Stopwatch())
    assert relaxed.value == pytest.approx(whole, abs=1e-6)
    assert relaxed.bound <= whole + 1


def test_starts_drawn_from_the_relaxation_are_starts_of_the_job():
    arrays = oracle_arrays(synthetic("base", 3, days=1).data)
    relaxation = StartRelaxation(StartColumns(arrays), arrays.cutoff)
    relaxation.converge(arrays.most, Stopwatch())
    rng = np.random.default_rng(0)
    drawn = np.array([relaxation.sample_starts(rng) for _ in range(50)])
    assert (drawn >= arrays.submit).all()
    assert (drawn <= arrays.cutoff).all()
    assert (drawn != drawn[0]).any()


def test_the_solution_stays_at_hand_when_cuts_drop_columns():
    """A limit may end the next linear program, and the tree and the search go on from the last solution."""
    data = synthetic("base", 0, days=1, slot_minutes=5.0).data
    arrays, best = oracle_arrays(data), exact(data)
    columns, dropped = StartColumns(arrays), 0
    relaxation = StartRelaxation(columns, _starts(best, data, arrays))
    while relaxation.converge(arrays.delay(_starts(best, data, arrays)), Stopwatch()):
        before = (
            len(relaxation.chosen),
            relaxation.choose_branching(),
            relaxation.sample_starts(np.random.default_rng(0)).tolist(),
        )
        if not relaxation.add_cuts():
            break
        dropped += before[0] - len(relaxation.chosen)
        assert (relaxation.choose_branching(), relaxation.sample_starts(np.random.default_rng(0)).tolist()) == before[
            1:
        ]
        assert not relaxation.converge(arrays.most, Stopwatch(0.0))
        assert relaxation.choose_branching() == before[1]
    assert dropped > 0


@given(gpus=st.lists(st.integers(1, 10**9), min_size=2, max_size=7), share=st.floats(0.1, 0.9))
def test_a_cover_cuts_off_the_jobs_that_are_too_wide_together_and_no_set_that_fits(gpus, share):
    capacity = max(max(gpus), int(sum(gpus) * share))
    if sum(gpus) <= capacity:
        return
    data = made(*((("p"), 0, 1, n) for n in gpus), pools=(("p", capacity),)) if capacity <= 10**9 else None
    if data is None:
        return
    arrays = oracle_arrays(data)
    row = build_cover_row(arrays, arrays.submit, 0)
    assert row.weight.sum() > row.limit
    few = coarse(arrays, DEFAULTS.max_units)
    assert few.capacity <= 100_000
    for kept in product((0, 1), repeat=len(gpus)):
        if np.dot(kept, gpus) <= capacity:
            assert np.dot(kept, row.weight) <= row.limit
            assert np.dot(kept, few.gpus) <= few.capacity


def test_coarse_rows_may_close_all_starts_of_several_jobs():
    """Each closed job adds 2**60 and more to the bound, which must not leave 64 bits."""
    jobs = [  # pool, submit, duration, GPUs
        ("c", 2, 5, 12), ("b", 1, 1, 4), ("b", 2, 6, 7), ("a", 2, 4, 1), ("c", 2, 4, 3),
        ("b", 1, 3, 12), ("b", 1, 3, 3), ("b", 0, 4, 5), ("a", 10, 1, 1),
    ]  # fmt: skip
    data = SiaOracle(
        slot_minutes=1.0,
        pools=tuple(Pool(name=name, gpus=gpus) for name, gpus in (("a", 7), ("b", 12), ("c", 12))),
        jobs=tuple(
            Job(id=f"j{i}", pool=pool, submit=submit, duration=duration, gpus=gpus)
            for i, (pool, submit, duration, gpus) in enumerate(jobs)
        ),
    )
    coarse_rows = replace(DEFAULTS, max_units=2, enumeration_jobs=0, component_starts=0, ascent_starts_per_job=1)
    result = exact(data, parameters=coarse_rows)
    assert (result.status, result.objective, result.bound) == ("optimal", 7.0, 7.0)
    assert best_oracle(data) == 7
