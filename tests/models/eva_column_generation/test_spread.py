"""Tasks that are spread over many classes: packed by ruin and recreate before anything is priced."""

from __future__ import annotations

from heuristics.eva import full_reconfiguration
from instances import Options, Stopwatch
from instances.eva import packing_arrays, pod_requests, table_7
from models.eva.column_generation import ColumnGenerationParameters
from models.eva.column_generation.ruin_phases import ruin_alone
from models.eva.column_generation.search import Search
from models.eva.column_generation.spread import Spread


def test_distinct_pods_are_spread_and_many_equal_tasks_are_not():
    parameters = ColumnGenerationParameters()
    assert Spread.of(packing_arrays(pod_requests(70, 0).data), parameters) == Spread(many=True, few=True)
    assert Spread.of(packing_arrays(pod_requests(59, 0).data), parameters) == Spread(many=False, few=False)
    assert Spread.of(packing_arrays(table_7(200, 0).data), parameters) == Spread(many=False, few=False)
    fewer = ColumnGenerationParameters(ruin_alone=69)
    assert Spread.of(packing_arrays(pod_requests(70, 0).data), fewer) == Spread(many=True, few=False)


def test_a_little_ruin_and_recreate_packs_distinct_pods_better_than_the_heuristic():
    data = pod_requests(70, 0).data
    packing = packing_arrays(data)
    found = []
    for _ in range(2):
        search = Search(packing, Options(effort=3, gap=0.0), None, ColumnGenerationParameters())
        for phase in (Search.start, Search.pack, ruin_alone):
            phase(search, Stopwatch())
        found.append((search.incumbent.objective, search.incumbent.solution))
    assert search.generator.iterations == 0
    assert packing.usd(found[0][0]) < full_reconfiguration(data).objective
    assert found[0] == found[1]
