"""Test the validation, checker, generators and traces of BOA's allocation."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from instances import InputError, MalformedSolution, check, load, parse, save
from instances.boa import (
    BoaAllocation,
    affords,
    allow_rounding,
    compute_min_budget,
    compute_plan_limit,
    figure_1,
    from_trace,
    hull_deviation,
    newtrace,
    on_grid_from,
    proven,
    random_allocation,
    width_arrays,
)
from instances.files import dump

TABLE = {"gpus": [1, 2, 4], "speedup": [1, 1.9, 2.9]}


def content(**changes: Any) -> dict[str, Any]:
    """One class of two epochs, with a table and Amdahl's law."""
    epochs = [{"size_hours": 2.0, "speedup": {"table": TABLE}}, {"size_hours": 1.0, "speedup": {"amdahl": 0.5}}]
    job_class = {"name": "a", "arrivals_per_hour": 0.5, "rescale_hours": 0.1, "epochs": epochs}
    data = {"budget": 4.0, "classes": [job_class], "widths": "integer", **changes}
    return copy.deepcopy({"gapwise": 1, "problem": "boa-allocation", "name": "case", "data": data})


def put(*path: str | int, value: Any) -> dict[str, Any]:
    whole = content()
    place: Any = whole["data"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return whole


CURVE = ("classes", 0, "epochs", 0, "speedup")
AT = "data.classes[0].epochs[0].speedup"
BAD = {
    "budget under the least": (
        put("budget", value=1.0),
        "data.budget: must be >= 1.55 (the least that the jobs cost, rescaling included; 0.55 short), got 1.0",
    ),
    "empty table": (put(*CURVE, value={"table": {"gpus": [], "speedup": []}}), f"{AT}.table.gpus: must not be empty"),
    "unsorted table": (
        put(*CURVE, "table", "gpus", value=[1, 4, 2]),
        f"{AT}.table.gpus[2]: must be sorted without repetition, so > 4, got 2",
    ),
    "zero speedup": (put(*CURVE, "table", "speedup", 1, value=0), f"{AT}.table.speedup[1]: must be > 0, got 0"),
    "negative speedup": (
        put(*CURVE, "table", "speedup", 1, value=-2),
        f"{AT}.table.speedup[1]: must be > 0, got -2",
    ),
    "width 1 missing": (
        put(*CURVE, "table", "gpus", 0, value=2),
        f"{AT}.table.gpus[1]: must be sorted without repetition, so > 2, got 2",
    ),
    "table from 2 on": (
        put(*CURVE, value={"table": {"gpus": [2, 3], "speedup": [1, 2]}}),
        f"{AT}.table.gpus[0]: must be 1, the width that speedups are relative to, got 2",
    ),
    "uneven table": (
        put(*CURVE, "table", "gpus", value=[1, 2]),
        f"{AT}.table.speedup: must have one entry for each of the 2 widths, got 3",
    ),
    "too wide a table": (
        put(*CURVE, "table", "gpus", 2, value=10**6),
        f"{AT}.table.gpus[2]: must be <= 100000, got 1000000",
    ),
    "two forms": (
        put(*CURVE, "power", value=0.5),
        f'{AT}: must have exactly one of amdahl, power, table, got "power, table"',
    ),
    "no form": (put(*CURVE, value={}), f'{AT}: must have exactly one of amdahl, power, table, got "none"'),
    "share above 1": (put(*CURVE, value={"amdahl": 1.5}), f"{AT}.amdahl: must be <= 1, got 1.5"),
    "unknown type": (
        put(*CURVE, value={"gpu": {"amdahl": 0.5}, "T4": {"amdahl": 0.5}}),
        f'{AT}: unknown GPU type, must be one of gpu, got "T4"',
    ),
    "one function and one a type": (
        put(*CURVE, "gpu", value={"amdahl": 0.5}),
        f'{AT}: must be one function, or one for each GPU type, got "gpu"',
    ),
    "NaN": (put("classes", 0, "rescale_hours", value=float("nan")), "data.classes[0].rescale_hours: must be a finite"),
    "truth value": (put("budget", value=True), "data.budget: must be a valid number, got True"),
    "no classes": (put("classes", value=[]), "data.classes: must not be empty"),
    "unknown field": (put("colour", value="red"), "data.colour: unknown field"),
    "widths": (put("widths", value="odd"), "data.widths: must be 'continuous' or 'integer'"),
}


@pytest.mark.parametrize(("case", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_with_path_and_value(case: dict[str, Any], message: str):
    with pytest.raises(InputError) as caught:
        parse(case)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_missing_type_is_named():
    types = [{"name": "T4"}, {"name": "A100", "price": 3.0}]
    case = content(gpu_types=types)
    case["data"]["classes"][0]["epochs"][0]["speedup"] = {"T4": {"amdahl": 0.5}}
    with pytest.raises(InputError, match=r"^data\.classes\[0\]\.epochs\[0\]\.speedup\.A100: missing$"):
        parse(case)


def test_files_keep_every_form_of_speedup(tmp_path: Path):
    case = content(gpu_types=[{"name": "T4"}, {"name": "A100", "price": 3.0}], budget=50.0)
    case["data"]["classes"][0]["epochs"][0]["speedup"] = {"T4": {"table": TABLE}, "A100": {"power": 0.7}}
    instance = parse(case)
    save(instance, tmp_path / "case.json.gz")
    assert load(tmp_path / "case.json.gz") == instance
    assert dump(instance)["data"]["classes"][0]["epochs"][0]["speedup"] == {
        "T4": {"table": TABLE},
        "A100": {"power": 0.7},
    }


def test_cost_and_time_of_a_policy_by_hand():
    """Widths 4 and 2: 2/2.9 and 1/1.3333 h, each with 0.1 h of rescaling; half a job arrives an hour."""
    data = parse(content()).data
    verdict = check(data, {"widths": {"a": [4, 2]}})
    assert verdict.objective == pytest.approx((2 / 2.9 + 0.1) + (0.75 + 0.1))
    assert verdict.violations == ()
    kept = check(data, {"widths": {"a": [2, 2]}})
    assert kept.objective == pytest.approx(2 / 1.9 + 0.75 + 0.1)
    over = check(data, {"widths": {"a": [4, 80]}})
    assert over.violations[0].startswith("costs 25.829")


def test_mixed_paths_are_counted_and_told_apart():
    data = parse(content()).data
    paths = [{"probability": 0.25, "widths": [1, 1]}, {"probability": 0.75, "widths": [2, 2]}]
    verdict = check(data, {"paths": {"a": paths}})
    assert verdict.objective == pytest.approx(0.25 * 3.1 + 0.75 * (2 / 1.9 + 0.75 + 0.1))
    assert verdict.violations == ("class a mixes 2 paths, not one width in each epoch",)


@pytest.mark.parametrize(
    ("solution", "message"),
    [
        ({"starts": {}}, "one of widths"),
        ({"widths": {"b": [1, 1]}}, "name every class"),
        ({"widths": {"a": [1]}}, "2 entries"),
        ({"widths": {"a": [1, True]}}, "must be a number"),
        ({"widths": {"a": [1, 0.5]}}, "must be >= 1"),
        ({"paths": {"a": [{"probability": 0.5, "widths": [1, 1]}]}}, "add up to 1"),
        ({"paths": {"a": [{"probability": -1, "widths": [1, 1]}]}}, "must be in"),
        ({"assignment": {"a": [[{"type": "x", "width": 1, "fraction": 1}]] * 2}}, "unknown GPU type"),
        ({"assignment": {"a": [[{"type": "gpu", "width": 1, "fraction": 0.5}] * 2] * 2}}, "one choice"),
    ],
)
def test_what_is_no_solution_at_all(solution: Any, message: str):
    with pytest.raises(MalformedSolution, match=message):
        check(parse(content()).data, solution)


def test_widths_that_are_not_allowed():
    data = parse(content(max_width=3)).data
    assert "wider than max_width 3" in check(data, {"widths": {"a": [1, 4]}}).violations[0]
    assert "not a whole number" in check(data, {"widths": {"a": [1, 1.5]}}).violations[0]
    assert "past the last width 4" in check(parse(content()).data, {"widths": {"a": [5, 1]}}).violations[0]


def test_the_hull_ends_at_max_width_and_counts_from_there():
    """Measured 1, 0.5, 3 on 1, 2, 3 GPUs: up to 3 the hull is 1, 2, 3; up to 2 it is level at 1."""
    table = {"table": {"gpus": [1, 2, 3], "speedup": [1, 0.5, 3]}}
    wide = parse(put(*CURVE, value=table)).data
    narrow = parse(content(max_width=2) | {"data": put(*CURVE, value=table)["data"] | {"max_width": 2}}).data
    assert wide.classes[0].epochs[0].speedup.table.hull(wide.max_width).speedup.tolist() == [1, 2, 3]
    assert narrow.classes[0].epochs[0].speedup.table.hull(narrow.max_width).speedup.tolist() == [1, 1]
    assert wide.classes[0].epochs[0].speedup.table.hull().deviation == pytest.approx(3.0)
    assert hull_deviation(wide) == {"a": pytest.approx(3.0)}


def test_the_least_budget_of_a_steep_table():
    """On two GPUs the first epoch is more than twice as fast; whether to stay there pays is the rescaling's affair."""
    steep = {"table": {"gpus": [1, 2], "speedup": [1, 4]}}
    for rescale, least in ((0.0, 2 * 2 / 4 + 1), (0.1, 2 * 0.1 + 2 * 2 / 4 + 0.1 + 1), (5.0, 5 + 2 + 1)):
        case = put(*CURVE, value=steep)
        case["data"]["classes"][0]["rescale_hours"] = rescale
        assert compute_min_budget(parse(case).data) == pytest.approx(0.5 * least)


def test_arrays_go_as_wide_as_the_budget():
    data = parse(content(budget=6.0)).data
    width = int(width_arrays(data).width.max())
    cost = check(data, {"widths": {"a": [1, width]}})
    assert width > 4
    assert not cost.violations or "costs" in cost.violations[0]
    assert any("costs" in v for v in check(data, {"widths": {"a": [1, width + 1]}}).violations)


def test_too_many_choices_are_refused():
    linear = put("classes", 0, "epochs", 0, "speedup", value={"power": 1})
    linear["data"]["classes"][0]["rescale_hours"] = 0
    with pytest.raises(InputError, match="max_width: must be given"):
        width_arrays(parse(linear).data)


def test_figure_1_has_its_closed_form():
    known = figure_1(2).reference
    assert known is not None
    assert known.objective == pytest.approx(1 / 3)
    assert figure_1(0.85).reference is None


def test_random_instances_are_reproducible_and_as_asked():
    a, b = (random_allocation(3, (2, 4), 5, seed=7, rescale=0.5) for _ in range(2))
    assert a == b
    assert a != random_allocation(3, (2, 4), 5, seed=8, rescale=0.5)
    data = a.data
    assert isinstance(data, BoaAllocation)
    assert data.budget == pytest.approx(2 * compute_min_budget(data))
    assert {2, 3, 4} >= {len(c.epochs) for c in data.classes}
    with pytest.raises(InputError, match="widths: must be a number >= 1, got 0"):
        random_allocation(1, 1, 0)


SPEEDUPS = """app,epoch_index,epoch_size_gpu_seconds,k,speedup
a,0,3600,1,1
a,0,3600,2,1.5
a,1,1800,1,1
b,0,7200,1,1
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    trace, speedups = tmp_path / "trace.csv", tmp_path / "speedups.csv"
    trace.write_text("name,time,application\nx,0,a\ny,1800,b\nz,7200,a\n")
    speedups.write_text(SPEEDUPS)
    return trace, speedups


def test_a_trace_gives_rates_and_sizes(files: tuple[Path, Path]):
    """Two jobs of a and one of b in two hours, so rates 1 and 0.5 and loads 1.5 and 1."""
    data = from_trace(files[0], speedups=files[1], budget_over_load=3, rescale_seconds=36).data
    assert isinstance(data, BoaAllocation)
    assert [(c.name, c.arrivals_per_hour, len(c.epochs)) for c in data.classes] == [("a", 1.0, 2), ("b", 0.5, 1)]
    assert data.load == pytest.approx(2.5)
    assert data.budget == pytest.approx(7.5)
    assert data.classes[0].rescale_hours == pytest.approx(0.01)
    longer = from_trace(files[0], speedups=files[1], budget_over_load=3, rescale_seconds={"a": 1, "b": 2}, hours=4).data
    assert longer.load == pytest.approx(1.25)


@pytest.mark.parametrize(
    ("which", "old", "new", "message"),
    [
        (0, "x,0,a", "x,0,c", r"trace\.csv: line 2: application: must be one of a, b, got 'c'$"),
        (0, "y,1800", "y,soon", r"trace\.csv: line 3: time: must be a number, got soon$"),
        (0, "application", "app", r"trace\.csv: missing column application$"),
        (1, "a,0,3600,1,1", "a,0,3600,2,1", r"a, epoch 0, line 3: k must be sorted without repetition, got 2 after 2$"),
        (1, "a,1,1800,1,1", "a,1,1800,2,1", r"a, epoch 1, line 4: k must begin with 1, got 2$"),
        (1, "2,1.5", "2,0", r"a, epoch 0, line 3: speedup must be > 0, got 0$"),
        (1, "3600,2", "3600,2.5", r"k must be a whole number >= 1, got 2\.5$"),
        (1, "3600,2", "360,2", r"epoch_size_gpu_seconds must be one number > 0"),
    ],
)
def test_bad_traces_are_one_line(files: tuple[Path, Path], which: int, old: str, new: str, message: str):
    files[which].write_text(files[which].read_text().replace(old, new))
    with pytest.raises(InputError, match=message):
        from_trace(files[0], speedups=files[1], budget_over_load=3, rescale_seconds=1)


def test_a_trace_that_is_not_there_or_does_not_fit(files: tuple[Path, Path], tmp_path: Path):
    with pytest.raises(InputError, match="No such file"):
        from_trace(tmp_path / "none.csv", budget_over_load=2)
    with pytest.raises(InputError, match=r"trace\.csv: data\.budget: must be >= 2\.5"):
        from_trace(files[0], speedups=files[1], budget_over_load=0.9, rescale_seconds=0)
    with pytest.raises(InputError, match="must be given for application a"):
        from_trace(files[0], speedups=files[1], budget_over_load=2)


def test_newtrace_is_that_of_table_1():
    data = newtrace(2.0).data
    assert isinstance(data, BoaAllocation)
    share = {c.name: c.arrivals_per_hour / sum(d.arrivals_per_hour for d in data.classes) for c in data.classes}
    assert share == {
        "cifar10": pytest.approx(0.5042, abs=1e-4),
        "bert": pytest.approx(0.2167, abs=1e-4),
        "deepspeech2": pytest.approx(0.2354, abs=1e-4),
        "yolov3": pytest.approx(0.0375, abs=1e-4),
        "imagenet": pytest.approx(0.00625, abs=1e-4),
    }
    assert data.budget == pytest.approx(2 * data.load)
    assert np.diff(data.classes[0].epochs[0].speedup.table.hull(data.max_width).speedup).min() >= 0


def test_one_type_may_be_named_in_its_speedups():
    named, plain = content(), content()
    epochs = named["data"]["classes"][0]["epochs"]
    for epoch in epochs:
        epoch["speedup"] = {"gpu": epoch["speedup"]}
    assert compute_min_budget(parse(named).data) == compute_min_budget(parse(plain).data)


@pytest.mark.parametrize("fractions", [(0.5, 0.5), (1 - 1e-6, 1e-6)])
def test_widths_mixed_in_an_assignment_are_told_apart(fractions: tuple[float, float]):
    case = content(budget=1.25, classes=[SINGLE])
    mixed = [{"type": "gpu", "width": k, "fraction": f} for k, f in zip((2, 3), fractions, strict=True)]
    verdict = check(parse(case).data, {"assignment": {"a": [mixed]}})
    assert verdict.violations == ("class a, epoch 0 mixes 2 widths, not one for all jobs",)
    zero = [{"type": "gpu", "width": 2, "fraction": 1.0}, {"type": "gpu", "width": 3, "fraction": 0.0}]
    assert check(parse(case).data, {"assignment": {"a": [zero]}}).violations == ()


SINGLE = {
    "name": "a",
    "arrivals_per_hour": 1.0,
    "rescale_hours": 0.0,
    "epochs": [{"size_hours": 1.0, "speedup": {"amdahl": 0.9}}],
}


def test_fractional_widths_are_no_violation_of_continuous_widths_with_rescaling():
    data = parse(content(widths="continuous")).data
    assert check(data, {"widths": {"a": [1.5, 1.5]}}).violations == ()
    assert "not a whole number" in check(parse(content()).data, {"widths": {"a": [1.5, 1.5]}}).violations[0]


def repr_of(value: Any) -> str:
    return f"{type(value).__name__}-{value}" if not isinstance(value, int) else f"{value.bit_length()} bits"


@pytest.mark.parametrize(
    "number", [10**400, -(10**400), 10**5000, float("nan"), float("inf"), "1", None, [1], {}], ids=repr_of
)
def test_numbers_that_are_none_are_malformed_wherever_they_stand(number: Any):
    data = parse(content()).data
    option = {"type": "gpu", "width": 1, "fraction": 1.0}
    for solution in (
        {"widths": {"a": [1, number]}},
        {"paths": {"a": [{"probability": number, "widths": [1, 1]}]}},
        {"paths": {"a": [{"probability": 1.0, "widths": [number, 1]}]}},
        {"assignment": {"a": [[option], [option | {"width": number}]]}},
        {"assignment": {"a": [[option], [option | {"fraction": number}]]}},
    ):
        with pytest.raises(MalformedSolution, match="must be a number"):
            check(data, solution)


@pytest.mark.parametrize("name", [["gpu"], {"gpu": 1}, None, 1, 10**5000], ids=repr_of)
def test_what_is_no_name_of_a_type_is_malformed(name: Any):
    option = {"type": name, "width": 1, "fraction": 1.0}
    with pytest.raises(MalformedSolution, match="unknown GPU type"):
        check(parse(content()).data, {"assignment": {"a": [[option], [option]]}})


def test_huge_widths_cost_more_than_any_budget():
    for width in (1e299, 1e200):
        verdict = check(parse(content()).data, {"widths": {"a": [1, width]}})
        assert any("costs" in v for v in verdict.violations)


def test_noise_in_widths_and_shares_buys_nothing():
    """A hair under one GPU counts as one, a hair over the last width as the last, and shares are scaled to 1."""
    data = parse(content(widths="continuous", max_width=3, classes=[SINGLE])).data
    assert check(data, {"widths": {"a": [1 - 9e-10]}}) == check(data, {"widths": {"a": [1]}})
    assert check(data, {"widths": {"a": [3 + 2e-9]}}) == check(data, {"widths": {"a": [3]}})
    for share in (1 - 9e-10, 1 + 9e-10):
        verdict = check(data, {"assignment": {"a": [[{"type": "gpu", "width": 2, "fraction": share}]]}})
        assert verdict.objective == pytest.approx(check(data, {"widths": {"a": [2]}}).objective, rel=1e-15)


def test_the_budget_is_kept_by_one_rule():
    """What the checker grants is the same for validation, and a hair more and less than what bounds and plans use."""
    for budget in (1e-9, 0.3, 1.0, 1e9):
        assert budget < compute_plan_limit(budget) < allow_rounding(budget) < proven(budget) < budget * (1 + 1e-9)
        assert affords(budget, budget)
        assert not affords(budget, budget * (1 + 1e-9))
        assert budget <= on_grid_from(budget) <= budget + 1e-9
    data = parse(content(budget=2.0, classes=[SINGLE], widths="continuous")).data
    width = 10 * (2.0 - 0.9)  # costs the budget to the last digit
    assert check(data, {"widths": {"a": [width]}}).violations == ()
    assert check(data, {"widths": {"a": [width * (1 + 2e-9)]}}).violations[0].startswith("costs 2")
