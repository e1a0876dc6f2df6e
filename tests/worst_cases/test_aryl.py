"""Test small instances on which Aryl's rules are far from optimal, or a statement of the paper fails."""

from __future__ import annotations

import pytest

from heuristics.aryl import favour, reclaim_greedy, two_phase
from instances.aryl import ArylElastic, ArylReclaim, ElasticJob, LoanedJob, table_2
from models.aryl import exact, literal


def elastic(capacity: int, *jobs: tuple[str, int, int, float]) -> ArylElastic:
    """Jobs of one GPU a worker: (name, least workers, most workers, minimum running time)."""
    return ArylElastic(
        capacity_gpus=capacity,
        jobs=tuple(
            ElasticJob(id=i, min_workers=a, max_workers=b, gpus_per_worker=1, min_running_time=t) for i, a, b, t in jobs
        ),
        objective="mean-jct",
    )


def test_two_phase_loses_16_percent_on_the_paper_s_own_table_2():
    data = table_2().data
    assert two_phase(data).objective == pytest.approx(48.333, abs=0.001)
    assert exact(data).objective == pytest.approx(41.667, abs=0.001)


def test_the_second_rule_of_appendix_c_fails_where_a_base_demand_blocks_the_other_job():
    """p has the smaller workload, 210 against 217 GPU-seconds, and 8 < 2 * 7 GPUs: the rule gives p its maximum.

    The base demand of q leaves p four workers only. The best is to give q its maximum, 7, and p one worker.
    """
    data = elastic(8, ("p", 1, 7, 30.0), ("q", 4, 7, 31.0))
    p, q = data.jobs
    assert p.max_workers <= q.max_workers < 8 < p.max_workers + q.max_workers
    assert p.min_workers + q.min_workers <= 8 < 2 * p.max_workers
    assert p.work < q.work
    assert favour(data, order="pq").objective == pytest.approx(53.0)
    assert favour(data, order="qp").objective == pytest.approx(43.785714)
    assert exact(data).objective == literal(data).objective == pytest.approx(43.785714)


def test_the_two_rules_of_appendix_c_hold_where_nothing_is_blocked():
    first = elastic(9, ("p", 1, 4, 30.0), ("q", 1, 6, 20.0))  # 2 * 4 <= 9 < 4 + 6: the smaller maximum, p
    assert exact(first).objective == pytest.approx(favour(first, order="pq").objective)
    second = elastic(7, ("p", 1, 6, 30.0), ("q", 1, 6, 20.0))  # 7 < 2 * 6: the smaller workload, q
    assert exact(second).objective == pytest.approx(favour(second, order="qp").objective)


@pytest.mark.parametrize("k", [2, 5, 20])
def test_algorithm_1_has_no_bound(k: int):
    """k servers of a job each, 1 apiece, tempt less than k servers that share k small parts of wide jobs and one job.

    Each of the k tempting servers hosts one job that is also on k servers nobody wants: cost 1 / (k + 1) a server. To
    take them all preempts k jobs; the k servers of one single job cost 1 / k each, one preemption in all.
    """
    shared = LoanedJob(id="shared", servers=tuple(f"good{i}" for i in range(k)))
    wide = tuple(LoanedJob(id=f"wide{i}", servers=(f"bad{i}", *(f"full{j}" for j in range(k)))) for i in range(k))
    servers = tuple(f"{kind}{i}" for kind in ("bad", "good", "full") for i in range(k))
    data = ArylReclaim(servers=servers, jobs=(shared, *wide), reclaim=k)
    assert reclaim_greedy(data).objective == k
    assert exact(data).objective == literal(data).objective == 1
