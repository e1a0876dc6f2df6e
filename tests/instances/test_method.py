"""Test that decorated methods share one protocol and result, and report their effective options."""

from __future__ import annotations

import inspect

import pytest

from heuristics.eva import full_reconfiguration
from instances import Answer, CheckFailed, InputError, Options, Result, Stopwatch
from instances.eva import table_3
from instances.method import ANY, SEEDED, Method, method

DATA = table_3().data


def alone(data):
    """One instance a task, each on the largest type."""
    kind = max(data.instance_types, key=lambda k: k.usd_per_hour).name
    return {"instances": [{"type": kind, "count": t.count, "tasks": {t.key: 1}} for t in data.tasks]}


def test_a_function_of_the_data_becomes_a_checked_and_timed_result():
    result = method("heuristic", ANY)(alone)(DATA)
    assert isinstance(result, Result)
    assert (result.method, result.status) == ("alone", "feasible")
    assert result.objective == 48.0
    assert result.solve_s is not None
    assert result.options == {"time_limit": None}


def test_every_method_takes_every_option_and_says_what_was_in_effect():
    @method("heuristic", SEEDED)
    def drawn_once(data, options):
        assert options.seed == 3
        return Answer(alone(data), solve_s=1.5)

    asked = Options(seed=3, threads=2, gap=0.1, time_limit=9.0)
    result = drawn_once(DATA, asked)
    assert result.method == "drawn-once"
    assert result.options == {"time_limit": 9.0, "seed": 3}
    assert result.solve_s == 1.5
    assert method("heuristic", ANY)(alone)(DATA, asked).options == {"time_limit": 9.0}


def test_report_and_start_reach_those_who_name_them():
    @method("exact")
    def begun(data, report, start):
        report(start, 1.0)
        return Answer(start, bound=1.0)

    told = []
    start = alone(DATA)
    result = begun(DATA, report=lambda *what: told.append(what), start=start)
    assert told == [(start, None), (start, 1.0)]  # a start is told before anything is done
    assert (result.objective, result.bound) == (48.0, 1.0)


def test_a_broken_constraint_is_an_error_of_an_exact_method_and_a_status_of_a_heuristic():
    def nothing(data):
        return {"instances": []}

    assert method("heuristic")(nothing)(DATA).status == "violates"
    with pytest.raises(CheckFailed, match="nothing: the solution breaks a constraint"):
        method("exact")(nothing)(DATA)


def test_what_is_no_solution_is_refused():
    with pytest.raises(TypeError, match="method seven must return a solution, got int"):
        method("heuristic", name="seven")(lambda data: 7)(DATA)


def test_parameters_are_known_by_name():
    with pytest.raises(TypeError, match="takes extra, which is none of options, report, start"):
        method("exact")(lambda data, extra: None)


def test_a_method_shows_its_own_docstring_and_signature():
    shown = method("heuristic", ANY)(alone)
    assert shown.__doc__ == alone.__doc__
    assert inspect.signature(shown).return_annotation is Result
    assert isinstance(shown.method, Method)


def test_parameters_of_a_method_s_own_are_given_by_name():
    @method("heuristic", ANY)
    def either(data, *, largest=True):
        return alone(data) if largest else {"instances": []}

    assert either(DATA).status == "feasible"
    assert either(DATA, largest=False).status == "violates"


def test_a_start_is_never_lost_and_a_false_one_refused():
    @method("exact")
    def finds_nothing(data, start=None):
        return Answer(None, 1.0, "time_limit", "time limit")

    result = finds_nothing(DATA, start=alone(DATA))
    assert (result.status, result.objective, result.bound) == ("feasible", 48.0, 1.0)
    failed = method("exact")(lambda data, start=None: Answer(None, None, "error", "solver failed"))
    result = failed(DATA, start=alone(DATA))
    assert (result.status, result.termination, result.reason) == ("feasible", "error", "solver failed")
    with pytest.raises(InputError, match="start: task t1 is placed 0 times"):
        finds_nothing(DATA, start={"instances": []})
    with pytest.raises(InputError, match="start: must be an object"):
        finds_nothing(DATA, start={"nothing": 1})


