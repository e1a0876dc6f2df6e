"""The oracle of Figure 19: literal and fast models, bounds, fairness, cut-offs of the user's own."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instances import InputError, Options, Stopwatch, check
from instances.sia import Job, Pool, SiaOracle, five_jobs, synthetic
from models.sia import build_literal, direct, exact, literal, literal_windows
from models.sia.arrays import coarse, oracle_arrays
from models.sia.columns import SCALE, Columns
from models.sia.conflicts import candidates, components, solve_component
from models.sia.cuts import rounded
from models.sia.greedy import pull_forward
from models.sia.improve import advance, improve, in_order
from models.sia.relaxation import Relaxation
from models.sia.rows import NOBODY, Rows, capacity_row, cover_row


@pytest.mark.parametrize("method", [exact, literal, direct])
def test_five_jobs(method):
    result = method(five_jobs().data)
    assert (result.status, result.objective) == ("optimal", 3.0)
    assert result.bound == pytest.approx(3.0)


@pytest.mark.parametrize(("seed", "optimum"), [(3, 35.0), (9, 105.0)])
def test_half_a_day_of_the_base_workload(seed, optimum):
    """Pinned; proven by the fast method and by the time-indexed model as a whole."""
    data = synthetic("base", seed, days=0.5).data
    result = exact(data)
    assert (result.status, result.objective, result.bound) == ("optimal", optimum, optimum)
    assert direct(data).objective == optimum


@pytest.mark.parametrize(("seed", "optimum"), [(4, 141.0), (6, 324.0), (8, 414.0), (16, 269.0), (17, 58.0)])
def test_optima_of_half_days_are_pinned(seed, optimum):
    result = exact(synthetic("base", seed, days=0.5).data)
    assert (result.status, result.objective) == ("optimal", optimum)


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_literal_and_fast_agree_on_six_hours(seed):
    data = synthetic("higher-load", seed, days=0.25, slot_minutes=5.0).data
    one, other = exact(data), literal(data)
    assert one.status == other.status == "optimal"
    assert one.objective == other.objective


def test_same_seed_same_answer():
    data = synthetic("base", 3, days=0.5).data
    assert exact(data).solution == exact(data).solution


def test_literal_model_has_the_windows_of_the_paper():
    """X in [s_j, m_j], Y where the job can be running, one row (11) for each Y."""
    data = five_jobs().data
    model = build_literal(data)
    assert sorted(model.X_index) == [
        (0, 0),
        (1, 0),
        (2, 0),
        (2, 1),
        (2, 2),
        (3, 1),
        (3, 2),
        (3, 3),
        (4, 2),
        (4, 3),
        (4, 4),
    ]
    assert (
        len(model.is_running)
        == len(model.Y_index)
        == sum(cutoff + job.duration - job.submit for job, cutoff in zip(data.jobs, data.cutoffs, strict=True))
    )


def test_job_dependent_windows_give_long_jobs_as_few_starts_as_short_ones():
    data = synthetic("base", 3, days=0.5).data
    starts = {}
    for j, _ in build_literal(data, windows=4).X_index:
        starts[j] = starts.get(j, 0) + 1
    for j, (job, cutoff) in enumerate(zip(data.jobs, data.cutoffs, strict=True)):
        assert starts[j] <= (cutoff - job.submit) // -(-job.duration // 4) + 2
    restricted = literal_windows(data, windows=4)
    assert restricted.status == "feasible"
    assert restricted.bound is None
    assert restricted.objective >= exact(data).objective


@pytest.mark.parametrize("fair_share", ["all-use", "above-share"])
def test_fairness_literal_and_direct_agree(fair_share):
    base = synthetic("base", 4, days=0.15, slot_minutes=5.0).data
    data = base.model_copy(update={"fairness_weight": 0.7, "fair_share": fair_share})
    one, other = exact(data), literal(data)
    assert one.status == other.status == "optimal"
    assert one.objective == pytest.approx(other.objective, rel=1e-6)
    plain = exact(base).objective
    assert one.objective >= plain


def crowd(latest_start):
    jobs = tuple(Job(id=f"j{k}", pool="p", submit=0, duration=3, gpus=1, latest_start=latest_start) for k in range(3))
    return SiaOracle(slot_minutes=1.0, pools=(Pool(name="p", gpus=1),), jobs=jobs)


def test_cutoffs_nobody_can_keep_are_infeasible_with_a_reason():
    result = exact(crowd(5))
    assert result.status == "infeasible"
    assert "latest_start" in result.reason


def test_cutoffs_of_the_users_own_that_can_be_kept():
    result = exact(crowd(6))
    assert (result.status, result.objective) == ("optimal", 9.0)


def test_the_lagrangian_bound_is_valid_for_any_prices():
    data = synthetic("base", 3, days=0.5).data
    columns, optimum = Columns(oracle_arrays(data)), exact(data).objective
    rows = Rows(columns, [capacity_row(columns.arrays, t) for t in range(0, columns.arrays.horizon, 3)])
    rng = np.random.default_rng(0)
    for share in (0.01, 0.1, 1.0):
        prices = np.rint(rng.random(len(rows)) * share * 0.15 * SCALE).astype(np.int64)
        assert rows.lagrangian(prices)[0] <= optimum * SCALE


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
    row = rounded(np.array(gpus), capacity, members, divisor, (0, 0, NOBODY))
    assert (row.weight >= 0).all()
    for kept in product((0, 1), repeat=len(gpus)):
        if np.dot(kept, gpus) <= capacity:
            assert np.dot(kept, row.weight) <= row.limit


def _schedules(arrays, count):
    """Feasible schedules, far from all alike: of random priorities."""
    rng = np.random.default_rng(1)
    plan = arrays.cutoff
    for _ in range(count):
        yield pull_forward(arrays, plan, rng.random(len(plan)))


@pytest.mark.parametrize(("variant", "seed", "days"), [("more-wide", 0, 0.6), ("base", 12, 0.6), ("base", 18, 1.0)])
def test_no_schedule_breaks_a_cut_and_cuts_raise_the_bound(variant, seed, days):
    data = synthetic(variant, seed, days=days).data
    arrays = oracle_arrays(data)
    columns, best = Columns(arrays), exact(data)
    relaxation = Relaxation(columns, arrays.cutoff)
    far = arrays.most + 1  # so that no column is closed
    assert relaxation.converge(far, Stopwatch())
    before, touching = relaxation.value, 0
    for _ in range(8):
        if not relaxation.cut():
            break
        touching += sum(row.touching != NOBODY for row in relaxation.rows.rows)
        assert relaxation.converge(far, Stopwatch())
        for starts in (_starts(best, data, arrays), *_schedules(arrays, 20)):
            used = np.array([relaxation.rows.along(r, columns.of(starts)).sum() for r in range(len(relaxation.rows))])
            assert (used <= relaxation.rows.limits).all()
    assert touching  # both kinds of cuts are among them
    assert before < relaxation.value <= best.objective + 1e-6
    assert relaxation.bound <= best.objective


def _starts(result, data, arrays):
    return np.array([result.solution["starts"][job.id] for job in data.jobs]) - arrays.origin + arrays.submit


def test_relaxation_equals_the_literal_models_own():
    """Column and row generation, and leaving Y out, change no value."""
    from pyomo.environ import TransformationFactory

    from models.highs import solve_arrays
    from models.literal import compile_model

    data = synthetic("base", 7, days=0.3).data
    model = build_literal(data)
    TransformationFactory("core.relax_integer_vars").apply_to(model)
    whole = solve_arrays(compile_model(model).model, Options()).objective
    arrays = oracle_arrays(data)
    relaxed = Relaxation(Columns(arrays), arrays.cutoff)
    assert relaxed.converge(arrays.most, Stopwatch())
    assert relaxed.value == pytest.approx(whole, abs=1e-6)
    assert relaxed.bound <= whole + 1


def _some_rows(arrays):
    over = np.flatnonzero(arrays.use(arrays.submit) > arrays.capacity)
    return [capacity_row(arrays, int(t)) for t in over[::7]]


def test_components_relax_and_their_bounds_add_up():
    data = synthetic("base", 3, days=0.5).data
    columns = Columns(oracle_arrays(data))
    optimum = exact(data).objective
    parts, first = components(columns, _some_rows(columns.arrays))
    tied = {j for part in parts for j in part.jobs}
    assert sum(len(part.jobs) for part in parts) == len(tied)
    found = [solve_component(columns, part, Options(), cutoff=10**6, tolerance=0.9) for part in parts]
    assert all(outcome.closed for outcome in found)
    assert 0 < sum(outcome.bound for outcome in found) <= optimum
    assert (first == columns.arrays.submit).all()


def test_a_cutoff_that_nothing_reaches_is_the_bound():
    data = synthetic("base", 3, days=0.5).data
    columns = Columns(oracle_arrays(data))
    part = max(components(columns, _some_rows(columns.arrays))[0], key=lambda part: part.size)
    best = solve_component(columns, part, Options(), cutoff=10**6, tolerance=0.9).bound
    assert solve_component(columns, part, Options(), cutoff=best - 1, tolerance=0.9).bound == best


def test_candidates_are_the_first_start_and_those_where_a_row_counts_no_more():
    starts = np.array([2, 3, 4, 7, 8, 9])
    assert candidates(starts, np.array([2, 4, 6, 9, 10])).tolist() == [2, 4, 7, 9]


@pytest.mark.parametrize("seed", range(3))
def test_search_keeps_schedules_feasible_and_never_worse(seed):
    arrays = oracle_arrays(synthetic("base", seed, days=1).data)
    forward = pull_forward(arrays, arrays.cutoff, arrays.duration.astype(float))
    assert arrays.feasible(forward)
    assert (forward <= arrays.cutoff).all()
    better = improve(arrays, forward, Stopwatch(), tries=50, batches=2)
    assert arrays.feasible(better)
    assert arrays.delay(better) <= arrays.delay(forward)


def test_search_is_deterministic_and_gains():
    arrays = oracle_arrays(synthetic("base", 2, days=1).data)
    forward = pull_forward(arrays, arrays.cutoff, arrays.duration.astype(float))
    found = [improve(arrays, forward, Stopwatch(), seed=seed, tries=200, batches=1) for seed in (5, 5, 6)]
    assert (found[0] == found[1]).all()
    assert (found[0] != found[2]).any()
    assert arrays.delay(found[0]) < arrays.delay(forward)


def test_the_search_ends_at_a_known_bound_and_with_the_clock():
    arrays = oracle_arrays(synthetic("base", 2, days=1).data)
    for clock, stop in ((Stopwatch(0.0), 0), (Stopwatch(), arrays.most)):
        found = improve(arrays, arrays.cutoff, clock, tries=10**6, batches=10**6, stop=stop)
        assert (found == advance(arrays, arrays.cutoff)).all()


def test_jobs_in_a_given_order():
    arrays = oracle_arrays(five_jobs().data)
    assert in_order(arrays, arrays.cutoff.astype(float)).tolist() == [0, 0, 2, 1, 3]
    nobody_can = oracle_arrays(crowd(5))
    assert in_order(nobody_can, nobody_can.submit.astype(float)) is None


@pytest.mark.parametrize("seed", range(3))
def test_an_order_that_breaks_cutoffs_is_mended(seed):
    arrays = oracle_arrays(synthetic("base", seed, days=0.5).data)
    starts = in_order(arrays, -arrays.cutoff.astype(float))  # the most urgent last
    assert arrays.feasible(starts)


def test_starts_drawn_from_the_relaxation_are_starts_of_the_job():
    arrays = oracle_arrays(synthetic("base", 3, days=1).data)
    relaxation = Relaxation(Columns(arrays), arrays.cutoff)
    relaxation.converge(arrays.most, Stopwatch())
    rng = np.random.default_rng(0)
    drawn = np.array([relaxation.sample(rng) for _ in range(50)])
    assert (drawn >= arrays.submit).all()
    assert (drawn <= arrays.cutoff).all()
    assert (drawn != drawn[0]).any()


def test_a_time_limit_leaves_a_schedule_and_a_bound():
    data = synthetic("base", 12).data
    told = []
    result = exact(data, Options(time_limit=2.0), lambda solution, bound: told.append((solution, bound)))
    assert result.status == "feasible"
    assert result.termination == "time_limit"
    assert 0 <= result.bound < result.objective
    assert any(solution is not None for solution, _ in told)
    bounds = [bound for _, bound in told if bound is not None]
    assert bounds == sorted(bounds)


def made(*jobs, pools=(("p", 2), ("q", 2)), **options):
    """Jobs (pool, submission, duration, GPUs)."""
    return SiaOracle(
        slot_minutes=1.0,
        pools=tuple(Pool(name=name, gpus=gpus) for name, gpus in pools),
        jobs=tuple(Job(id=f"j{i}", pool=p, submit=s, duration=d, gpus=n) for i, (p, s, d, n) in enumerate(jobs)),
        **options,
    )


@pytest.mark.parametrize(("weight", "expected"), [(0.2, 0.05), (1e-9, 2.5e-10), (1e9, 2.5e8)])
@pytest.mark.parametrize("method", [exact, literal])
def test_an_optimum_next_to_zero_is_proven(method, weight, expected):
    data = made(("p", 0, 1, 1), pools=(("p", 4),), fairness_weight=weight)
    result = method(data)
    assert (result.status, result.objective) == ("optimal", pytest.approx(expected))


def test_a_charge_for_use_above_the_share_can_be_nothing_and_proven():
    result = exact(made(("p", 0, 3, 1), fairness_weight=0.2, fair_share="above-share"))
    assert (result.status, result.objective, result.bound) == ("optimal", 0.0, 0.0)


@pytest.mark.parametrize("method", [exact, literal, direct])
def test_one_job_without_a_choice_has_an_answer(method):
    result = method(made(("p", 7, 3, 2)))
    assert (result.status, result.objective, result.solution) == ("optimal", 0.0, {"starts": {"j0": 7}})


def test_with_fairness_a_start_is_told_first_and_nothing_worse_is_returned():
    """From nothing HiGHS came to 893.6 in 8 seconds; heuristics have 159.6, and FCFS less than that."""
    from heuristics.sia import sia_vc

    data = synthetic("less-skewed", 360682, days=0.25, fairness_weight=0.2).data
    start, told = sia_vc(data), []
    result = exact(data, Options(time_limit=0.5), lambda solution, bound: told.append(solution), start.solution)
    assert told[0] == start.solution
    assert result.objective <= start.objective == pytest.approx(159.6)
    alone = exact(data, Options(time_limit=0.5))
    everybody = {"starts": {job.id: t for job, t in zip(data.jobs, data.fcfs_starts, strict=True)}}
    assert alone.objective <= check(data, everybody).objective


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_a_start_is_used_where_the_cutoffs_cannot_all_be_kept_at_once(weight):
    """Nobody has FCFS at hand here: two jobs may not be at their cut-offs together."""
    jobs = tuple(Job(id=f"j{k}", pool="p", submit=0, duration=3, gpus=1, latest_start=k and 4) for k in range(2))
    data = SiaOracle(slot_minutes=1.0, pools=(Pool(name="p", gpus=1),), jobs=jobs, fairness_weight=weight)
    jobs = (*jobs, Job(id="j2", pool="p", submit=2, duration=1, gpus=1, latest_start=6))
    data = data.model_copy(update={"jobs": jobs})
    start = {"starts": {"j0": 0, "j1": 4, "j2": 3}}
    told = []
    result = exact(data, report=lambda solution, bound: told.append(solution), start=start)
    assert told[0] == start
    assert result.status == "optimal"
    assert result.objective <= check(data, start).objective
    assert result.objective == pytest.approx(literal(data).objective)


def test_a_start_that_breaks_a_constraint_is_refused():
    data = five_jobs().data
    with pytest.raises(InputError, match="start: job j4 starts at 9, cut-off 4"):
        exact(data, start={"starts": dict(zip(("j0", "j1", "j2", "j3", "j4"), (0, 0, 2, 3, 9), strict=True))})


def test_a_start_that_is_optimal_is_the_answer():
    data = synthetic("base", 3, days=0.5).data
    best = exact(data)
    again = exact(data, start=best.solution)
    assert (again.status, again.objective) == ("optimal", best.objective)


LONG_JOBS = (("p", 0, 4_000_000, 2), ("p", 3, 7, 1), ("q", 1, 9, 2), ("q", 2, 11, 1), ("p", 5, 13, 2))


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_what_is_at_hand_is_told_before_anything_is_built(weight):
    data, told = made(*LONG_JOBS, fairness_weight=weight), []
    result = exact(data, Options(time_limit=2.0), lambda solution, bound: told.append((solution, bound)))
    everybody = {"starts": {job.id: t for job, t in zip(data.jobs, data.fcfs_starts, strict=True)}}
    assert told[0][0] == everybody
    assert 0 <= result.bound <= result.objective <= check(data, everybody).objective
    if weight:
        assert result.status == "feasible"
        assert "slots of starts, more than" in result.reason or "starts, more than 5,000,000" in result.reason
    else:  # a good schedule waits 31 slots in all, so that no job has to be looked at any later
        assert (result.status, result.objective) == ("optimal", 31.0)


def test_windows_too_long_for_a_model_are_an_answer_with_a_reason():
    far = 10**9
    data = made(("p", 0, far, 2), ("p", 0, far - 1, 2), ("q", 0, far, 2), ("q", 0, far, 1))
    result = exact(data)
    assert (result.status, result.bound) == ("feasible", 0.0)
    assert result.reason.endswith("starts, more than 5,000,000")


def test_a_billion_slots_are_one_step_where_all_times_are_multiples():
    big = 10**9
    data = made(("p", 0, big, 2), ("p", 0, big, 2), ("q", big, big, 2), ("q", 0, big, 1))
    result = exact(data)
    assert (result.status, result.objective) == ("optimal", big)


@pytest.mark.parametrize(("weight", "fair_share"), [(0.0, "all-use"), (0.5, "all-use"), (2.0, "above-share")])
def test_stretches_without_events_are_left_out(weight, fair_share):
    """Far ends and submissions of up to a billion: the optimum of the same jobs close together, and the idle time."""
    far, small = 10**9, []
    for length, late in ((50, 40), (far, far - 10)):
        jobs = (
            ("p", 0, length, 1),
            ("p", 0, 3, 2),
            ("q", 1, 2, 2),
            ("q", 1, 4, 2),
            ("p", late, 2, 2),
            ("q", late, 3, 1),
        )
        jobs = tuple(
            Job(id=f"j{i}", pool=p, submit=s, duration=d, gpus=n, latest_start=s + 6)
            for i, (p, s, d, n) in enumerate(jobs)
        )
        pools = (Pool(name="p", gpus=2), Pool(name="q", gpus=2))
        data = SiaOracle(slot_minutes=1.0, pools=pools, jobs=jobs, fairness_weight=weight, fair_share=fair_share)
        assert oracle_arrays(data).horizon < 100
        result = exact(data)
        assert result.status == "optimal"
        idle = 0.5 * weight * (length - 50) if fair_share == "all-use" else 0.0  # one GPU of two all the while
        small.append(result.objective - idle)
    assert small[1] == pytest.approx(small[0], abs=1e-6 * result.objective)
    assert small[0] > 0


@given(gpus=st.lists(st.integers(1, 10**9), min_size=2, max_size=7), share=st.floats(0.1, 0.9))
def test_a_cover_cuts_off_the_jobs_that_are_too_wide_together_and_no_set_that_fits(gpus, share):
    capacity = max(max(gpus), int(sum(gpus) * share))
    if sum(gpus) <= capacity:
        return
    data = made(*((("p"), 0, 1, n) for n in gpus), pools=(("p", capacity),)) if capacity <= 10**9 else None
    if data is None:
        return
    arrays = oracle_arrays(data)
    row = cover_row(arrays, arrays.submit, 0)
    assert row.weight.sum() > row.limit
    few = coarse(arrays)
    assert few.capacity <= 100_000
    for kept in product((0, 1), repeat=len(gpus)):
        if np.dot(kept, gpus) <= capacity:
            assert np.dot(kept, row.weight) <= row.limit
            assert np.dot(kept, few.gpus) <= few.capacity


def test_widths_of_all_sizes_are_told_apart_to_the_last_gpu():
    """Two halves of a billion and one GPU too many: a solver's tolerances are a thousand GPUs here."""
    big = 10**9
    for more, expected in ((0, 0.0), (1, 1.0)):
        jobs = [("p", 0, 1, big // 2), ("p", 0, 1, big // 2 - 1), ("p", 0, 1, 1 + more)]
        cutoffs = tuple(
            Job(id=f"j{i}", pool=p, submit=s, duration=d, gpus=n, latest_start=5) for i, (p, s, d, n) in enumerate(jobs)
        )
        for weight in (0.0, 1e-9):
            data = SiaOracle(slot_minutes=1.0, pools=(Pool(name="p", gpus=big),), jobs=cutoffs, fairness_weight=weight)
            result = exact(data)
            assert result.status == "optimal"
            assert result.objective == pytest.approx(expected + weight * (1 + more / big), abs=1e-15)
