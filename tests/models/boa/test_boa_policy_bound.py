"""Test the bound on every renting policy against all plans in time slots and against policies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from experiments.boa.simulation import ONLINE_OF
from heuristics.boa.online import ONLINE
from instances import InputError
from instances.boa import BoaRenting, Points, RentingClass, RentingEpoch, RentingJob, Speedup, poisson_renting
from instances.boa.online import decision
from models.boa import PolicyBound, exact, policy_bound
from tests.boa_renting_cases import ran

SLOT, PAUSE = 0.2, 0.05  # hours
TABLES = ({"gpus": (1, 2, 3), "speedup": (1.0, 1.1, 2.3)}, {"gpus": (1, 2, 3), "speedup": (1.0, 1.8, 1.7)})
SIZES = (0.6, 0.5)


def workload(sizes: tuple[tuple[float, ...], ...] = (SIZES, (0.3, 0.7)), pause: float = PAUSE) -> BoaRenting:
    epochs = tuple(
        RentingEpoch(size_hours=x, speedup=Speedup(table=Points(**t))) for x, t in zip(SIZES, TABLES, strict=True)
    )
    kind = RentingClass(name="a", arrivals_per_hour=1.0, rescale_seconds=3600 * pause, epochs=epochs)
    jobs = tuple(
        RentingJob(id=f"j{i}", job_class="a", arrival_seconds=100.0 * i, size_hours=own) for i, own in enumerate(sizes)
    )
    return BoaRenting(budget_gpus=50, gpus_per_node=4, acquisition_seconds=0, classes=(kind,), jobs=jobs)


def outcomes(sizes: tuple[float, ...], slots: int = 6) -> Iterator[tuple[float, float]]:
    """Completion time and GPU-hours of a job under every choice of a width, or none, in each slot of time."""
    for widths in product((0, 1, 2, 3), repeat=slots):
        if widths[-1]:
            yield follow(sizes, widths)


def follow(sizes: tuple[float, ...], widths: tuple[int, ...]) -> tuple[float, float]:
    epoch, left, now, held, before, paused = 0, sizes[0], 0.0, 0.0, 0, 0.0
    for slot in range(10_000):
        width = widths[min(slot, len(widths) - 1)]
        end = (slot + 1) * SLOT
        if width and width != before:
            paused = now + PAUSE
        before = width
        while width and now < end - 1e-12:
            start = min(max(now, paused), end)
            speed = TABLES[epoch]["speedup"][width - 1]
            stop = min(end, start + left / speed)
            left -= (stop - start) * speed
            held += width * (stop - now)
            now = stop
            if left <= 1e-12:
                epoch += 1
                if epoch == len(sizes):
                    return now, held
                left = sizes[epoch]
        now = end
    raise AssertionError("never done")


def front(points: Iterator[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points that no other beats in both coordinates."""
    found: list[tuple[float, float]] = []
    for time, cost in sorted(points):
        if not found or cost < found[-1][1] - 1e-12:
            found.append((time, cost))
    return found


def test_no_choice_of_widths_in_slots_of_time_beats_the_bound():
    data = workload()
    fronts = [front(outcomes(job.size_hours or SIZES)) for job in data.jobs]
    bounds = [PolicyBound(data, 100.0), PolicyBound(data, 100.0, "continuous")]
    nearest = 1.0
    for (t1, c1), (t2, c2) in product(*fronts):
        whole, real = (bound.at((c1 + c2) * (1 + 1e-12)) for bound in bounds)
        assert real <= whole * (1 + 1e-9)
        assert whole <= (t1 + t2) / 2 * (1 + 1e-9)
        nearest = min(nearest, (t1 + t2) / 2 / whole - 1)
    assert nearest < 0.05  # slots cost something, and the bound is not far below


def test_more_gpu_hours_never_raise_the_bound_and_too_few_are_refused():
    data = workload()
    for widths in ("integer", "continuous"):
        bound = PolicyBound(data, 20.0, widths)
        values = [bound.at(billed) for billed in (2.3, 2.5, 3.0, 4.0, 20.0)]
        assert values == sorted(values, reverse=True)
        assert policy_bound(data, 3.0, widths) == pytest.approx(values[2])
        with pytest.raises(InputError, match=r"^GPU-hours billed: must be >= [\d.]+, got 1$"):
            bound.at(1.0)


def test_a_single_job_at_leisure_is_bounded_by_its_fastest_path():
    """On 3 GPUs the first epoch takes 0.6/2.3 h, and the second 0.5/1.7 h there or 0.5/1.8 h after a change to 2."""
    data = workload(sizes=(SIZES,))
    fastest = PAUSE + 0.6 / 2.3 + min(0.5 / 1.7, PAUSE + 0.5 / 1.8)
    assert policy_bound(data, 100.0) == pytest.approx(fastest)


def test_without_pauses_both_bounds_meet_on_tables():
    data = workload(pause=0.0)
    assert policy_bound(data, 3.0, "continuous") == pytest.approx(policy_bound(data, 3.0), rel=1e-8)


def test_a_cold_change_that_takes_less_counts():
    data = workload()
    kind = data.classes[0].model_copy(update={"cold_rescale_seconds": 0.0})
    assert policy_bound(data.model_copy(update={"classes": (kind,)}), 100.0) < policy_bound(data, 100.0)


@pytest.mark.parametrize("seed", range(2))
def test_no_policy_of_the_world_beats_the_bound(seed: int):
    data = poisson_renting(1, seed, rate=0.6, acquisition_seconds=60.0 * seed).data
    online = ONLINE_OF[data.problem]
    runs = []
    for name in ("equal-split", "pollux-sum", "pollux-mean", "pollux-as-sum-0.7", "pollux-as-mean-0.5"):
        world = ran(data, ONLINE[name](data))
        runs.append((world.totals(), world.jobs_table()["jct"].mean() / 3600))
    plan = exact(data.believed).solution
    world = ran(data, lambda view: decision(view, plan))
    runs.append((world.totals(), world.jobs_table()["jct"].mean() / 3600))
    assert online.bound is not None
    for bound, (_, mean) in zip(online.bound(data, [totals for totals, _ in runs]), runs, strict=True):
        assert bound <= mean
