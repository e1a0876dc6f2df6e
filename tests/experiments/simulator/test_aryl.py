"""Test that Aryl's loaning world obeys its laws, preempts on time and rejects invalid decisions."""

from __future__ import annotations

from typing import Any

import pytest

from experiments.aryl.simulation import MAIN, POLICIES
from experiments.simulator import simulate
from experiments.simulator.aryl import LoaningWorld
from instances import Options
from instances.aryl import ArylLoaning, InferenceLoad, LoaningJob, loaning_days
from instances.aryl.online import Allocation, LoaningView
from instances.online import RuleBroken
from tests.sampling import few

SEVERAL = (
    "fifo",
    *MAIN,
    "aryl-random",
    "aryl-weighted",
    "sjf-loans-exact",
    "aryl-threshold",
    "sjf-gandiva",
    "fifo-loans-afs",
)


def run(data: ArylLoaning, policy: Any) -> LoaningWorld:
    world = LoaningWorld(data)
    simulate(world, POLICIES[policy](data, Options()) if isinstance(policy, str) else policy)
    return world


def busy(seed: int, **more: Any) -> ArylLoaning:
    """Half a day that keeps a small cluster busy, with many jobs that may go anywhere."""
    shares = {"elastic_share": 0.4, "any_gpu_share": 0.7, "load": 4.0, "training_servers": 6, "workers": "small"}
    return loaning_days(0.5, seed, **(shares | more)).data


