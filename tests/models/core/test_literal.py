"""Test the time limit while a literal model is built, and the import of other solvers' solutions."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress

import pytest
from pyomo.environ import Constraint, SolverFactory, Var

from instances import Answer, CheckFailed, InputError, Instance, Options, conclude
from instances.aryl import figure_5, five_servers, table_2
from instances.boa import BoaAllocation, Epoch, JobClass, Speedup
from instances.clock import Stopwatch, call_within
from instances.eva import table_3, table_3_round
from instances.kubernetes import build_two_halves, shrunk_cluster
from instances.sia import five_jobs, six_jobs
from models import aryl, boa, eva, kubernetes, sia
from models.core.pyomo_model import solve_literal, write_model
from models.eva import reconfiguration


def never_built(data):
    while True:
        with suppress(Exception):  # as Pyomo catches exceptions of a rule
            sum(range(1000))


def test_a_model_that_is_not_built_in_time_is_no_solution():
    result = solve_literal(table_3().data, never_built, dict, Options(time_limit=0.2))
    assert (result.solution, result.termination) == (None, "time_limit")
    assert result.reason == "time limit, while the model was built"


def test_work_within_its_limit_is_not_disturbed():
    assert call_within(60.0, lambda: 3) == call_within(None, lambda: 3) == call_within(1e300, lambda: 3) == 3


@pytest.mark.parametrize("alarm_s", [0.0, 100.0])
def test_the_handler_and_the_alarm_of_the_caller_are_back_afterwards(alarm_s: float):
    def handler(signum, frame):
        raise AssertionError

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, alarm_s)
        with Stopwatch() as clock, pytest.raises(TimeoutError):
            call_within(0.05, lambda: never_built(None))
        left_s, interval_s = signal.setitimer(signal.ITIMER_REAL, 0)
        assert interval_s == 0
        assert alarm_s - clock.wall_s - 10 < left_s <= max(0.0, alarm_s - 0.02)
        assert signal.getsignal(signal.SIGALRM) is handler
    finally:
        signal.signal(signal.SIGALRM, before)


def test_outside_the_main_thread_work_is_done_without_a_limit():
    done = []
    thread = threading.Thread(target=lambda: done.append(call_within(1e-3, lambda: sum(range(100_000)))))
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
        call_within(0.02, casts)

    def fails():
        raise KeyError("foreign")

    with pytest.raises(KeyError):
        call_within(10.0, fails)


def rescaled() -> Instance[BoaAllocation]:
    speedup = Speedup.model_validate({"table": {"gpus": [1, 2, 4], "speedup": [1.0, 1.8, 3.0]}})
    classes = [
        JobClass(
            name=name, arrivals_per_hour=1.0, rescale_hours=0.1, epochs=(Epoch(size_hours=1.0, speedup=speedup),) * 2
        )
        for name in ("a b", "a_b")
    ]
    return Instance.of(BoaAllocation(budget=6.0, classes=tuple(classes), widths="integer"), "rescaled")


EXAMPLES = {
    "eva-packing": (table_3(), eva.build_literal, eva.read_literal, eva.literal_names, eva.exact),
    "eva-reconfiguration": (
        table_3_round(),
        reconfiguration.build_literal_reconfiguration,
        reconfiguration.read_literal_reconfiguration,
        reconfiguration.literal_names_reconfiguration,
        reconfiguration.exact_reconfiguration,
    ),
    "boa-allocation": (rescaled(), boa.build_literal, boa.read_literal, boa.literal_names, boa.exact),
    "aryl-mean-jct": (table_2(), aryl.build_elastic, aryl.read_literal, aryl.literal_names, aryl.exact),
    "aryl-jct-reduction": (
        table_2("jct-reduction"),
        aryl.build_elastic,
        aryl.read_literal,
        aryl.literal_names,
        aryl.exact,
    ),
    "aryl-reclaim": (figure_5(), aryl.build_reclaim, aryl.read_literal, aryl.literal_names, aryl.exact),
    "aryl-placement": (five_servers(), aryl.build_placement, aryl.read_literal, aryl.literal_names, aryl.exact),
    "sia-oracle": (five_jobs(), sia.build_literal, sia.read_literal, sia.literal_names, sia.exact),
    "sia-local-oracle": (six_jobs(), sia.build_local_literal, sia.read_literal, sia.literal_names, sia.local_exact),
    "node-placement": (
        build_two_halves(),
        kubernetes.build_literal,
        kubernetes.read_literal,
        kubernetes.literal_names,
        kubernetes.exact,
    ),
    "node-consolidation": (
        shrunk_cluster(12, 0),
        kubernetes.build_consolidation,
        kubernetes.read_consolidation,
        kubernetes.consolidation_names,
        kubernetes.exact_consolidation,
    ),
}


def solved(model):
    SolverFactory("appsi_highs").solve(model)
    return model


@pytest.mark.parametrize("problem", EXAMPLES)
def test_what_a_solver_of_one_s_own_finds_is_read_and_checked(problem: str):
    instance, build, read, _, exact = EXAMPLES[problem]
    model = build(instance.data)
    with pytest.raises(InputError, match="no variable has a value"):
        read(instance.data, model)
    found, optimum = read(instance.data, solved(model)), exact(instance.data)
    assert (found.method, found.status, found.bound, found.options) == ("literal", "feasible", None, {})
    assert found.objective == pytest.approx(optimum.objective, rel=1e-6)


@pytest.mark.parametrize("problem", EXAMPLES)
def test_every_index_of_an_exported_model_is_named(problem: str, tmp_path):
    instance, build, _, names, _ = EXAMPLES[problem]
    model, named = build(instance.data), names(instance.data)
    for file in ("model.lp", "model.mps"):
        called = write_model(model, tmp_path / file)
        written = (tmp_path / file).read_text()
        assert called
        assert all(name in written for name in called)
        assert {variable for variable, _ in called.values()} <= set(named)
        for variable, index in called.values():
            assert named[variable](*(index if isinstance(index, tuple) else (index,)))
    assert named.keys() >= {v.local_name for v in model.component_objects(Var)}


def test_a_row_of_one_s_own_is_kept_and_a_broken_row_of_the_model_is_told():
    """Without type it3 the rest of Table 3 costs more; with two tasks fixed on the ghost nothing is a solution."""
    data = table_3().data
    model = eva.build_literal(data)
    kinds = [kind.name for kind in data.instance_types]
    model.mine = Constraint(expr=sum(model.x[i, kinds.index("it3")] for i in model.I) == 0)
    without = eva.read_literal(data, solved(model))
    assert without.objective > 12.8
    assert "it3" not in {group["type"] for group in without.solution["instances"]}
    for i in model.I:  # all tasks on one instance of the smallest type
        for k in model.K:
            model.x[i, k].value = float(k == kinds.index("it4"))
        for t in model.T:
            model.y[i, t].value = float(i == 0)
    broken = eva.read_literal(data, model)
    assert broken.status == "violates"
    assert broken.violations == conclude(data, "m", Answer(broken.solution), Options(), kind="heuristic").violations
    for variable in model.component_data_objects(Var):
        variable.value = 0.0 if variable.parent_component() is model.x else variable.value
    with pytest.raises(InputError, match="its values are no solution") as refused:
        eva.read_literal(data, model)
    assert isinstance(refused.value.__cause__, CheckFailed)


def test_names_stand_for_what_the_data_call_them():
    data = table_3().data
    named = eva.literal_names(data)
    tasks = [task.key for task in data.tasks for _ in range(task.count)]
    assert [named["y"](2, t)["task"] for t in range(4)] == tasks
    assert named["x"](2, 0) == {"instance": 2, "type": data.instance_types[0].name}
    assert named["x"](2, len(data.instance_types))["type"] is None  # the ghost


def test_jobs_whose_names_are_alike_in_a_file_are_told_apart(tmp_path):
    """Of `a b` and `a_b` a solver's file makes one name, which was an error."""
    data = table_3_round().data
    jobs = {"t1": "a b", "t2": "a_b"}
    alike = data.with_(
        tasks=[
            t.model_dump(exclude_none=True) | ({"job": jobs[t.workload]} if t.workload in jobs else {})
            for t in data.tasks
        ],
        existing=[
            e.model_dump() | {"tasks": {f"{t}@{jobs[t]}" if t in jobs else t: n for t, n in e.tasks.items()}}
            for e in data.existing
        ],
    )
    for file in ("m.lp", "m.mps"):
        write_model(reconfiguration.build_literal_reconfiguration(alike), tmp_path / file)
    named = reconfiguration.literal_names_reconfiguration(alike)["z"]
    assert [named(j)["job"] for j in range(2)] == ["a b", "a_b"]
