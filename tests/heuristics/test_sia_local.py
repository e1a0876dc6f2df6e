"""Test buddy cells, HiveD's guarantee, and policies with all GPUs of a job on one server."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heuristics.sia import Perfect, SlidingMaximum
from heuristics.sia.local import LocalFcfs, LocalHived, LocalSia, replay_local
from instances import InputError
from instances.online import RuleBroken
from instances.sia import Job, Pool, SiaOracle
from instances.sia.local_oracle import SIZES, Buddies, Cell
from tests.sampling import sample

POLICIES = {
    "fcfs": lambda data: LocalFcfs(),
    "hived": lambda data: LocalHived(),
    "sia-perfect": lambda data: LocalSia(Perfect(data.jobs), (3, 12)),
    "sia-sliding": lambda data: LocalSia(SlidingMaximum(), (3, 12)),
}
slow = settings(suppress_health_check=list(HealthCheck), max_examples=sample(40, 120))


@st.composite
def local_instances(draw):
    pools = [Pool(name=f"p{i}", gpus=8 * draw(st.integers(1, 2))) for i in range(draw(st.integers(1, 3)))]
    jobs = [
        Job(
            id=f"j{k}",
            pool=draw(st.sampled_from(pools)).name,
            submit=draw(st.integers(0, 12)),
            duration=draw(st.integers(1, 9)),
            gpus=draw(st.sampled_from(SIZES)),
        )
        for k in range(draw(st.integers(1, 14)))
    ]
    return SiaOracle(slot_minutes=1.0, pools=tuple(pools), jobs=tuple(jobs))


def test_a_cell_is_split_and_merged_with_its_buddy():
    buddies = Buddies(2)
    one = buddies.take(1)
    assert (one, one.buddy, one.parent) == (Cell(0, 0, 1), Cell(0, 1, 1), Cell(0, 0, 2))
    assert [buddies.take(size) for size in (1, 4, 2)] == [Cell(0, 1, 1), Cell(0, 4, 4), Cell(0, 2, 2)]
    assert (buddies.whole, buddies.largest()) == (1, 8)
    for cell in (Cell(0, 0, 1), Cell(0, 4, 4), Cell(0, 2, 2), Cell(0, 1, 1)):
        buddies.give_back(cell)
    assert buddies.whole == 2
    assert buddies.take(2, last=True) == Cell(1, 6, 2)


@slow
@given(st.data())
def test_a_request_within_a_quota_of_cells_always_finds_its_cell(data):
    """HiveD's guarantee: cells of several pools, of any sizes, that fit the cluster, taken and given back at will."""
    servers = data.draw(st.integers(1, 3))
    left, quota = Buddies(servers), []
    while len(quota) < 12 and left.largest():
        size = data.draw(st.sampled_from([s for s in SIZES if s <= left.largest()]))
        left.take(size)
        quota.append(size)
    cluster, held = Buddies(servers), {}
    for _ in range(60):
        i = data.draw(st.integers(0, len(quota) - 1))
        if i in held:
            cluster.give_back(held.pop(i))
        else:
            held[i] = cluster.take(quota[i])
            assert held[i] is not None
    for cell in held.values():
        cluster.give_back(cell)
    assert cluster.whole == servers


@slow
@given(local_instances())
def test_every_job_has_all_its_gpus_on_one_server_alone(data):
    servers = data.capacity // 8
    for make in POLICIES.values():
        placed = replay_local(data, make(data))
        assert set(placed) == {job.id for job in data.jobs}
        busy = {}
        for job in data.jobs:
            start, cell = placed[job.id]
            assert start >= job.submit
            assert cell.size == job.gpus
            assert cell.first % cell.size == 0
            assert 0 <= cell.server < servers
            for gpu in range(cell.first, cell.first + cell.size):
                for other, end in busy.get((cell.server, gpu), []):
                    assert start >= end or start + job.duration <= other
                busy.setdefault((cell.server, gpu), []).append((start, start + job.duration))


@slow
@given(local_instances())
def test_opportunistic_jobs_are_never_on_a_server_with_a_dedicated_job(data):
    """A server that a pool uses in order is that pool's; another's job on it would be a buddy of a dedicated one."""
    loans = set()

    class Spy(LocalSia):
        def decide(self, shared, view):
            found = super().decide(shared, view)
            loans.update(shared.loans)
            return found

    placed = replay_local(data, Spy(Perfect(data.jobs), (3, 12)))
    spans = [(j, *placed[j.id], placed[j.id][0] + j.duration) for j in data.jobs]
    for job, start, cell, end in spans:
        for other, begin, there, until in spans:
            together = cell.server == there.server and start < until and begin < end
            if together and job.id not in loans and other.id != job.id:
                assert other.id not in loans
                assert other.pool == job.pool


def test_a_job_on_loan_leaves_the_owner_s_server_in_time():
    pools = (Pool(name="a", gpus=8), Pool(name="b", gpus=8))
    jobs = (
        Job(id="own", pool="a", submit=0, duration=20, gpus=8),
        Job(id="short", pool="a", submit=1, duration=3, gpus=4),
        Job(id="long", pool="a", submit=1, duration=12, gpus=4),
        Job(id="b", pool="b", submit=5, duration=4, gpus=1),
    )
    data = SiaOracle(slot_minutes=1.0, pools=pools, jobs=jobs)
    placed = replay_local(data, LocalSia(Perfect(data.jobs), (3, 12)))
    assert {name: start for name, (start, _) in placed.items()} == {"own": 0, "short": 1, "long": 9, "b": 5}
    assert replay_local(data, LocalHived())["long"][0] == 1


def test_what_has_no_cells_is_refused_in_one_line():
    job = Job(id="x", pool="a", submit=0, duration=1, gpus=3)
    for gpus, line in ((8, "data.jobs[0].gpus: must be one of 1, 2, 4, 8, got 3"), (12, "data.pools[0].gpus: must be")):
        data = SiaOracle(slot_minutes=1.0, pools=(Pool(name="a", gpus=gpus),), jobs=(job,))
        with pytest.raises(InputError) as error:
            replay_local(data, LocalFcfs())
        assert str(error.value).startswith(line)


def test_a_policy_that_starts_nobody_is_an_error():
    class Idle:
        def decide(self, shared, view):
            return view.now + 1

    data = SiaOracle(
        slot_minutes=1.0,
        pools=(Pool(name="a", gpus=8),),
        jobs=(Job(id="x", pool="a", submit=0, duration=1, gpus=1),),
    )
    with pytest.raises(RuleBroken, match=r"job .* is left waiting by policy .* at 1"):
        replay_local(data, Idle())
