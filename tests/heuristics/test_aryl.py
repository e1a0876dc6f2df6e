"""Test Aryl's heuristics on the paper's examples."""

from __future__ import annotations

from fractions import Fraction

import pytest

from heuristics.aryl import (
    afs,
    afs_gpus,
    afs_shorter,
    equal_split,
    equal_split_sjf,
    favour,
    fifo,
    gandiva,
    gandiva_sjf,
    reclaim_gpu_fraction,
    reclaim_greedy,
    reclaim_literal_order,
    reclaim_random,
    reclaim_scf,
    two_phase,
)
from heuristics.aryl.reclaim import Costs, gpu_fraction, server_fraction
from instances import InputError, Options
from instances.aryl import (
    ArylElastic,
    ArylReclaim,
    ElasticJob,
    elastic_jobs,
    figure_5,
    loaned_servers,
    table_2,
    table_4,
)


def test_table_3():
    data = table_2().data
    assert favour(data, order="AB").objective == pytest.approx(51.67, abs=0.005)
    assert favour(data, order="BA").objective == pytest.approx(41.67, abs=0.005)
    assert equal_split(data).objective == pytest.approx(45)


def test_table_4():
    data = table_4().data
    assert favour(data, order="AB").objective == pytest.approx(62)
    assert favour(data, order="BA").objective == pytest.approx(63.33, abs=0.005)


def test_two_phase_is_16_percent_from_the_optimum_of_table_2():
    result = two_phase(table_2().data)
    assert result.objective == pytest.approx(145 / 3)
    assert result.solution["intervals"][0]["workers"] == {"A": 5, "B": 3}


def test_items_weigh_extra_workers_only():
    """Weights of line 17 as printed charge the base demand twice: 80 s, where Table 4 says 62."""
    assert two_phase(table_4().data).objective == pytest.approx(62)
    assert two_phase(table_4().data, weights="whole").objective == pytest.approx(80)
    with pytest.raises(InputError, match="weights: must be extra or whole"):
        two_phase(table_4().data, weights="none")  # type: ignore[arg-type]


def test_phase_one_passes_over_a_job_that_does_not_fit():
    jobs = [
        ElasticJob(id=name, min_workers=w, max_workers=w, gpus_per_worker=1, min_running_time=t)
        for name, w, t in (("short", 3, 1.0), ("wide", 6, 2.0), ("long", 4, 3.0))
    ]
    data = ArylElastic(capacity_gpus=8, jobs=tuple(jobs), objective="mean-jct")
    assert two_phase(data).solution["intervals"][0]["workers"] == {"short": 3, "long": 4}


def test_gandiva_grows_nobody_while_a_job_waits():
    jobs = [
        ElasticJob(id=name, min_workers=2, max_workers=4, gpus_per_worker=1, min_running_time=t)
        for name, t in (("a", 1.0), ("b", 2.0), ("c", 3.0))
    ]
    intervals = gandiva(ArylElastic(capacity_gpus=5, jobs=tuple(jobs), objective="mean-jct")).solution["intervals"]
    assert intervals[0]["workers"] == {"a": 2, "b": 2}
    assert intervals[1]["workers"] == {"b": 3, "c": 2}


def test_afs_takes_the_largest_gain_per_gpu():
    jobs = [
        ElasticJob(id="wide", min_workers=1, max_workers=3, gpus_per_worker=4, min_running_time=1.0),
        ElasticJob(id="thin", min_workers=1, max_workers=3, gpus_per_worker=1, min_running_time=9.0),
    ]
    data = ArylElastic(capacity_gpus=7, jobs=tuple(jobs), objective="jct-reduction")
    assert afs(data).solution == {"workers": {"wide": 1, "thin": 3}}


@pytest.mark.parametrize("method", [two_phase, afs, gandiva, equal_split])
@pytest.mark.parametrize("loss", [0.0, 0.1])
@pytest.mark.parametrize("objective", ["jct-reduction", "mean-jct"])
def test_every_rule_is_feasible_on_random_jobs(method, loss: float, objective):
    for seed in range(3):
        result = method(elastic_jobs(12, seed, objective=objective, scaling_loss=loss).data)
        assert (result.status, result.violations) == ("feasible", ())


