"""Test the oracle with locality, its models and policies against enumeration."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from heuristics import sia as policies
from heuristics.sia.local import LocalFcfs, replay_local
from instances import InputError, Options, check
from instances.errors import MalformedSolution
from instances.sia import LocalJob, Pool, SiaLocalOracle, SiaOracle, six_jobs, synthetic
from instances.sia.reservations import ServerJobs
from models.sia import exact, local_exact, local_literal
from models.sia.local_exact import LocalParameters, assign_servers
from tests.sampling import few
from tests.sia_local_cases import crowded
from tests.sia_optima import best_local

KEEPING = (policies.local_fcfs, policies.local_sia_vc, policies.local_safe_ssf)
OTHERS = (policies.local_hived, policies.local_sia_perfect, policies.local_sia_sliding)
UNSEARCHED = LocalParameters(max_tries=0)


def small(seed: int) -> SiaLocalOracle:
    """Return the first crowded instance from a seed on with few schedules and a waiting job."""
    for k in range(100):
        data = crowded(1000 * seed + k, 5, pools=2)
        windows = prod(cutoff - job.submit + 1 for job, cutoff in zip(data.jobs, data.cutoffs, strict=True))
        if 4 <= windows <= 60:
            return data
    raise AssertionError


@pytest.mark.parametrize("seed", range(8))
def test_exact_literal_and_enumeration_agree(seed: int):
    data = small(seed)
    best = best_local(data)
    for solve in (local_exact, local_literal):
        result = solve(data)
        assert (result.status, result.objective, result.bound) == ("optimal", best, best)


@pytest.mark.parametrize("seed", few([107, 116, 117, 118, 141, 154, 183, 215], 3))
def test_where_locality_costs_time_exact_with_and_without_search_and_the_literal_model_agree(seed: int):
    """The bound without locality is not the optimum, so that the last model decides."""
    data = crowded(seed, 8)
    found, plain = local_exact(data), local_exact(data, parameters=UNSEARCHED)
    assert found.status == plain.status == "optimal"
    assert found.objective == plain.objective == local_literal(data).objective
    assert exact(data.without_locality).objective < found.objective


def test_jobs_that_cannot_move_wait_longer():
    data = six_jobs().data
    assert exact(data.without_locality).objective == 3
    assert local_exact(data).objective == local_literal(data).objective == best_local(data) == 6


@pytest.mark.parametrize("seed", range(20))
def test_no_policy_hangs_and_those_that_keep_cut_offs_slow_no_job(seed: int):
    data = crowded(seed, 12)
    assert {solve(data).status for solve in KEEPING} == {"feasible"}
    for solve in OTHERS:
        result = solve(data)
        assert result.status in ("feasible", "violates")
        assert all("GPUs" not in line for line in result.violations)


def test_cut_offs_are_the_starts_of_fcfs_in_cells():
    """Three programs: the data's, the policy's, and the checker's, which passes them and nothing a slot later."""
    for seed in range(15):
        data = crowded(seed, 14)
        placed = replay_local(data, LocalFcfs())
        assert tuple(placed[job.id][0] for job in data.jobs) == data.cutoffs
        starts = {job.id: cutoff for job, cutoff in zip(data.jobs, data.cutoffs, strict=True)}
        servers = {job.id: server for job, (_, server) in zip(data.jobs, data.alone, strict=True)}
        assert check(data, {"starts": starts, "servers": servers}).violations == ()
        for name in starts:
            late = check(data, {"starts": starts | {name: starts[name] + 1}, "servers": servers})
            assert f"job {name} starts at {starts[name] + 1}, cut-off {starts[name]}" in late.violations


def test_the_checker_tells_an_overfull_server_and_an_early_start():
    data = six_jobs().data
    starts = {"j0": 3, "j1": 2, "j2": 2, "j3": 8, "j4": 0, "j5": 2}
    servers = {"j0": 1, "j1": 0, "j2": 1, "j3": 0, "j4": 1, "j5": 1}
    overfull = check(data, {"starts": starts, "servers": servers}).violations
    assert overfull == ("10 GPUs of 8 of server 1 in use at slot 3",)
    early = check(data, {"starts": starts | {"j0": 2}, "servers": servers | {"j0": 0}})
    assert "job j0 starts at 2, submitted at 3" in early.violations
    for servers, line in (
        ({"j0": 0}, "job j1 is not among the servers"),
        (dict.fromkeys(starts, 2), "job j0 must be on a server from 0 to 1, got 2"),
        (dict.fromkeys(starts, 0.0), "servers of job j0 must be a whole number, got 0.0"),
    ):
        with pytest.raises(MalformedSolution, match=line):
            check(data, {"starts": starts, "servers": servers})


def test_servers_are_found_for_jobs_that_fit_and_none_for_those_that_do_not():
    submit, duration = np.array([0, 0, 0, 0, 2]), np.array([2, 4, 2, 4, 3])
    jobs = ServerJobs(submit, duration, np.array([4, 4, 4, 4, 8]), 2, 8)
    found = assign_servers(jobs, submit, 100)
    assert found is not None
    assert found[0] == found[2] == found[4] != found[1] == found[3]
    assert assign_servers(jobs, np.array([0, 0, 0, 0, 1]), 100) is None


def test_a_limit_of_time_or_size_leaves_a_valid_bound():
    data = SiaLocalOracle.of(synthetic("base", 2, days=0.25).data)
    full = local_exact(data, Options(effort=1), parameters=LocalParameters(max_tries=1, max_entries=1))
    assert full.solved
    assert full.bound <= full.objective <= policies.local_sia_vc(data).objective
    short = local_exact(data, Options(time_limit=1e-3))
    assert (short.solved, short.bound >= 0) == (True, True)


def test_what_has_no_cells_is_refused_in_one_line():
    job = {"id": "x", "pool": "a", "submit": 0, "duration": 1, "gpus": 1}
    for pools, jobs, line in (
        ([{"name": "a", "gpus": 12}], [job], "pools.0..gpus: must be a multiple of 8, the GPUs of a server, got 12"),
        ([{"name": "a", "gpus": 8}], [job | {"gpus": 3}], "jobs.0..gpus"),
        ([{"name": "a", "gpus": 8}], [job | {"pool": "b"}], 'jobs.0..pool: unknown pool, got "b"'),
    ):
        with pytest.raises(InputError, match=line):
            SiaLocalOracle.model_validate({"slot_minutes": 1.0, "pools": pools, "jobs": jobs})


def test_an_instance_of_the_oracle_gets_locality():
    data = synthetic("base", 0, days=0.25).data
    local = SiaLocalOracle.of(data)
    assert [job.id for job in local.jobs] == [job.id for job in data.jobs]
    assert isinstance(local.without_locality, SiaOracle)
    assert isinstance(local.jobs[0], LocalJob)
    assert local.pools == tuple(Pool(name=pool.name, gpus=pool.gpus) for pool in data.pools)
