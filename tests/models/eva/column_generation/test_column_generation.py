"""Test column generation against the literal program, with its bounds, reports and limits."""

from functools import cache

import numpy as np
import pytest

from instances import Options
from models.core.highs import SolveFailed
from models.eva import column_generation as search
from models.eva.column_generation import column_generation
from models.eva.configuration import Column, holds, missing, price
from models.eva.parameters import ColumnGenerationParameters
from tests.eva_cases import literal_optimum_of_seed, packing_by_numbers, random_packing
from tests.sampling import few

NO_TIME = Options(time_limit=1e-9)


def check(packing, outcome):
    assert outcome.configuration is not None
    assert (missing(packing, outcome.configuration) == 0).all()
    assert all(holds(packing, column) for column in outcome.configuration)
    assert price(packing, outcome.configuration) == outcome.cost
    assert outcome.bound <= outcome.cost


@pytest.mark.parametrize(("table_entries", "exact_entries"), [(10_000_000, 0), (40, 0), (40, 10_000_000)])
@pytest.mark.parametrize("seed", few(range(30), 6))
def test_small_packings_end_at_the_literal_optimum(seed, table_entries, exact_entries):
    packing = random_packing(seed)
    if packing.count.sum() > 7:
        pytest.skip("the literal program would be slow")
    optimum = literal_optimum_of_seed(seed)
    tables = ColumnGenerationParameters(table_entries=table_entries, exact_entries=exact_entries)
    outcome = column_generation(packing, Options(gap=0.0), parameters=tables)
    check(packing, outcome)
    assert outcome.bound <= optimum
    assert outcome.cost == optimum
    assert outcome.bound == outcome.cost


def medium_packing(seed: int = 1, classes: int = 8, most: int = 20):
    """Eight classes of 5 to 20 tasks, three sizes of two families, about 100 tasks."""
    random = np.random.default_rng(seed)
    demand = random.integers(1, 9, (2, classes, 2))
    capacity = [[8 * m, 12 * m] for m in (1, 2, 4)] + [[10 * m, 9 * m] for m in (1, 2, 4)]
    return packing_by_numbers(
        random.integers(5, most + 1, classes), [30, 60, 120, 31, 62, 124], capacity, [0, 0, 0, 1, 1, 1], demand
    )


def gapped_packing():
    """Eight classes, 845 the best known cost; an effort of 1 finds 846 and proves 810, one of 40 proves 819."""
    return medium_packing(6, classes=8, most=9)


def test_medium_packing_is_proven():
    outcome, _ = reported()
    check(medium_packing(), outcome)
    assert outcome.bound == outcome.cost


def test_same_input_same_answer():
    packing = medium_packing(2, classes=12, most=29)
    one, two = (column_generation(packing, Options(gap=1e-3, seed=5)) for _ in range(2))
    assert (one.configuration, one.bound) == (two.configuration, two.bound)


def test_the_kind_of_table_does_not_change_the_bound_of_the_relaxation():
    packing = medium_packing(4, classes=10, most=15)
    full, charged, bundles = (
        column_generation(
            packing,
            Options(gap=1e-9),
            parameters=ColumnGenerationParameters(table_entries=entries, exact_entries=exact),
        )
        for entries, exact in ((10_000_000, 0), (600, 0), (600, 10_000_000))
    )
    assert full.info["lp_value"] == pytest.approx(charged.info["lp_value"], rel=1e-9)
    assert full.info["lp_value"] == pytest.approx(bundles.info["lp_value"], rel=1e-9)
    assert full.cost == charged.cost == bundles.cost


@cache
def reported():
    """Return a whole search of the medium packing and its reports, for three tests."""
    seen = []

    def told(configuration, bound):
        """Record a report; a report of a bound alone has no configuration."""
        seen.append((configuration or (seen[-1][0] if seen else None), bound))

    return column_generation(medium_packing(), Options(gap=0.0), report=told), seen


def test_reports_rise_and_fall_to_the_outcome():
    packing, (outcome, seen) = medium_packing(), reported()
    bounds = [bound for _, bound in seen]
    costs = [price(packing, configuration) for configuration, _ in seen if configuration is not None]
    assert bounds == sorted(bounds)
    assert costs == sorted(costs, reverse=True)
    assert (costs[-1], bounds[-1]) == (outcome.cost, outcome.bound)
    assert [(cost, bound) for _, cost, bound in outcome.trace] == [
        (None if configuration is None else price(packing, configuration), bound) for configuration, bound in seen
    ]


def test_no_time_still_gives_a_configuration_and_a_bound():
    packing = medium_packing()
    outcome = column_generation(packing, NO_TIME)
    check(packing, outcome)
    assert outcome.bound > 0


def test_warm_start_is_never_worsened():
    packing = medium_packing()
    best, _ = reported()
    again = column_generation(packing, NO_TIME, start=best.configuration)
    assert again.cost == best.cost


def test_warm_start_must_hold_all_tasks():
    packing = medium_packing()
    with pytest.raises(ValueError, match="class 1"):
        column_generation(packing, start={Column(2, ((0, 1),)): 1000})


class Hurried:
    """A clock on which an hour passes between two looks at it."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        self.now += 3600.0
        return self.now


EFFORTS = 1, 3, 40


@cache
def under(effort):
    """Run column generation under an effort, for two tests."""
    return column_generation(gapped_packing(), Options(gap=0.0, effort=effort))


@pytest.mark.parametrize("effort", [*EFFORTS[:-1], pytest.param(EFFORTS[-1], marks=pytest.mark.long)])
def test_with_effort_alone_limited_no_clock_makes_a_difference(effort, monkeypatch):
    packing, one = gapped_packing(), under(effort)
    check(packing, one)
    monkeypatch.setattr("instances.clock.time", Hurried())
    two = column_generation(packing, Options(gap=0.0, effort=effort))
    assert (one.configuration, one.bound, one.info) == (two.configuration, two.bound, two.info)


def test_more_effort_is_never_worse():
    outcomes = [under(effort) for effort in EFFORTS]
    costs, bounds = [outcome.cost for outcome in outcomes], [outcome.bound for outcome in outcomes]
    assert costs == sorted(costs, reverse=True)
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1]
    assert outcomes[0].info["iterations"] < outcomes[-1].info["iterations"]


def test_a_phase_that_fails_leaves_the_others_their_turn(monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise SolveFailed("the entries of a constraint are too far apart for HiGHS")

    monkeypatch.setattr(search, "PHASES", tuple(p for phase in search.PHASES for p in (phase, search.Phase(fail))))
    packing, (best, _) = medium_packing(), reported()
    outcome = column_generation(packing, Options(gap=0.0))
    check(packing, outcome)
    assert (outcome.cost, outcome.bound) == (best.cost, best.bound)
