"""Test that ruin and recreate keeps all tasks packed, never raises the price, and obeys its seed."""

import pytest

from instances.eva import pod_requests
from instances.eva.arrays import packing_arrays
from models.eva.configuration import Column, configuration, holds, missing, price
from models.eva.greedy import resource_prices
from models.eva.parameters import ColumnGenerationParameters
from models.eva.ruin_and_recreate import Ruin
from tests.eva_cases import literal_optimum, random_packing
from tests.sampling import few


def alone(packing):
    """Each task on the cheapest type that holds the task."""
    return {Column(int(packing.cheapest_type[c]), ((c, 1),)): int(n) for c, n in enumerate(packing.count)}


def ruined(packing, seed=0, rounds=3):
    ruin = Ruin(packing, resource_prices(packing), ColumnGenerationParameters(ruins=200), seed)
    ruin.set(alone(packing))
    for _ in range(rounds):
        ruin.run(200)
    return ruin


@pytest.mark.parametrize("seed", few(range(20), 5))
def test_configuration_holds_every_task_at_the_price_told(seed):
    packing = random_packing(seed)
    ruin = ruined(packing)
    found = ruin.configuration
    assert not missing(packing, found).any()
    assert all(holds(packing, column) for column in found)
    assert price(packing, found) == ruin.cost <= price(packing, alone(packing))
    if packing.count.sum() <= 7:
        assert ruin.cost >= literal_optimum(packing)


def test_distinct_pods_cost_much_less_than_alone():
    packing = packing_arrays(pod_requests(60, 0).data)
    first, second = ruined(packing), ruined(packing)
    assert first.cost < 0.9 * price(packing, alone(packing))
    assert first.configuration == second.configuration
    assert configuration([(k.type, dict(k.pattern), n) for k, n in first.configuration.items()]) == first.configuration
