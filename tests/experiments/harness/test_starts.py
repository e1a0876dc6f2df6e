"""Test that the best heuristic solution reaches the exact method and is never lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.harness.entry import Entry, select_by_name
from experiments.harness.run import Run, apply, best_start, from_start, load_method
from experiments.harness.runner import run_all
from experiments.harness.task import Reported, ReportFile
from experiments.papers import METHODS
from heuristics.eva import full_reconfiguration, no_packing
from instances import Answer, CheckFailed, Options, Stopwatch, conclude
from instances.eva import table_3
from instances.method import method as as_method
from tests.commands import workers_copied
from tests.user_heuristics import one_each, overfull

TABLE_3 = table_3()
STARTS = select_by_name(METHODS["eva-packing"], "no-packing", "full-reconfiguration", "full-reconfiguration-first")


def method(name: str) -> Entry:
    return Entry("exact", f"tests.exact_methods:{name}", starts=STARTS)


def told(name: str, options: Options = Options()):
    reports: list = []
    result = apply(method(name), TABLE_3, options, lambda solution, bound: reports.append((solution, bound)))
    return result, reports


def test_the_best_start_is_reported_first_handed_over_and_kept_where_the_method_finds_less():
    result, reports = told("worse", Options(time_limit=100.0))
    assert (result.status, result.objective, result.bound) == ("feasible", 12.8, 1.0)
    assert result.info["start"] == {"method": "full-reconfiguration", "objective": 12.8}
    assert result.info["given"] == result.solution == reports[0][0]
    assert 0 < result.info["left_s"] < 100
    assert result.options["time_limit"] == 100
    assert result.build_s > 0
    assert result.trace[0][1:] == (12.8, None)
    assert result.trace[1][0] >= result.trace[0][0]


def test_the_start_is_the_solution_of_a_method_without_one():
    result, _ = told("gives_up")
    assert (result.status, result.termination, result.objective, result.bound) == ("feasible", "time_limit", 12.8, 1.0)


@pytest.mark.parametrize("name", ["denies", "lies"])
def test_what_the_start_refutes_is_an_error(name: str):
    with pytest.raises(CheckFailed):
        told(name)


def test_a_process_that_is_ended_leaves_the_start():
    run = Run(TABLE_3, method("hangs"), Options(time_limit=1.0))
    with workers_copied():
        ((_, result),) = run_all([run])
    assert (result.status, result.termination, result.objective, result.bound) == ("feasible", "killed", 12.8, 1.0)


def test_the_better_of_the_first_and_the_last_incumbent_is_kept(tmp_path: Path):
    run = Run(TABLE_3, method("hangs"), Options(time_limit=3.0))
    best, dear = full_reconfiguration(TABLE_3.data).solution, one_each(TABLE_3.data)
    for first, last in ((best, dear), (dear, best)):
        report = ReportFile(tmp_path / "report")
        report(first, None)
        report(last, None)
        assert run.conclude_early(Reported.read(report.path), "killed", "ended").objective == 12.8


def test_heuristics_that_fail_break_a_constraint_or_find_nothing_are_no_start():
    data = TABLE_3.data

    def fails(time_limit):
        raise RuntimeError("no luck")

    def breaks(time_limit):
        return conclude(data, "h", Answer(overfull(data)), Options(), kind="heuristic")

    def finds_nothing(time_limit):
        return conclude(data, "h", Answer(None), Options(), kind="heuristic")

    useless = [("fails", fails), ("breaks", breaks), ("finds nothing", finds_nothing)]
    assert best_start(useless, "minimize", None) is None
    found = best_start([*useless, ("no-packing", lambda time_limit: no_packing(data))], "minimize", None)
    assert (found.method, found.objective) == ("no-packing", 16.2)


def test_starts_end_at_a_tenth_of_the_limit_and_the_best_one_is_kept():
    """Heuristics that overrun their share leave the exact method too little time to prove anything."""

    @as_method("heuristic")
    def reports_and_never_ends(data, report):
        report(no_packing(data).solution, None)
        while True:
            pass

    @as_method("exact")
    def says_what_is_left(data, options, start):
        return Answer(start, 1.0, info={"left_s": options.time_limit})

    def endless(time_limit):
        return reports_and_never_ends(TABLE_3.data, Options(time_limit=time_limit))

    with Stopwatch() as clock:
        found = from_start(
            says_what_is_left.method, TABLE_3.data, [("endless", endless)] * 3, Options(time_limit=2.0), None
        )
    assert found.solution == no_packing(TABLE_3.data).solution
    assert found.info["left_s"] > 1.6
    assert clock.cpu_s < 0.4


def test_every_start_is_a_heuristic_of_its_problem_and_every_method_with_one_takes_it():
    for methods in METHODS.values():
        heuristics = {m for m in methods if load_method(m).kind == "heuristic"}
        for m in methods:
            assert set(m.starts) <= heuristics
            assert not m.starts or "start" in load_method(m).takes
