"""Test the items and bins of Caprara and Toth's ten classes."""

from __future__ import annotations

import pytest

from instances.eva import packing_arrays
from instances.eva.vector_packing import RESOURCES, THREE, caprara_toth, paper_sizes

RANGES = {1: (100, 400), 2: (1, 1000), 3: (200, 800), 4: (50, 200), 5: (25, 100), 6: (20, 100), 9: (100, 400)}


def sizes(data):
    """Size pairs of the items, in order, and the capacity of the first type."""
    items = [tuple(int(task.demand["default"][r]) for r in RESOURCES) for task in data.tasks]
    return items, tuple(int(data.instance_types[0].capacity[r]) for r in RESOURCES)


@pytest.mark.parametrize("number", range(1, 11))
def test_an_item_is_a_task_of_its_own_and_the_seed_decides(number):
    n = paper_sizes(number)[1]
    data = caprara_toth(number, n, 3).data
    assert len(data.tasks) == sum(task.count for task in data.tasks) == n
    assert data == caprara_toth(number, n, 3).data
    assert data != caprara_toth(number, n, 4).data


@pytest.mark.parametrize("number", sorted(RANGES))
def test_uniform_classes_fill_their_range(number):
    items, room = sizes(caprara_toth(number, 200, 0).data)
    low, high = RANGES[number]
    for side in range(2):
        drawn = [item[side] for item in items]
        assert low <= min(drawn) < low + (high - low) / 10
        assert high - (high - low) / 10 < max(drawn) <= high
    if number != 9:
        assert room == ((150, 150) if number == 6 else (1000, 1000))


def test_class_9_has_room_for_both_sizes_in_equally_many_bins():
    items, room = sizes(caprara_toth(9, 100, 1).data)
    totals = [sum(item[side] for item in items) for side in range(2)]
    bins = -(-max(totals) // 1000)
    assert room == tuple(-(-total // bins) for total in totals)
    assert max(room) <= 1000


@pytest.mark.parametrize(("number", "near"), [(7, lambda one: one), (8, lambda one: 120 - one)])
def test_correlated_classes_stay_within_ten(number, near):
    items, room = sizes(caprara_toth(number, 200, 0).data)
    assert room == (150, 150)
    assert all(20 <= one <= 100 and abs(two - near(one)) <= 10 for one, two in items)
    assert {two - near(one) for one, two in items} >= {-10, 10}


def test_triplets_fill_their_bins_to_the_last_unit():
    items, room = sizes(caprara_toth(10, 51, 0).data)
    assert room == (100, 100)
    for i in range(0, 51, 3):
        assert [sum(side) for side in zip(*items[i : i + 3], strict=True)] == [100, 100]
        assert all(25 <= size <= 50 for item in items[i : i + 2] for size in item)


def test_three_types_hold_the_same_items_in_multiples_of_the_bin():
    one, three = caprara_toth(4, 25, 0).data, caprara_toth(4, 25, 0, types="three").data
    assert one.tasks == three.tasks
    arrays = packing_arrays(three)
    assert [tuple(room) for room in arrays.capacity / arrays.capacity[0]] == [(m, m) for m, _ in THREE]
    assert [kind.usd_per_hour for kind in three.instance_types] == [1.0, 1.7, 3.1]


@pytest.mark.parametrize(
    ("number", "items", "words"), [(0, 25, "class"), (11, 25, "class"), (1, 0, "items"), (10, 25, "multiple of 3")]
)
def test_other_classes_and_numbers_are_refused(number, items, words):
    with pytest.raises(ValueError, match=words):
        caprara_toth(number, items, 0)
