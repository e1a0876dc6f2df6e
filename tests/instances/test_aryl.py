"""Test Aryl's data, builders, generators and checkers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from instances import InputError, MalformedSolution, check, load, save
from instances.aryl import (
    ArylElastic,
    ElasticJob,
    elastic_jobs,
    figure_5,
    five_servers,
    loaned_servers,
    placement_moment,
    table_2,
)
from instances.files import parse


def until(*intervals: tuple[float, dict[str, int]]) -> dict:
    return {"intervals": [{"length": length, "workers": workers} for length, workers in intervals]}


@pytest.mark.parametrize(
    ("intervals", "mean"),
    [
        ([(50.0, {"A": 6, "B": 2}), (10 / 3, {"B": 6})], 51.67),
        ([(20.0, {"A": 2, "B": 6}), (130 / 3, {"A": 6})], 41.67),
        ([(30.0, {"A": 4, "B": 4}), (30.0, {"A": 6})], 45.0),
    ],
)
def test_the_three_solutions_of_table_3(intervals: list, mean: float):
    verdict = check(table_2().data, until(*intervals))
    assert verdict.violations == ()
    assert verdict.objective == pytest.approx(mean, abs=0.005)


BROKEN = [
    ([(20.0, {"A": 2, "B": 6})], "job A does not complete"),
    ([(20.0, {"A": 3, "B": 6}), (60.0, {"A": 4})], "interval 0: 9 GPUs are in use, there are 8"),
    ([(20.0, {"A": 1, "B": 6}), (280 / 6, {"A": 6})], "interval 0: job A has 1 workers, not 2 to 6"),
    ([(21.0, {"A": 2, "B": 6}), (43.0, {"A": 6})], "interval 0: job B completes before the end of the interval"),
    (
        [(10.0, {"A": 2, "B": 6}), (15.0, {"A": 4, "B": 4}), (220 / 6, {"A": 6})],
        "interval 1: workers change though no job completes before it",
    ),
    ([(20.0, {"A": 2, "B": 6}), (43.0, {"A": 6, "B": 2})], "interval 1: job B has workers after it completed"),
]


@pytest.mark.parametrize(("intervals", "violation"), BROKEN)
def test_the_checker_finds_what_is_broken(intervals: list, violation: str):
    assert violation in check(table_2().data, until(*intervals)).violations


def test_a_job_that_started_keeps_its_base_demand():
    job = {"min_workers": 2, "max_workers": 2, "gpus_per_worker": 1, "min_running_time": 10.0}
    jobs = tuple(ElasticJob(id=name, **job) for name in "abc")
    data = ArylElastic(capacity_gpus=4, jobs=jobs, objective="mean-jct")
    stopped = until((10.0, {"a": 2, "b": 2}), (10.0, {"c": 2}))
    assert check(data, stopped).violations == ()
    long = jobs[0].model_copy(update={"min_running_time": 20.0})
    data = ArylElastic(capacity_gpus=4, jobs=(long, *jobs[1:]), objective="mean-jct")
    stopped = until((10.0, {"a": 2, "b": 2}), (10.0, {"c": 2}), (10.0, {"a": 2}))
    assert "interval 1: job a loses its workers before it completes" in check(data, stopped).violations


def tiny(*seconds: float) -> ArylElastic:
    """Jobs of one worker, one at a time."""
    jobs = [
        ElasticJob(id=f"j{i}", min_workers=1, max_workers=1, gpus_per_worker=1, min_running_time=s)
        for i, s in enumerate(seconds)
    ]
    return ArylElastic(capacity_gpus=1, jobs=tuple(jobs), objective="mean-jct")


def test_the_smallest_jobs_take_their_time():
    data = tiny(1e-9, 1e-9)
    verdict = check(data, until((1e-9, {"j0": 1}), (1e-9, {"j1": 1})))
    assert verdict.violations == ()
    assert verdict.objective == pytest.approx(1.5e-9, rel=1e-9)
    nothing = check(data, until((5e-324, {"j0": 1}), (5e-324, {"j1": 1})))
    assert nothing.objective is None
    assert "job j0 does not complete" in nothing.violations


def test_a_length_may_be_rounded_and_the_objective_does_not_follow_the_rounding():
    data = tiny(1.0, 2.0)
    short = check(data, until((1 - 1e-10, {"j0": 1}), (2 - 1e-10, {"j1": 1})))
    assert short.violations == ()
    assert short.objective == 2.0
    assert "job j0 does not complete" in check(data, until((1 - 1e-6, {"j0": 1}), (2.0, {"j1": 1}))).violations


def test_workers_that_fit_and_make_progress():
    job = ElasticJob(id="a", min_workers=2, max_workers=10**9, gpus_per_worker=3, min_running_time=1.0)
    data = ArylElastic(capacity_gpus=100, jobs=(job, job.model_copy(update={"id": "b"})), objective="mean-jct")
    assert data.choices() == (range(2, 34), range(2, 34))
    shared = data.model_copy(update={"objective": "jct-reduction"})
    assert shared.choices() == (range(2, 32), range(2, 32))
    few = job.model_copy(update={"max_workers": 20})
    lossy = data.model_copy(update={"jobs": (few,), "scaling_loss": 0.25})
    assert lossy.choices() == (range(2, 15),)  # midpoint 11, and three workers beyond it
    for loss in (0.0, 0.01, 0.04, 0.1, 0.25, 1.0):
        lossy = data.model_copy(update={"jobs": (few,), "scaling_loss": loss})
        for most in range(2, 21):
            speeds = {w: lossy.throughput(few, w) for w in range(2, most + 1)}
            assert lossy.fastest(few, most) == max(speeds, key=lambda w: (speeds[w], -w))


@pytest.mark.parametrize(
    "solution",
    [
        {},
        until((1.0, {"C": 2})),
        until((-1.0, {"A": 2})),
        until((1.0, {"A": 2.5})),
        until((True, {"A": 2})),
        until((0.0, {"A": 2})),
        until((10**400, {"A": 2})),
        until((10**5000, {"A": 2})),
        until((1e300, {"A": 2})),
        until((1.0, {"A": 10**400})),
        until((1.0, {"A": [10**5000]})),
        {"intervals": [[10**5000]]},
        {"intervals": [{}]},
    ],  # type: ignore[dict-item]
)
def test_malformed_schedules(solution: dict):
    with pytest.raises(MalformedSolution):
        check(table_2().data, solution)


def test_the_knapsack_s_objective_and_constraints():
    data = table_2("jct-reduction").data
    assert check(data, {"workers": {"A": 5, "B": 3}}).objective == pytest.approx(110)
    assert check(data, {"workers": {"A": 6, "B": 3}}).violations == ("9 GPUs are in use, there are 8",)
    assert check(data, {"workers": {"A": 6, "B": 0}}).violations == ("job B has no workers",)
    with pytest.raises(MalformedSolution, match="no workers for job 'B'"):
        check(data, {"workers": {"A": 6}})


def test_reclaimed_servers():
    data = figure_5().data
    assert check(data, {"servers": ["s1", "s2"]}).objective == 1
    assert check(data, {"servers": ["s4", "s5"]}).objective == 2
    assert check(data, {"servers": ["s1"]}).violations == ("1 servers are reclaimed, not 2",)
    for servers in (["s1", "s1"], ["s1", "s9"], "s1", [["s1"], "s2"], [10**5000, "s1"]):
        with pytest.raises(MalformedSolution):
            check(data, {"servers": servers})


def test_flexible_workers_are_released_without_preemption():
    content = {"servers": ["s", "t"], "reclaim": 1, "jobs": [{"id": "a", "servers": ["s"], "flexible_servers": ["t"]}]}
    data = parse({"gapwise": 1, "problem": "aryl-reclaim", "name": "x", "data": content}).data
    assert check(data, {"servers": ["t"]}).objective == 0
    assert check(data, {"servers": ["s"]}).objective == 1


def needing(**changes: object) -> dict:
    """Build a job on two servers that continues with two of its four workers."""
    job = {"id": "a", "servers": ["s"], "flexible_servers": ["t"], "workers": {"s": 1, "t": 3}, "min_workers": 2}
    return {"servers": ["s", "t"], "reclaim": 1, "jobs": [job | {"gpu_hours": 2.5} | changes]}


def test_a_job_that_says_how_many_workers_it_needs_goes_on_with_them_whichever_they_are():
    data = parse({"gapwise": 1, "problem": "aryl-reclaim", "name": "x", "data": needing()}).data
    assert check(data, {"servers": ["s"]}).objective == 0
    assert check(data, {"servers": ["t"]}).objective == 1
    lost = parse(
        {"gapwise": 1, "problem": "aryl-reclaim", "name": "x", "data": needing() | {"objective": "lost-gpu-hours"}}
    ).data
    assert check(lost, {"servers": ["s"]}).objective == 0
    assert check(lost, {"servers": ["t"]}).objective == 2.5
    assert (lost.unit, data.unit) == ("GPU-hours", "preempted jobs")


def test_imperfect_scaling_costs_a_tenth_for_each_step_beyond_the_midpoint():
    job = ElasticJob(id="a", min_workers=2, max_workers=6, gpus_per_worker=1, min_running_time=10.0)
    data = ArylElastic(capacity_gpus=8, jobs=(job,), objective="mean-jct", scaling_loss=0.1)
    assert [float(data.throughput(job, w)) for w in range(2, 7)] == pytest.approx([2, 3, 4, 4.5, 4.8])
    assert check(data, until((60 / 4.8, {"a": 6}))).objective == pytest.approx(12.5)


def elastic(**changes: object) -> dict:
    job = {"id": "a", "min_workers": 2, "max_workers": 6, "gpus_per_worker": 1, "min_running_time": 50}
    return {"capacity_gpus": 8, "objective": "mean-jct", "jobs": [job | changes]}


def placed(**changes: object) -> dict:
    """Build a job and a server in use."""
    server = {"id": "s", "kind": "loaned", "gpus": 8, "free_gpus": 4}
    job = {"id": "a", "gpus_per_worker": 2, "base_workers": 1, "flexible_workers": 1, "elastic": True}
    return {"servers": [server], "jobs": [job | changes]}


BAD: dict[str, list[tuple[dict, str]]] = {
    "aryl-placement": [
        (placed(elastic=False), "data.jobs[0].flexible_workers: must be 0 for a job that is not elastic, got 1"),
        (
            placed(base_workers=0, flexible_workers=0),
            "data.jobs[0].base_workers: must be >= 1 where there are no flexible workers, got 0",
        ),
        (
            placed(heterogeneous=True),
            "data.jobs[0].kinds: must be both kinds for a heterogeneous job, got ['training']",
        ),
        (
            placed() | {"servers": [{"id": "s", "kind": "training", "gpus": 8, "free_gpus": 9}]},
            "data.servers[0].free_gpus: must be <= gpus, 8, got 9",
        ),
        (
            placed() | {"servers": [{"id": "s", "kind": "loaned", "gpus": 8, "free_gpus": 8, "group": "base"}]},
            'data.servers[0].group: must not be given but for a loaned server in use, got "base"',
        ),
    ],
    "aryl-elastic": [
        (elastic(min_workers=7), "data.jobs[0].max_workers: must be >= min_workers, 7, got 6"),
        (elastic(min_running_time=0), "data.jobs[0].min_running_time: must be > 0, got 0"),
        (elastic(min_running_time=-3), "data.jobs[0].min_running_time: must be > 0, got -3"),
        (elastic(min_workers=0), "data.jobs[0].min_workers: must be >= 1, got 0"),
        (
            elastic(gpus_per_worker=5),
            "data.jobs[0].min_workers: base demand of 10 GPUs must be at most capacity_gpus, got 8.0",
        ),
        (
            elastic() | {"objective": "jct-reduction", "jobs": [elastic()["jobs"][0] | {"id": i} for i in "abcde"]},
            "data.capacity_gpus: must be at least 10, the base demand of all jobs, got 8.0",
        ),
        (elastic() | {"jobs": elastic()["jobs"] * 2}, 'data.jobs: must be unique, occurs 2 times, got "a"'),
        (
            elastic() | {"capacity_gpus": 1e-9},
            "data.jobs[0].min_workers: base demand of 2 GPUs must be at most capacity_gpus, got 1e-09",
        ),
    ],
    "aryl-reclaim": [
        ({"servers": ["s"], "reclaim": 2, "jobs": []}, "data.reclaim: must be <= 1, the number of servers, got 2"),
        (
            {"servers": ["s"], "reclaim": 1, "jobs": [{"id": "a", "servers": ["t"]}]},
            'data.jobs[0].servers[0]: unknown server, got "t"',
        ),
        (
            {"servers": ["s"], "reclaim": 1, "jobs": [{"id": "a", "servers": ["s"], "gpus": [1, 2]}]},
            "data.jobs[0].gpus: must have one entry for each of 1 servers, got 2",
        ),
        (
            {
                "servers": ["s", "t"],
                "reclaim": 1,
                "jobs": [{"id": "a", "servers": ["s"], "flexible_servers": ["t", "s"]}],
            },
            'data.jobs[0].flexible_servers[1]: must not be a server of its base workers, got "s"',
        ),
        (needing(min_workers=None), "data.jobs[0].min_workers: must be given, for workers and min_workers go together"),
        (needing(workers=None), "data.jobs[0].workers: must be given, for workers and min_workers go together"),
        (
            needing(workers={"s": 4}),
            "data.jobs[0].workers: must name the 2 servers that the job is on, and no other, got ['s']",
        ),
        (needing(min_workers=5), "data.jobs[0].min_workers: must be <= 4, the workers on all servers, got 5"),
        (needing(workers={"s": 0, "t": 3}), "data.jobs[0].workers.s: must be >= 1, got 0"),
        (
            needing(gpu_hours=None) | {"objective": "lost-gpu-hours"},
            "data.jobs[0].gpu_hours: must be given where the objective is lost-gpu-hours",
        ),
        (needing(gpu_hours=-1), "data.jobs[0].gpu_hours: must be >= 0, got -1"),
        ({"servers": ["s"], "reclaim": -1, "jobs": []}, "data.reclaim: must be >= 0, got -1"),
    ],
}


@pytest.mark.parametrize(("problem", "data", "line"), [(name, *row) for name, rows in BAD.items() for row in rows])
def test_bad_input_is_one_clear_line(tmp_path: Path, problem: str, data: dict, line: str):
    path = tmp_path / "bad.json"
    path.write_text(json.dumps({"gapwise": 1, "problem": problem, "name": "bad", "data": data}))
    with pytest.raises(InputError) as error:
        load(path)
    assert str(error.value) == f"{path}: {line}"


@pytest.mark.parametrize(
    "instance",
    [
        elastic_jobs(20, 3, scaling_loss=0.1),
        loaned_servers(40, 0.5, 1, 10, flexible_servers=5, elastic_share=0.4, objective="lost-gpu-hours"),
        five_servers(),
        placement_moment(5, 4, 1),
    ],
    ids=lambda instance: instance.name,
)
def test_instances_survive_a_file(tmp_path: Path, instance):
    """Those that `tests/attacks/test_names.py` does not keep in files under any name."""
    save(instance, tmp_path / "x.json")
    assert load(tmp_path / "x.json") == instance


def test_generators_are_deterministic_and_the_knob_fragments():
    assert loaned_servers(60, 0.5, 7, 5) == loaned_servers(60, 0.5, 7, 5)
    assert elastic_jobs(10, 7) == elastic_jobs(10, 7)

    def spread(fragmentation: float) -> float:
        jobs = [job for seed in range(5) for job in loaned_servers(60, fragmentation, seed, 5).data.jobs]
        return sum(len(job.servers) for job in jobs) / sum(sum(job.gpus or ()) for job in jobs)

    assert spread(0.0) < spread(0.5) < spread(1.0)
    held = dict.fromkeys(loaned_servers(60, 1.0, 0, 5).data.servers, 0)
    for job in loaned_servers(60, 1.0, 0, 5).data.jobs:
        for server, gpus in zip(job.servers, job.gpus or (), strict=True):
            held[server] += gpus
    assert max(held.values()) <= 8
    assert sum(held.values()) >= 0.93 * 60 * 8


def test_what_jobs_need_and_lose_is_drawn_beside_the_placement():
    plain = loaned_servers(60, 0.5, 7, 5).data
    data = loaned_servers(60, 0.5, 7, 5, elastic_share=0.5, objective="lost-gpu-hours").data
    for job, before in zip(data.jobs, plain.jobs, strict=True):
        assert {*job.servers, *job.flexible_servers} == {*before.servers} == {*(job.workers or {})}
    share = sum((job.min_workers or 0) < sum((job.workers or {}).values()) for job in data.jobs) / len(data.jobs)
    assert 0.2 < share < 0.5  # those of one worker do not scale
    assert sum(job.gpu_hours or 0 for job in data.jobs) > 0


@pytest.mark.parametrize(
    "call",
    [
        lambda: elastic_jobs(0, 1),
        lambda: loaned_servers(10, 1.5, 1, 2),
        lambda: loaned_servers(10, 0.5, 1, 2, elastic_share=-1),
    ],
)
def test_generators_refuse_nonsense(call):
    with pytest.raises(ValueError, match="must be"):
        call()