def first_workers(method, *jobs: tuple[str, int, int, int, float], capacity: int) -> dict[str, int]:
    """Return a rule's allocation at time 0 to jobs (name, min and max workers, GPUs each, minimum running time)."""
    made = tuple(
        ElasticJob(id=i, min_workers=a, max_workers=b, gpus_per_worker=d, min_running_time=t) for i, a, b, d, t in jobs
    )
    data = ArylElastic(capacity_gpus=capacity, jobs=made, objective="mean-jct")
    return method(data).solution["intervals"][0]["workers"]


def test_ties_of_afs_go_to_the_first_job_of_the_file_or_to_the_shorter_one():
    jobs = ("long", 2, 4, 1, 9.0), ("short", 2, 4, 1, 1.0)
    assert first_workers(afs, *jobs, capacity=6) == {"long": 4, "short": 2}
    assert first_workers(afs_shorter, *jobs, capacity=6) == {"long": 2, "short": 4}


def test_in_gpus_all_jobs_gain_alike_and_relative_to_the_base_demand_the_smaller_base_gains_more():
    jobs = ("wide", 3, 5, 1, 1.0), ("narrow", 1, 3, 2, 1.0)
    assert first_workers(afs, *jobs, capacity=7) == {"wide": 3, "narrow": 2}
    assert first_workers(afs_gpus, *jobs, capacity=7) == {"wide": 5, "narrow": 1}


def test_by_fifo_nobody_overtakes_a_job_that_does_not_fit():
    jobs = ("first", 3, 4, 1, 9.0), ("wide", 6, 6, 1, 5.0), ("small", 1, 4, 1, 1.0)
    assert first_workers(fifo, *jobs, capacity=8) == {"first": 3}
    for by_fifo, by_sjf in ((gandiva, gandiva_sjf), (equal_split, equal_split_sjf)):
        assert "small" not in first_workers(by_fifo, *jobs, capacity=8)
        assert "small" in first_workers(by_sjf, *jobs, capacity=8)


def test_fifo_gives_base_demands_alone():
    assert fifo(table_2("jct-reduction").data).solution == {"workers": {"A": 2, "B": 2}}


def test_favour_needs_every_job():
    with pytest.raises(InputError, match="order: must name every job once"):
        favour(table_2().data, order="A")


def test_table_1():
    data = figure_5().data

    def preemption_cost(data: ArylReclaim, costs: Costs) -> dict[str, Fraction]:
        """Return the preemption cost of each server before any is returned."""
        return {s: sum((c for (_, at), c in costs.items() if at == s), Fraction(0)) for s in data.servers}

    half, one = Fraction(1, 2), Fraction(1)
    assert list(preemption_cost(data, server_fraction(data)).values()) == [half, half, one, half, one, half]
    shares = [float(cost) for cost in preemption_cost(data, gpu_fraction(data)).values()]
    assert shares == pytest.approx([0.5, 0.5, 1, 0.8, 0.4, 0.8])


def test_figure_5():
    data = figure_5().data
    assert reclaim_greedy(data).solution == {"servers": ["s1", "s2"]}
    assert reclaim_greedy(data).objective == 1
    gpus = reclaim_gpu_fraction(data)
    assert gpus.solution["servers"][0] == "s5"
    assert gpus.objective == 2


def test_ties_in_file_order_cost_a_second_preemption_on_figure_5():
    data = figure_5().data
    turned = data.model_copy(update={"servers": ("s4", "s6", "s1", "s2", "s3", "s5")})
    assert reclaim_greedy(turned).objective == 1
    assert reclaim_literal_order(turned).objective == 2


def test_scf_counts_jobs_once():
    data = figure_5().data.model_copy(update={"servers": ("s3", "s4", "s1", "s2", "s5", "s6")})
    assert reclaim_scf(data).solution == {"servers": ["s3", "s4"]}
    assert reclaim_scf(data).objective == 2


def test_random_is_seeded():
    data = loaned_servers(60, 0.5, 0, 20).data
    assert reclaim_random(data, Options(seed=3)).solution == reclaim_random(data, Options(seed=3)).solution
    assert reclaim_random(data, Options(seed=3)).solution != reclaim_random(data, Options(seed=4)).solution