class Watched:
    """A policy under the eyes of a test, which counts all workers of every view."""

    def __init__(self, data: ArylLoaning, policy: Any) -> None:
        self.data, self.policy = data, policy
        self.jobs = {job.id: job for job in data.jobs}
        self.least: dict[str, dict[str, int]] = {}
        self.reclaims = self.flexible = 0

    def decide(self, view: LoaningView) -> Any:
        held = dict.fromkeys(view.servers, 0)
        groups: dict[str, set[str]] = {name: set() for name in view.servers}
        loaned = {name for name, server in view.servers.items() if server.kind == "loaned"}
        period = self.data.orchestrator_period_seconds
        assert len(loaned) - view.reclaim <= self.data.lendable(view.now // period * period)
        for name, state in view.jobs.items():
            job = self.jobs[name]
            for part, workers in (("base", state.base), ("flexible", state.flexible)):
                for server, k in workers.items():
                    wide = self.data.count_gpus_on_loan(job) if server in loaned else job.gpus_per_worker
                    held[server] += k * wide
                    groups[server].add(part)
            assert sum(state.base.values()) in (0, job.min_workers)
            assert sum(state.flexible.values()) <= job.max_workers - job.min_workers
            where = {server in loaned for server in [*state.base, *state.flexible]}
            assert where <= {False} or job.any_gpu or job.heterogeneous
            assert len(where) < 2 or job.heterogeneous
            if name in self.least and name not in view.preempted and not getattr(self.policy, "regroup", False):
                assert dict(state.base) == self.least[name]  # the base workers of a job that runs never move
            self.flexible += len(state.flexible)
        self.least = {name: dict(state.base) for name, state in view.jobs.items() if state.base}
        for name, server in view.servers.items():
            assert server.free_gpus == server.gpus - held[name] >= 0
            assert name not in loaned or self.data.placement == "plain" or len(groups[name]) < 2
        self.reclaims += view.reclaim > 0
        return self.policy.decide(view)


EVENTS = {"heterogeneous_share": 0.5, "scheduling_period_seconds": 0.0, "scaling_loss": 0.1}
WIDE = {"loaned_workers": "wide", "placement": "plain", "orchestrator_period_seconds": 500.0}


@pytest.mark.parametrize(
    ("name", "more"),
    few(
        [(name, {}) for name in SEVERAL]
        + [(name, more) for name in ("sjf", "aryl-weighted", "aryl-threshold", "aryl") for more in (EVENTS, WIDE)],
        12,
    ),
)
def test_every_worker_is_where_it_may_be_and_every_law_holds(name: str, more: dict[str, Any]):
    data = busy(SEVERAL.index(name), **more)
    watched = Watched(data, POLICIES[name](data, Options()))
    world = run(data, watched)  # which checks the laws of work, time and capacity at its end
    assert watched.reclaims
    assert watched.flexible or name in ("fifo", "sjf", "fifo-loans", "sjf-loans", "sjf-loans-exact")
    jobs = world.jobs_table()
    assert (jobs["end"].notna()).all()
    assert world.totals()["preemptions"] == jobs["preemptions"].sum()
    assert ((jobs["lost"] == 0) | (jobs["preemptions"] > 0)).all()


@pytest.mark.parametrize("name", ["sjf-loans", "sjf-loans-random", "fifo-loans"])
def test_where_gpus_are_equal_and_preemption_is_free_the_mean_running_time_stays(name: str):
    """Only queueing can change: without scaling a job takes its time wherever it is, in one piece or in several."""
    shares = {"elastic_share": 0.0, "any_gpu_share": 1.0, "checkpointed_share": 1.0}
    data = busy(3, load=12.0, loaned_speed=1.0, preemption_seconds=0.0, **shares)
    alone = sum(job.work / job.min_workers for job in data.jobs) / len(data.jobs)
    world = run(data, name)
    assert world.totals()["preemptions"] > 0
    assert world.totals()["mean_run_h"] * 3600 == pytest.approx(alone, rel=1e-9)


def test_a_policy_that_borrows_nothing_never_preempts():
    data = busy(4)
    world = run(data, "sjf-two-phase")
    assert world.totals()["preemptions"] == 0
    assert world.totals()["reclaimed_servers"] > 0
    assert not world.jobs_table()["loaned"].any()


def small(jobs: list[LoaningJob], use: tuple[float, ...], **more: Any) -> ArylLoaning:
    """One training server of 4 GPUs and one that may be lent, at half the speed, by hours."""
    parameters: dict[str, Any] = {
        "training_servers": 1,
        "inference_servers": 1,
        "gpus_per_server": 4,
        "loaned_speed": 0.5,
        "inference_load": InferenceLoad(step_seconds=3600.0, use=use),
        "orchestrator_period_seconds": 3600.0,
        "preemption_seconds": 63.0,
        "jobs": tuple(jobs),
    }
    return ArylLoaning(**(parameters | more))


def job(name: str, arrival: float, workers: int, seconds: float, **more: Any) -> LoaningJob:
    parameters = {"min_workers": workers, "max_workers": workers, "gpus_per_worker": 1}
    return LoaningJob(id=name, arrival_seconds=arrival, min_running_time=seconds, **(parameters | more))


@pytest.mark.parametrize("checkpointed", [True, False])
def test_a_preempted_job_waits_and_begins_again_or_goes_on(checkpointed: bool):
    """Borrowed from 0 to 3,600 s at half the speed; then the training server is taken until 5,000 s."""
    first = job("first", 0, 4, 5_000.0)
    second = job("second", 0, 4, 4_000.0, any_gpu=True, checkpointed=checkpointed)
    jobs = run(small([first, second], (0.0, 1.0)), "fifo-loans").jobs_table().set_index("job")
    row = jobs.loc["second"]
    left = 4_000 - 3_600 / 2 if checkpointed else 4_000
    assert jobs.loc["first", "end"] == 5_000
    assert row["end"] == pytest.approx(5_000 + 63 + left)
    assert (row["preemptions"], row["lost"]) == (1, 0 if checkpointed else 4 * 1_800)
    assert (row["delay"], row["queueing"]) == (pytest.approx(1_400), 0)
    assert row["run"] == pytest.approx(3_600 + 63 + left)


def test_flexible_workers_go_before_anybody_is_preempted_and_the_speed_follows():
    """Two of four workers are on the loaned server for an hour: 2 + 2 / 2 workers, then 2."""
    elastic = job("e", 0, 2, 10_000.0, max_workers=4, any_gpu=True, heterogeneous=True)
    block = job("b", 0, 2, 20_000.0)
    world = run(small([elastic, block], (0.0, 1.0)), "aryl")
    done = world.jobs_table().set_index("job").loc["e"]
    assert world.totals()["preemptions"] == 0
    assert world.totals()["met_without_preemption"] == 1
    assert done["end"] == pytest.approx(3_600 + (40_000 - 3_600 * 3) / 2)


def test_a_job_that_needs_a_wide_worker_does_not_run_where_servers_are_too_small():
    wide = job("w", 0, 1, 100.0, gpus_per_worker=4, any_gpu=True)
    block = job("b", 0, 4, 1_000.0)
    ends = [
        run(small([block, wide], (0.0, 0.0), loaned_workers=kind), "fifo-loans").jobs_table()["end"].tolist()
        for kind in ("slow", "wide")
    ]
    assert ends == [[1_000, 200], [1_000, 1_100]]


@pytest.mark.parametrize(
    ("policy", "loaned"),
    [("fifo-loans", False), ("sjf-loans", False), ("sjf-loans-exact", False), ("aryl", True), ("fifo-loans-afs", True)],
)
def test_a_job_is_elastic_only_where_the_policy_scales(policy: str, loaned: bool):
    """Section 5.3 prefers loaned servers for jobs that scale in there; without an allocator none does."""
    elastic = job("e", 0, 2, 1_000.0, max_workers=4, any_gpu=True)
    assert run(small([elastic], (0.0, 0.0)), policy).jobs_table()["loaned"].tolist() == [loaned]


def test_a_policy_that_does_not_scale_gives_no_flexible_workers():
    elastic = job("a", 0, 2, 1_000.0, max_workers=4)
    with pytest.raises(RuleBroken, match=r"job a gets 3 workers at 0.0, of a policy that does not scale"):
        run(small([elastic], (1.0,)), Says({"a": 3}, scales=False))


@pytest.mark.parametrize(("flexible", "met"), [(True, 1.0), (False, None)])
def test_servers_that_were_idle_are_no_reclaim_that_flexible_workers_met(flexible: bool, met: float | None):
    """The loaned server goes back after an hour, with flexible workers or idle."""
    elastic = job("e", 0, 2, 10_000.0, max_workers=4 if flexible else 2, any_gpu=True, heterogeneous=True)
    totals = run(small([elastic, job("b", 0, 2, 20_000.0)], (0.0, 1.0)), "aryl").totals()
    assert (totals["met_without_preemption"], totals["met_by_flexible"]) == (1.0, met)
    assert totals["reclaimed_idle"] == (0 if flexible else 1)


def test_decisions_wait_for_the_scheduling_period():
    data = small([job("a", 10, 4, 100.0), job("b", 20, 4, 100.0)], (1.0,), scheduling_period_seconds=60.0)
    assert run(data, "fifo").jobs_table()["end"].tolist() == [160, 280]


class GivesBack:
    def __init__(self, *servers: str) -> None:
        self.servers = servers

    def decide(self, view: LoaningView) -> Allocation:
        return Allocation(give_back=self.servers) if view.reclaim else Allocation(workers={"a": 4})


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (GivesBack(), "0 servers go back at 3600.0, 1 have to"),
        (GivesBack("l7"), "server l7 goes back at 3600.0, but is not on loan"),
        (GivesBack("t0"), "server t0 goes back at 3600.0, but is not on loan"),
    ],
)
def test_a_policy_that_gives_back_other_servers_breaks_a_rule(policy: GivesBack, message: str):
    with pytest.raises(RuleBroken, match=message):
        run(small([job("a", 0, 4, 9_000.0)], (0.0, 1.0)), policy)


