"""Test that the cost of rented items is the integral of their prices over time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.simulator.kernel import Calendar, Fleet
from instances.online import RuleBroken

STAYS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 9)), max_size=8)


@given(STAYS)
def test_the_bill_is_the_area_under_the_price_of_what_is_rented(stays):
    calendar = Calendar()
    fleet = Fleet(calendar)
    for k, (begin, length, price) in enumerate(stays):
        calendar.at(begin, lambda k=k, price=price: fleet.rent(f"i{k}", "it1", price))
        calendar.at(begin + length, lambda k=k: fleet.give_up(f"i{k}"), rank=1)
    calendar.at(100, lambda: None)
    area, before = 0, 0
    while calendar:
        rate = sum(rental.price for rental in fleet)
        area += rate * (calendar.next_moment - before)
        before = calendar.next_moment
        calendar.advance()
    assert fleet.bill == area == sum(length * price for _, length, price in stays)
    assert not list(fleet)
    assert fleet.table()["cost"].sum() == area


def test_what_is_still_rented_is_billed_until_now():
    calendar = Calendar()
    fleet = Fleet(calendar)
    fleet.rent("a", "it1", 3.0)
    calendar.at(4, lambda: None)
    calendar.advance()
    assert fleet.bill == 12.0
    assert fleet["a"].until is None
    assert [rental.id for rental in fleet] == ["a"]


def test_ids_tell_rentals_apart():
    fleet = Fleet(Calendar())
    fleet.rent("a", "it1", 1.0)
    with pytest.raises(RuleBroken, match="it2 a is rented at 0 and was at 0 before"):
        fleet.rent("a", "it2", 1.0)
    with pytest.raises(RuleBroken, match="at a price of -1"):
        fleet.rent("b", "it1", -1.0)
    fleet.give_up("a")
    for name in ("a", "c"):
        with pytest.raises(RuleBroken, match=f"{name} is given up at 0, but is not rented"):
            fleet.give_up(name)
