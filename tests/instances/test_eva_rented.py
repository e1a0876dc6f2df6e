"""Test which rented instances a new configuration continues."""

from __future__ import annotations

import pytest

from instances import InputError
from instances.eva import RentedInstance, continue_instances

CURRENT = [
    RentedInstance("large", {"t1": 1}, "a"),
    RentedInstance("large", {"t1": 1}, "b"),
    RentedInstance("large", {"t2": 2}, "c"),
    RentedInstance("small", {"t3": 1}, "d"),
]


def ids(*planned: RentedInstance) -> list[str | None]:
    return [instance.id for instance in continue_instances(CURRENT, planned)]


def test_an_id_is_kept_whatever_the_tasks():
    assert ids(RentedInstance("large", {"t3": 1}, "b"), RentedInstance("large", {"t1": 1}, "c")) == ["b", "c"]


def test_equal_instances_are_told_apart_by_their_ids():
    assert ids(RentedInstance("large", {"t1": 1}), RentedInstance("large", {"t1": 1}, "a")) == ["b", "a"]


def test_without_an_id_the_most_tasks_in_common_decide():
    assert ids(RentedInstance("large", {"t1": 1, "t2": 2})) == ["c"]


def test_without_a_task_in_common_an_instance_is_new():
    assert ids(RentedInstance("large", {"t3": 1}), RentedInstance("small", {"t1": 1})) == [None, None]


def test_no_current_instance_is_continued_twice():
    planned = [RentedInstance("large", {"t1": 1})] * 3
    assert ids(*planned) == ["a", "b", None]


def test_the_planned_configuration_keeps_its_order_types_and_tasks():
    planned = [RentedInstance("small", {"t3": 1}), RentedInstance("large", {"t2": 1})]
    found = continue_instances(CURRENT, planned)
    assert [(i.instance_type, i.tasks) for i in found] == [(i.instance_type, i.tasks) for i in planned]


@pytest.mark.parametrize(
    ("current", "planned", "message"),
    [
        ([RentedInstance("large", {})], [], "current configuration: an instance of type 'large' has no id"),
        ([CURRENT[0], CURRENT[0]], [], "current configuration: instance id 'a' must be unique"),
        (CURRENT, [RentedInstance("large", {}, "x")], "planned configuration: unknown instance id 'x'"),
        (CURRENT, [RentedInstance("small", {}, "a")], "instance 'a' is of type 'large', not 'small'"),
        (CURRENT, [CURRENT[0], CURRENT[0]], "planned configuration: instance id 'a' must be unique"),
    ],
)
def test_ids_that_decide_nothing_are_refused(current, planned, message):
    with pytest.raises(InputError, match=message):
        continue_instances(current, planned)
