"""Test the event engine: order, simultaneous events, changing rates, wake-ups and idle policies."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.simulator.kernel import Activity, Calendar, World, simulate
from instances.online import Decision, RuleBroken


def test_events_happen_in_order_of_time_rank_and_scheduling():
    calendar, seen = Calendar(), []
    for name, time, rank in (("late", 2, 0), ("b", 1, 1), ("c", 1, 1), ("a", 1, 0)):
        calendar.at(time, lambda name=name: seen.append((calendar.now, name)), rank=rank)
    calendar.at(1, lambda: seen.append("never")).cancel()
    assert calendar.advance() == 3
    assert seen == [(1, "a"), (1, "b"), (1, "c")]
    assert calendar.advance() == 1
    assert seen[-1] == (2, "late")
    assert not calendar
    with pytest.raises(RuleBroken, match="an event at 1 is scheduled at 2"):
        calendar.at(1, lambda: None)


def test_what_an_event_brings_about_at_the_same_moment_keeps_to_the_ranks():
    calendar, seen = Calendar(), []
    calendar.at(1, lambda: (seen.append("first"), calendar.at(1, lambda: seen.append("caused"), rank=1)))
    calendar.at(1, lambda: seen.append("last"), rank=2)
    calendar.advance()
    assert seen == ["first", "caused", "last"]


def test_moments_within_the_tolerance_are_one_and_whole_moments_are_not():
    calendar, seen = Calendar(), []
    for time in (3 * 0.1, 0.3, 0.1 + 0.2):
        calendar.at(time, lambda: seen.append(calendar.now))
    assert calendar.advance() == 3
    assert set(seen) == {0.3}
    calendar = Calendar()
    for time in (10**12, 10**12 + 1):
        calendar.at(time, lambda: None)
    assert calendar.advance() == 1


def test_an_event_cancelled_by_another_of_its_moment_does_not_happen():
    calendar, seen = Calendar(), []
    later = calendar.at(1, lambda: seen.append("cancelled"), rank=1)
    calendar.at(1, later.cancel, rank=0)
    calendar.advance()
    assert not seen
    assert not calendar


def test_cancelled_events_do_not_fill_the_heap():
    calendar = Calendar()
    work = Activity(calendar, 1e9, lambda: None)
    for rate in range(1, 5_000):
        work.set_rate(rate)
    assert len(calendar) == 1
    assert len(calendar.heap) < 200


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 5)), min_size=1, max_size=12), st.integers(1, 60))
def test_work_at_changing_rates_ends_when_exact_arithmetic_says(changes, amount):
    calendar, ended = Calendar(), []
    work = Activity(calendar, amount, lambda: ended.append(calendar.now))
    moment = 0
    for gap, rate in changes:
        calendar.at(moment, lambda rate=rate: ended or work.set_rate(rate))
        moment += gap
    while calendar:
        calendar.advance()
    left, now, expected = Fraction(amount), 0, None
    for k, (gap, rate) in enumerate(changes):
        last = k == len(changes) - 1
        if rate and (left / rate <= gap or last):
            expected = now + left / rate
            break
        left, now = left - rate * gap, now + gap
    if expected is None:
        assert not ended
        assert work.remaining == pytest.approx(float(left))
    else:
        assert ended == [pytest.approx(float(expected))]
        assert work.remaining == 0


def test_a_negative_rate_is_refused():
    with pytest.raises(RuleBroken, match="rate -1"):
        Activity(Calendar(), 1, lambda: None).set_rate(-1)


class Waiting(World):
    """A world with one thing that waits from time 2 on, and a policy's answers, which do nothing."""

    def __init__(self):
        super().__init__()
        self.asked = []
        self.calendar.at(2, lambda: None)

    def view(self):
        self.asked.append(self.calendar.now)

    def apply(self, decision):
        pass

    def waiting(self):
        return "job x"


class Rounds(Waiting):
    """The same with rounds at 5 and 9 and events that come between them."""

    def __init__(self):
        super().__init__()
        self.rounds, self.settled = [5, 9], []
        self.calendar.at(5, lambda: None)
        self.calendar.at(7, lambda: None)

    def next_decision(self):
        return self.rounds[0] if self.rounds else None

    def settle(self):
        self.settled.append(self.calendar.now)

    def apply(self, decision):
        del self.rounds[0]


def answers(*wake_at):
    asked = iter(wake_at)
    return SimpleNamespace(decide=lambda view: Decision(next(asked)))


def test_a_policy_is_asked_again_when_it_says_so_and_not_for_ever():
    world = Waiting()
    with pytest.raises(RuleBroken, match="job x is left waiting at 7 with nothing to come"):
        simulate(world, answers(7, 9))
    assert world.asked == [2, 7]


def test_a_policy_that_neither_acts_nor_asks_again_is_told_what_waits():
    with pytest.raises(RuleBroken, match="job x is left waiting at 2 with nothing to come"):
        simulate(Waiting(), answers(None))


def test_a_wake_up_in_the_past_is_refused():
    with pytest.raises(RuleBroken, match="asks at 2 to be woken at 2"):
        simulate(Waiting(), answers(2))


def test_a_world_with_rounds_is_asked_at_them_alone_and_ends_the_moments_between():
    world = Rounds()
    with pytest.raises(RuleBroken, match="job x is left waiting at 9 with nothing to come"):
        simulate(world, answers(None, None))
    assert (world.asked, world.settled) == ([5, 9], [2, 7])


def test_work_pauses_is_undone_and_counts_all_that_was_ever_done():
    calendar, ended = Calendar(), []
    work = Activity(calendar, 10, lambda: ended.append(calendar.now))
    work.set_rate(2, begin=2)
    calendar.at(1, lambda: (work.settle(), work.set_rate(1)))  # a pause stays one, whatever the rate
    calendar.at(5, work.stop)
    calendar.at(6, lambda: (work.undo(3), work.set_rate(4)))
    while calendar:
        calendar.advance()
        assert work.remaining == 10 - work.done
    assert ended == [6 + (10 - 3 + 3) / 4]
    assert (work.worked, work.done, work.remaining) == (13, 10, 0)


def test_work_of_whole_units_ends_at_the_first_by_which_all_is_done():
    calendar, ended = Calendar(), []
    for amount in (7, 6, 6 + 1e-12):  # the last but for rounding
        work = Activity(calendar, amount, lambda: ended.append(calendar.now), whole=True, rounding=1e-9)
        work.set_rate(2)
    while calendar:
        calendar.advance()
    assert ended == [3, 3, 4]
