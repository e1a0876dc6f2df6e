"""Groups of jobs of sia-oracle: problems apart from each other whose bounds add up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from instances import Stopwatch
from instances.sia import SiaOracle, synthetic
from instances.sia.arrays import oracle_arrays
from models.sia import exact
from models.sia.branching import groups, parted
from models.sia.parameters import DEFAULTS
from models.sia.relaxation import StartRelaxation
from models.sia.rows import Rows, StartColumns, capacity_row
from models.sia.search import improve
from tests.sia_cases import made, oracles, schedules
from tests.sia_optima import best_oracle

NO_CUTS = replace(DEFAULTS, patience=0, patience_gain=1e9, order_jobs=0)
"""Constants that leave most of the proof to trees."""
LAZY = replace(DEFAULTS, batches=1, warm=0.05)
"""Constants of a search that stays near where it begins."""


def _rush(start: int) -> list[tuple[str, int, int, int]]:
    """Three jobs of both GPUs that come together: 3 + 6 slots of delay at least."""
    return [("p", start, 3, 2), ("p", start, 3, 2), ("p", start, 3, 2)]


def _apart(data: SiaOracle):
    """The groups by the capacity rows at all slots at which jobs compete."""
    arrays = oracle_arrays(data)
    columns = StartColumns(arrays)
    rows = [capacity_row(arrays, int(t)) for t in np.flatnonzero(arrays.use(arrays.submit) > arrays.capacity)]
    return columns, groups(columns, parted(columns, rows, arrays.cutoff), arrays.cutoff)


def _optimum(group) -> int:
    """The least delay of a group's problem, by the exact method on an instance of its own."""
    arrays = group.columns.arrays
    jobs = zip(arrays.submit, arrays.duration, arrays.gpus, arrays.cutoff, strict=True)
    data = made(*(("p", int(s), int(d), int(n)) for s, d, n, _ in jobs), pools=(("p", arrays.capacity),))
    late = {job.id: int(m) for job, m in zip(data.jobs, arrays.cutoff, strict=True)}
    own = tuple(job.model_copy(update={"latest_start": late[job.id]}) for job in data.jobs)
    return int(exact(data.model_copy(update={"jobs": own})).objective)


def test_two_rushes_are_two_groups_whose_optima_add_up():
    data = made(*_rush(0), *_rush(50), pools=(("p", 2),))
    _, apart = _apart(data)
    assert [group.jobs.tolist() for group in apart] == [[0, 1, 2], [3, 4, 5]]
    assert [_optimum(group) for group in apart] == [9, 9]
    assert exact(data).objective == 18


def test_what_a_job_of_another_group_holds_wherever_it_starts_stays():
    """A job of the first rush runs on one of three GPUs far into the second: there wide jobs wait for one another."""
    data = made(*_rush(0), ("p", 0, 60, 1), *(("p", 50, 3, 1) for _ in range(3)), pools=(("p", 3),))
    columns, apart = _apart(data)
    last = apart[-1]
    held = last.columns.arrays
    assert (last.jobs.tolist(), len(held.submit)) == ([4, 5, 6], 4)
    assert held.submit[3] == held.cutoff[3] == columns.arrays.cutoff[3]
    assert held.submit[3] + held.duration[3] == 60
    assert sum(_optimum(group) for group in apart) == exact(data).objective


@settings(max_examples=30)
@given(first=oracles(most_jobs=4, most_pools=2), second=oracles(most_jobs=4, most_pools=2), gap=st.integers(0, 12))
def test_groups_together_have_no_more_delay_than_the_optimum(first, second, gap):
    """Brute force on the whole, with the jobs of two instances one after the other."""
    pools = max(first.pools, second.pools, key=lambda pools: sum(pool.gpus for pool in pools))
    sizes = [pool.gpus for pool in pools]
    jobs = [
        (pools[k % len(pools)].name, job.submit + shift, job.duration, min(job.gpus, sizes[k % len(pools)]))
        for instance, shift in ((first, 0), (second, 12 + gap))
        for k, job in enumerate(instance.jobs)
    ]
    data = made(*jobs, pools=tuple((pool.name, pool.gpus) for pool in pools))
    assume(schedules(data) <= 500)
    optimum = best_oracle(data)
    _, apart = _apart(data)
    assert sorted(j for group in apart for j in group.jobs.tolist()) == list(range(len(jobs)))
    assert sum(_optimum(group) for group in apart) <= optimum
    assert exact(data, parameters=NO_CUTS).objective == optimum


def test_no_better_schedule_breaks_a_row_of_a_group():
    """Schedules of a search, against the problems of the groups and their cuts."""
    arrays = oracle_arrays(synthetic("base", 1, days=2, slot_minutes=5.0).data)
    begin = improve(arrays, arrays.cutoff, Stopwatch(), tries=20)
    found = [improve(arrays, begin, Stopwatch(), seed=k, tries=2, parameters=LAZY) for k in range(8)]
    columns, far = StartColumns(arrays), max(arrays.delay(starts) for starts in found) + 1
    relaxation = StartRelaxation(columns, begin)
    for _ in range(4):
        assert relaxation.converge(far, Stopwatch())
        relaxation.cut()
    assert relaxation.converge(far, Stopwatch())
    apart = groups(columns, parted(columns, relaxation.tight, begin), begin)
    assert len(apart) > 1
    assert any(len(group.columns.arrays.submit) > len(group.jobs) for group in apart)
    for group in apart:
        rows = Rows(group.columns, [group.row(row) for row in relaxation.tight])
        for starts in found:
            own = group.starts(starts)
            assert group.columns.arrays.feasible(own)
            used = np.array([rows.along(r, group.columns.of(own)).sum() for r in range(len(rows))])
            assert (used <= rows.limits).all()


@pytest.mark.parametrize(("seed", "optimum"), [(17, 287.0)])
def test_groups_prove_what_the_whole_does(seed, optimum):
    """Optima in slots of five minutes, which one tree over all jobs and integer programs proved before."""
    found = exact(synthetic("base", seed, slot_minutes=5.0).data)
    assert found.info["groups"] > 1
    assert (found.status, found.objective, found.bound) == ("optimal", optimum, optimum)