def test_the_seconds_of_an_exact_method_are_all_that_it_used():
    """A method that adds up the seconds of its parts forgets the parts that found nothing."""

    @method("exact")
    def forgets(data):
        with Stopwatch() as building:
            _work_for(0.1)
        _work_for(0.2)
        return Answer(alone(data), 1.0, build_s=building.cpu_s, solve_s=0.0)

    with Stopwatch() as clock:
        result = forgets(DATA)
    assert result.build_s >= 0.1
    assert result.solve_s >= 0.2
    assert result.cpu_s <= clock.cpu_s


def test_a_heuristic_ends_at_the_time_limit_with_what_it_has_reported():
    @method("heuristic", ANY)
    def endless(data, report):
        report(alone(data), None)
        _work_for(60)

    result = endless(DATA, Options(time_limit=0.2))
    assert (result.status, result.termination, result.objective) == ("feasible", "time_limit", 48.0)
    assert result.reason == "ended at the time limit of 0.2 s"
    assert result.solve_s < 1

    @method("heuristic", ANY)
    def silent(data):
        _work_for(60)

    result = silent(DATA, Options(time_limit=0.2))
    assert (result.status, result.termination) == ("no_solution", "time_limit")


def test_options_are_given_by_name_too():
    @method("heuristic", SEEDED)
    def drawn(data, options):
        return Answer(alone(data), info={"seed": options.seed, "limit": options.time_limit})

    assert drawn(DATA, time_limit=9, seed=4).info == {"seed": 4, "limit": 9}
    assert drawn(DATA, Options(seed=3, time_limit=2.0), seed=4).info == {"seed": 4, "limit": 2.0}


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda solve: solve(table_3()), TypeError, "data must be EvaPacking, got Instance: give its .data"),
        (lambda solve: solve("x.json"), TypeError, "data must be EvaPacking, got str: read a file with instances.load"),
        (lambda solve: solve({"resources": []}), TypeError, "data must be EvaPacking, got dict"),
        (lambda solve: solve(DATA, {"seed": 1}), TypeError, "options must be Options, got dict: give time_limit=10"),
        (lambda solve: solve(DATA, time_limits=3), TypeError, "takes display, effort, .*, time_limit, got time_limits"),
        (lambda solve: solve(DATA, time_limit="3"), InputError, "time limit: must be a number, got '3'"),
        (lambda solve: solve(DATA, seed=1.5), InputError, "seed: must be a number, got 1.5"),
        (lambda solve: solve(DATA, gap=None), InputError, "gap: must be a number, got None"),
    ],
)
def test_a_wrong_argument_gets_one_sentence(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call(full_reconfiguration)


def test_display_prints_a_line_for_each_report_and_a_summary(capsys: pytest.CaptureFixture[str]):
    @method("exact")
    def improves(data, report):
        report(alone(data), None)
        report(None, 12.0)
        return Answer(alone(data), bound=24.0)

    result = improves(DATA, display=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["CPU", "s", "incumbent", "bound", "gap"]
    assert [line.split()[1:] for line in lines[1:4]] == [
        ["48", "-", "-"],
        ["48", "12", "75.0000%"],
        ["48", "24", "50.0000%"],
    ]
    assert lines[4] == result.summary
    assert repr(result) == f"<Result {result.summary}>"
    improves(DATA)
    assert capsys.readouterr().out == ""


def test_a_result_plots_its_incumbents_and_bounds():
    trace = [(0.1, 16.2, None), (0.2, None, 10.0), (0.3, 12.8, 12.8)]
    result = method("exact", name="plotted")(lambda data: Answer(alone(data), 12.8, trace=trace))(DATA)
    incumbent, bound = result.plot().get_lines()
    assert incumbent.get_ydata().tolist() == [16.2, 12.8, 48.0]
    assert bound.get_ydata().tolist() == [10.0, 12.8, 12.8]


def _work_for(cpu_s: float) -> None:
    clock = Stopwatch(cpu_s)
    while not clock.has_expired:
        pass