class Says:
    def __init__(self, workers: dict[str, int], *, scales: bool = True) -> None:
        self.decision = Allocation(workers=workers, scales=scales)

    def decide(self, view: LoaningView) -> Allocation:
        return self.decision


@pytest.mark.parametrize(
    ("workers", "message"),
    [
        ({"x": 1}, "job x gets 1 workers at 0.0, but is not there"),
        ({"a": 3}, "job a gets 3 workers at 0.0, not 4 to 4"),
        ({}, "job a is left waiting at .* with nothing to come"),
    ],
)
def test_a_policy_that_allocates_what_cannot_be_breaks_a_rule(workers: dict[str, int], message: str):
    with pytest.raises(RuleBroken, match=message):
        run(small([job("a", 0, 4, 9_000.0)], (1.0,)), Says(workers))


def test_the_calendar_does_not_grow_with_completions_that_are_called_off():
    data = busy(5, elastic_share=1.0, scheduling_period_seconds=0.0)
    world, most = LoaningWorld(data), 0
    policy = POLICIES["aryl"](data, Options())

    class Counted:
        def decide(self, view: LoaningView) -> Any:
            nonlocal most
            most = max(most, len(world.calendar.heap))
            return policy.decide(view)

    simulate(world, Counted())
    assert most <= 2 * 66 + len(data.jobs)


def test_a_run_is_the_same_each_time():
    first, second = (run(busy(6), "aryl-random").jobs_table() for _ in range(2))
    assert first.equals(second)


def test_flexible_workers_may_take_the_place_of_base_workers():
    """Base workers on one loaned server and flexible ones on the other: with one server left there are enough."""
    data = small(
        [job("block", 0, 4, 50_000.0), job("e", 0, 4, 9_000.0, max_workers=8, any_gpu=True)],
        (0.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0),
        inference_servers=2,
    )
    kept, lost = (run(data, name) for name in ("aryl-threshold", "aryl"))
    assert kept.totals()["preemptions"] == lost.totals()["preemptions"] == 0
    base = small([data.jobs[0], data.jobs[1].model_copy(update={"id": "a"})], (0.0, 0.5, 1.0), inference_servers=2)

    class First:
        """Gives back the server of the base workers."""

        def __init__(self, regroup: bool) -> None:
            self.regroup, self.inner = regroup, POLICIES["aryl"](base, Options())

        def decide(self, view: LoaningView) -> Any:
            servers = list(view.jobs["a"].base) if view.reclaim else []
            gone = Allocation(give_back=tuple(servers[: view.reclaim]), regroup=self.regroup)
            return gone if view.reclaim and view.now < 5_000 else self.inner.decide(view)

    preempted = [run(base, First(regroup)).reclaims_table()["preempted"].tolist() for regroup in (True, False)]
    assert [found[0] for found in preempted] == [0, 1]


def test_a_job_that_has_done_more_than_its_work_and_what_was_undone_is_refused():
    world = run(busy(3), "aryl")
    world.close()
    world.work[0].worked *= 1.001
    with pytest.raises(RuleBroken, match=r"job .* has done .* worker-seconds by"):
        world.close()


def test_a_server_goes_back_empty_and_only_if_it_is_on_loan():
    world = LoaningWorld(busy(0))
    servers = world.servers
    servers.lend(1)
    (loaned,) = (server for server in range(servers.training, len(servers.free)) if servers.there[server])
    servers.give_back(loaned)
    with pytest.raises(RuleBroken, match=f"loaned server {loaned} goes back"):
        servers.give_back(loaned)
