"""Test that names of the previous version still work, and warn."""

from __future__ import annotations

import importlib

import pytest

from instances.boa import figure_1


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("instances.aryl.online", "admitted", "admit_jobs"),
        ("instances.boa", "granted", "allow_rounding"),
        ("instances.boa", "least_budget", "compute_min_budget"),
        ("instances.boa", "least_cost", "compute_min_cost"),
        ("instances.boa", "merged_segments", "merge_segments"),
        ("instances.boa", "planned", "compute_plan_limit"),
        ("instances.boa", "within_budget", "is_within_budget"),
        ("instances.boa.online", "believed", "build_estimated_allocation"),
        ("instances.eva", "continued", "continue_instances"),
        ("instances.eva", "most_kept", "keep_most_tasks"),
        ("instances.kubernetes", "two_halves", "build_two_halves"),
        ("instances.sia.traces", "seen_jobs", "infer_jobs"),
    ],
)
def test_a_function_has_its_old_name_for_one_version(module: str, old: str, new: str):
    found = importlib.import_module(module)
    with pytest.warns(DeprecationWarning, match=f"{module}.{old} is now called {new}"):
        assert getattr(found, old) is getattr(found, new)
    assert old not in getattr(found, "__all__", ())


def test_an_attribute_has_its_old_name_for_one_version():
    data = figure_1(2.0).data
    with pytest.warns(DeprecationWarning, match="BoaAllocation.measured is now called is_measured"):
        assert data.measured == data.is_measured
    with pytest.warns(DeprecationWarning, match="Speedup.by_type is now called curves_by_type"):
        assert data.classes[0].epochs[0].speedup.by_type == {}


def test_an_unknown_name_of_a_module_is_an_error():
    with pytest.raises(AttributeError, match=r"module 'instances.boa' has no attribute 'budget_least'"):
        importlib.import_module("instances.boa").budget_least  # noqa: B018
