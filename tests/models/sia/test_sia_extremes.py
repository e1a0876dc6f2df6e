"""Test the oracle at the ends of its valid ranges of times, widths and weights."""

from __future__ import annotations

import pytest

from instances import Options, check
from instances.sia import Job, Pool, SiaOracle
from instances.sia.arrays import oracle_arrays
from models.sia import exact, literal, time_indexed
from tests.sia_cases import made


@pytest.mark.parametrize(("weight", "expected"), [(0.2, 0.05), (1e-9, 2.5e-10), (1e9, 2.5e8)])
@pytest.mark.parametrize("method", [exact, literal])
def test_an_optimum_next_to_zero_is_proven(method, weight, expected):
    data = made(("p", 0, 1, 1), pools=(("p", 4),), fairness_weight=weight)
    result = method(data)
    assert (result.status, result.objective) == ("optimal", pytest.approx(expected))


def test_a_charge_for_use_above_the_share_can_be_nothing_and_proven():
    result = exact(made(("p", 0, 3, 1), fairness_weight=0.2, fair_share="above-share"))
    assert (result.status, result.objective, result.bound) == ("optimal", 0.0, 0.0)


@pytest.mark.parametrize("method", [exact, literal, time_indexed])
def test_one_job_without_a_choice_has_an_answer(method):
    result = method(made(("p", 7, 3, 2)))
    assert (result.status, result.objective, result.solution) == ("optimal", 0.0, {"starts": {"j0": 7}})


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
