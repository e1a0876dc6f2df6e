"""The literal models' common part: the time limit holds while a model is built."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress

import pytest

from instances import Options
from instances.clock import within
from instances.eva import table_3
from models.literal import solve_literal


def never_built(data):
    while True:
        with suppress(Exception):  # as Pyomo catches exceptions of a rule
            sum(range(1000))


def test_a_model_that_is_not_built_in_time_is_no_solution():
    result = solve_literal(table_3().data, never_built, dict, Options(time_limit=0.2))
    assert (result.solution, result.termination) == (None, "time_limit")
    assert result.reason == "time limit, while the model was built"


def test_work_within_its_limit_is_not_disturbed():
    assert within(60.0, lambda: 3) == within(None, lambda: 3) == within(1e300, lambda: 3) == 3


def test_the_alarm_is_off_afterwards_and_the_old_handler_back():
    def handler(signum, frame):
        raise AssertionError

    before = signal.signal(signal.SIGPROF, handler)
    try:
        with pytest.raises(TimeoutError):
            within(0.05, lambda: never_built(None))
        assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
        assert signal.getsignal(signal.SIGPROF) is handler
    finally:
        signal.signal(signal.SIGPROF, before)


def test_outside_the_main_thread_work_is_done_without_a_limit():
    done = []
    thread = threading.Thread(target=lambda: done.append(within(1e-3, lambda: sum(range(100_000)))))
    thread.start()
    thread.join()
    assert done == [sum(range(100_000))]


def test_a_library_that_makes_another_exception_of_the_end_does_not_hide_it():
    def casts():
        while True:
            try:
                sum(range(1000))
            except BaseException as error:  # as Pyomo's casts do
                raise ValueError("failed casting") from error

    with pytest.raises(TimeoutError, match="broken off"):
        within(0.02, casts)

    def fails():
        raise KeyError("foreign")

    with pytest.raises(KeyError):
        within(10.0, fails)
