"""Test that ruin and recreate packs tasks of many classes before pricing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from heuristics.eva import full_reconfiguration
from instances import Options, Stopwatch
from instances.eva import packing_arrays, pod_requests, table_7
from models.core.incumbent import Incumbent
from models.eva import exact
from models.eva.branch_and_price import BranchAndPrice
from models.eva.column_generation import ClassSpread, ColumnSearch, ruin_alone
from models.eva.parameters import DEFAULTS, BranchAndPriceParameters, ColumnGenerationParameters
from models.eva.pricers import SearchPricer

UNLISTED = replace(
    DEFAULTS,
    first_share=1e-9,
    branch_and_price=replace(DEFAULTS.branch_and_price, listed_patterns=0),
    column_generation=replace(DEFAULTS.column_generation, spread_classes=8),
    totals=replace(DEFAULTS.totals, many=10**9, look=0, tried=0),  # which would prove some before the tree
)


def test_distinct_pods_are_spread_and_many_equal_tasks_are_not():
    parameters = ColumnGenerationParameters()
    assert ClassSpread.of(packing_arrays(pod_requests(70, 0).data), parameters) == ClassSpread(many=True, few=True)
    assert ClassSpread.of(packing_arrays(pod_requests(19, 0).data), parameters) == ClassSpread(many=False, few=False)
    assert ClassSpread.of(packing_arrays(table_7(200, 0).data), parameters) == ClassSpread(many=False, few=False)
    fewer = ColumnGenerationParameters(ruin_alone=69)
    assert ClassSpread.of(packing_arrays(pod_requests(70, 0).data), fewer) == ClassSpread(many=True, few=False)


def test_a_little_ruin_and_recreate_packs_distinct_pods_better_than_the_heuristic():
    data = pod_requests(70, 0).data
    packing = packing_arrays(data)
    found = []
    for _ in range(2):
        search = ColumnSearch(packing, Options(effort=3, gap=0.0), None, ColumnGenerationParameters())
        for phase in (ColumnSearch.start, ColumnSearch.pack, ruin_alone):
            phase(search, Stopwatch())
        found.append((search.incumbent.objective, search.incumbent.solution))
    assert search.relaxation.pricings == 0
    assert packing.usd(found[0][0]) < full_reconfiguration(data).objective
    assert found[0] == found[1]


@pytest.mark.parametrize("seed", range(4))
def test_a_tree_that_prices_its_patterns_closes_what_column_generation_leaves_open(seed):
    data = pod_requests(10, seed).data
    listed = exact(data, Options(gap=0.0))
    priced = exact(data, Options(gap=0.0, time_limit=600.0), parameters=UNLISTED)
    assert listed.status == priced.status == "optimal"
    assert priced.objective == pytest.approx(listed.objective, rel=1e-12)
    assert "integer duals" not in listed.info["method"]
    assert priced.info["bound_by"] == priced.info["method"] == "tree with integer duals"


def test_too_many_classes_are_left_to_column_generation():
    data = pod_requests(10, 0).data
    result = exact(data, Options(effort=1, gap=0.0), parameters=replace(UNLISTED, few_classes=9))
    assert result.info["method"] == "column generation"


def test_a_tree_that_a_limit_ended_grows_on_from_where_it_was():
    arrays = packing_arrays(pod_requests(10, 0).data)
    clock = Stopwatch()
    incumbent = Incumbent("minimize", clock, bound=0)
    tree = BranchAndPrice(
        arrays, SearchPricer(arrays, clock), Options(gap=0.0), incumbent, clock, BranchAndPriceParameters()
    )
    tree.limit(Stopwatch(1e-9))
    tree.run()
    assert not incumbent.is_closed
    tree.limit(Stopwatch(600.0))
    tree.run()
    assert incumbent.objective == incumbent.bound
    assert arrays.usd(incumbent.bound) == pytest.approx(exact(arrays.data, Options(gap=0.0)).objective, rel=1e-12)
