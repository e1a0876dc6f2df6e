"""Tasks that are spread over many classes: packed by ruin and recreate before anything is priced."""

from __future__ import annotations

from heuristics.eva import full_reconfiguration
from instances import Options
from instances.eva import packing_arrays, pod_requests, table_7
from models.eva import exact
from models.eva.column_generation import ColumnGenerationParameters
from models.eva.column_generation.spread import Spread
from models.eva.parameters import ExactParameters


def test_distinct_pods_are_spread_and_many_equal_tasks_are_not():
    parameters = ColumnGenerationParameters()
    assert Spread.of(packing_arrays(pod_requests(70, 0).data), parameters) == Spread(many=True, few=True)
    assert Spread.of(packing_arrays(pod_requests(59, 0).data), parameters) == Spread(many=False, few=False)
    assert Spread.of(packing_arrays(table_7(200, 0).data), parameters) == Spread(many=False, few=False)
    fewer = ColumnGenerationParameters(ruin_alone=69)
    assert Spread.of(packing_arrays(pod_requests(70, 0).data), fewer) == Spread(many=True, few=False)


def test_the_least_effort_packs_distinct_pods_better_than_the_heuristic():
    data = pod_requests(70, 0).data
    small = ColumnGenerationParameters(table_entries=100_000, pricing_nodes=100)  # pricing is not what is looked at
    parameters = ExactParameters(column_generation=small)
    once, again = (exact(data, Options(effort=1, gap=0.0), parameters=parameters) for _ in range(2))
    assert once.bound <= once.objective < full_reconfiguration(data).objective
    assert (once.objective, once.bound, once.solution) == (again.objective, again.bound, again.solution)
