"""Test both readings of a measured table, and of line 17 of Algorithm 1."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from heuristics.boa import one_width, width_calculator, width_calculator_nearest
from heuristics.boa.width_calculator import round_to_corners
from instances import InputError, Options, check, parse
from instances.boa import BoaAllocation, Curve, compute_min_budget, newtrace, width_arrays
from instances.proofs.boa.rational import times
from models.boa import exact, literal, randomised
from models.boa.share_program import literal_lp

OPTIONS = Options()
DIP = {"gpus": [1, 2, 3, 6], "speedup": [1.0, 1.2, 2.4, 2.1]}  # hull: corners at 1 and 3, level from there on


def instance(budget: float = 3.0, **fields: object) -> BoaAllocation:
    epoch = {"size_hours": 1.0, "speedup": {"table": DIP}}
    job_class = {"name": "a", "arrivals_per_hour": 1.0, "rescale_hours": 0.1, "epochs": [epoch]}
    data = {"budget": budget, "classes": [job_class], "widths": "integer"} | fields
    return parse({"gapwise": 1, "problem": "boa-allocation", "name": "dip", "data": data}).data


def test_a_whole_width_runs_as_fast_as_measured_or_as_the_hull_says():
    measured, hull = instance(), instance(speedup_reading="hull")
    assert width_arrays(measured).hours[0, 0] == pytest.approx(1 / np.array([1, 1.2, 2.4, 2.3, 2.2, 2.1]))
    assert width_arrays(hull).hours[0, 0] == pytest.approx(1 / np.array([1, 1.7, 2.4, 2.4, 2.4, 2.4]))
    for width, slow, fast in ((2, 1 / 1.2, 1 / 1.7), (3, 1 / 2.4, 1 / 2.4), (5, 1 / 2.2, 1 / 2.4)):
        plan = {"widths": {"a": [width]}}
        assert check(measured, plan).objective == pytest.approx(slow + 0.1)
        assert check(hull, plan).objective == pytest.approx(fast + 0.1)


def test_real_widths_are_on_the_hull_whatever_the_reading():
    plan = {"widths": {"a": [2.0]}}
    for reading in ("measured", "hull"):
        data = instance(widths="continuous", speedup_reading=reading)
        assert check(data, plan).objective == pytest.approx(1 / 1.7 + 0.1)
        assert exact(data).status == "optimal"


def test_another_reading_is_refused():
    with pytest.raises(InputError, match=r"data\.speedup_reading: must be 'measured' or 'hull'"):
        instance(speedup_reading="concave")


def test_the_rational_times_follow_the_reading():
    curve = Curve.model_validate({"table": DIP})
    for last in (1, 3, 6, 8):
        for measured in (False, True):
            found = times(curve, None, last, measured)
            assert len(found) == last
            speeds = (curve.interpolate_measured if measured else curve.at)(np.arange(1.0, last + 1))
            assert [0 if z is None else 1 / float(z) for z in found] == pytest.approx(speeds.tolist())
    assert times(curve, 4, 6, measured=True)[3:] == [1 / Fraction(23, 10), None, None]


def test_the_least_budget_is_that_of_the_reading():
    """On 3 GPUs the second epoch is cheapest, where the first was measured at less than on the hull."""
    epochs = [{"size_hours": 1.0, "speedup": {"table": t}} for t in (DIP, {"gpus": [1, 2, 3], "speedup": [1, 1, 5]})]
    job_class = {"name": "a", "arrivals_per_hour": 1.0, "rescale_hours": 0.5, "epochs": epochs}
    data = instance(budget=9.0, classes=[job_class])
    plans = [{"widths": {"a": [i, j]}} for i in range(1, 7) for j in range(1, 4)]
    for reading in (data, data.model_copy(update={"speedup_reading": "hull"})):
        tight = reading.model_copy(update={"budget": compute_min_budget(reading)})
        assert exact(tight).status == "optimal"
        less = reading.model_copy(update={"budget": compute_min_budget(reading) * (1 - 1e-6)})
        assert not any(check(less, plan).violations == () for plan in plans)


@pytest.mark.parametrize("load", [1.25, 3.0])
def test_on_newtrace_the_measured_optimum_is_proven_and_a_plan_of_the_hull_breaks_its_promise(load: float):
    data = newtrace(load).data
    hull = exact(data.model_copy(update={"speedup_reading": "hull"}))
    result = exact(data)
    assert (result.status, hull.status) == ("optimal", "optimal")
    assert 1.001 < result.objective / hull.objective < 1.01
    replayed = check(data, hull.solution)
    assert "over the budget" in replayed.violations[0]
    assert replayed.objective > hull.objective
    assert randomised(data).objective <= result.objective


def test_literal_follows_the_reading():
    for reading in ("measured", "hull"):
        data = instance(budget=1.5, speedup_reading=reading)
        assert literal(data).objective == pytest.approx(exact(data).objective, rel=1e-6)


def test_shares_of_jobs_are_on_widths_that_were_measured():
    types = [{"name": "x"}, {"name": "y", "price": 1.5}]
    epoch = {"size_hours": 1.0, "speedup": {"x": {"table": DIP}, "y": {"table": DIP}}}
    job_class = {"name": "a", "arrivals_per_hour": 1.0, "rescale_hours": 0.0, "epochs": [epoch]}
    for budget in (1.05, 1.15, 1.2):
        data = instance(budget=budget, gpu_types=types, classes=[job_class])
        hull = exact(data.model_copy(update={"speedup_reading": "hull"}))
        result, program = exact(data), check(data, literal_lp(data, OPTIONS).solution)
        assert result.objective == pytest.approx(hull.objective)
        assert {o["width"] for o in result.solution["assignment"]["a"][0]} <= {1.0, 3.0}
        assert (program.objective, program.violations) == (pytest.approx(result.objective), ())


def test_line_17_goes_to_where_the_hull_touches_or_to_any_whole_width():
    rounded = round_to_corners(
        np.array([[True, False, True, False, False, True], [True, True, True, True, True, True]]), "wider"
    )
    assert rounded(np.array([1.9, 1.5])).tolist() == [1, 2]
    assert rounded(np.array([2.0, 2.4])).tolist() == [3, 2]
    assert rounded(np.array([4.5, 6.0])).tolist() == [6, 6]
    data = newtrace(2.0).data
    assert width_calculator(data).solution != width_calculator_nearest(data).solution


def test_on_the_hull_the_two_readings_of_line_17_are_one():
    data = newtrace(1.5).data.model_copy(update={"speedup_reading": "hull"})
    assert width_calculator(data).solution == width_calculator_nearest(data).solution


def test_one_width_takes_no_width_that_a_narrower_one_beats():
    data = instance(budget=9.0)
    assert one_width(data).solution == {"widths": {"a": [3]}}
    assert exact(data).solution == {"widths": {"a": [3]}}
