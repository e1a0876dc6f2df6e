"""Methods in killable processes: what they found is never lost, and nothing they do ends the study."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.methods import METHODS, Method, methods_for
from experiments.runner import Diary, Run, _from_diary, plan, run_all
from experiments.store import Store, key
from instances import InputError, Options, load
from instances.eva import table_3, table_7

BEST = {
    "instances": [
        {"type": "it1", "count": 1, "tasks": {"t1": 1, "t2": 1, "t4": 1}},
        {"type": "it3", "count": 1, "tasks": {"t3": 1}},
    ]
}


def run_one(name: str, options: Options | None = None):
    (run,) = plan([table_3()], [f"tests.user_heuristics:{name}"], options or Options())
    ((_, result),) = run_all([run])
    return result


def test_a_user_s_heuristic_is_checked_like_any():
    result = run_one("one_each")
    assert (result.status, result.objective, result.bound, result.gap) == ("feasible", 48.0, None, None)
    assert result.method == "tests.user_heuristics:one_each"
    bounded = run_one("with_bound")
    assert (bounded.bound, bounded.gap, bounded.info) == (None, None, {"claimed_bound": 1.0})  # nobody can check it


def test_a_broken_constraint_is_said_and_has_no_gap():
    result = run_one("overfull")
    assert result.status == "violates"
    assert result.objective == 12
    assert result.gap is None
    assert result.violations == ("a it1 holds 22 cpu of 16",)


def test_a_user_s_heuristic_gets_the_seed_if_it_takes_it():
    (run,) = plan([table_3()], ["tests.user_heuristics:seeded"], Options(seed=3), frozenset({"seed"}))
    ((_, result),) = run_all([run])
    assert result.objective == 48 + 3 * 12  # as many idle instances as the seed says
    assert result.options["seed"] == 3
    with pytest.raises(InputError, match="--seed"):
        plan([table_3()], ["tests.user_heuristics:one_each"], Options(seed=3), frozenset({"seed"}))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("raises", "RuntimeError: no luck today"),
        ("dies", "exit code 7"),
        ("nonsense", "must return a solution, got int"),
        ("malformed", "unknown instance type 'nowhere'"),
    ],
)
def test_failures_are_results(name: str, reason: str):
    result = run_one(name)
    assert result.status == "error"
    assert reason in result.reason
    assert "\n" not in result.reason


def test_a_run_that_overstays_is_ended_from_outside():
    result = run_one("sleeps", Options(time_limit=0.2))
    assert (result.status, result.termination) == ("no_solution", "killed")
    assert "time limit of 0.2 s" in result.reason


def test_what_was_reported_last_survives_the_end(tmp_path: Path):
    (run,) = plan([table_3()], ["exact"], Options(time_limit=5))
    diary = Diary(tmp_path / "diary")
    diary(BEST, None)
    diary(None, 12.0)  # too soon after the last to be written down
    diary(BEST, 11.5)
    result = _from_diary(run, diary.path, "killed", "ended")
    assert (result.status, result.objective, result.bound) == ("feasible", 12.8, 11.5)
    assert result.solution == BEST
    assert result.gap == pytest.approx(1.3 / 12.8)


def test_results_come_in_the_order_of_the_runs():
    runs = plan([table_7(60, seed) for seed in range(4)], ["exact", "no-packing"], Options())
    found = list(run_all(runs, jobs=2))
    assert [run for run, _ in found] == runs
    assert [(r.instance, r.method) for _, r in found] == [(run.instance.name, run.method.name) for run in runs]
    assert {r.status for _, r in found} == {"optimal", "feasible"}


def test_all_methods_that_fit():
    assert [m.name for m in methods_for(table_3(), ["all"])] == [m.name for m in METHODS["eva-packing"]]
    names = [m.name for m in methods_for(table_3("net-saving"), ["all"])]
    assert "literal" not in names
    assert "literal" not in [m.name for m in methods_for(table_7(100, 0), ["all"])]  # it would take hours
    assert [m.name for m in methods_for(table_7(100, 0), ["literal"])] == ["literal"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("magic", "must be all, exact, literal"),
        ("tests.nowhere:f", "No module named"),
        ("tests.user_heuristics:none", "has no function 'none'"),
        ("literal", "8000 tasks make 64,000,000 binaries"),
    ],
)
def test_unknown_and_unfit_methods_are_refused(name: str, message: str):
    with pytest.raises(InputError, match=message):
        methods_for(table_7(8000, 0), [name])


def test_options_that_no_method_honours_are_refused():
    with pytest.raises(InputError, match="--gap: none of the chosen methods"):
        plan([table_3()], ["no-packing"], Options(gap=0.1), frozenset({"gap"}))
    plan([table_3()], ["no-packing", "exact"], Options(gap=0.1), frozenset({"gap"}))


def test_every_method_s_function_exists_and_takes_its_problem():
    (table,) = {instance.name: instance for instance in (table_3(),)}.values()
    for method in METHODS["eva-packing"]:
        ((_, result),) = run_all([Run(table, method, Options())])
        assert result.solved
        assert set(result.options) == set(method.honours)


@pytest.mark.parametrize(
    "wrong", [{"time_limit": 0}, {"time_limit": float("nan")}, {"gap": -1}, {"gap": 1}, {"threads": 0}, {"seed": -1}]
)
def test_options_out_of_range(wrong: dict):
    with pytest.raises(InputError):
        Options(**wrong)


def test_the_store_keeps_results_apart_by_what_they_depend_on(tmp_path: Path, table_3_file: Path):
    instance = load(table_3_file)
    (run,) = plan([instance], ["exact"], Options())
    ((_, result),) = run_all([run])
    with Store(tmp_path / "s.sqlite", resume=True) as store:
        assert store.get(run) is None
        store.put(run, result)
        assert store.get(run) == result
    changed = plan([instance], ["exact"], Options(gap=0.01))[0]
    other = plan([table_7(5, 0)], ["exact"], Options())[0]
    assert len({key(run), key(changed), key(other)}) == 3
    # an option that a method takes no notice of does not matter
    assert key(plan([instance], ["no-packing"], Options())[0]) == key(
        plan([instance], ["no-packing"], Options(gap=0.1))[0]
    )
    with Store(tmp_path / "s.sqlite", resume=True) as store:
        assert store.get(run) == result
    with Store(tmp_path / "s.sqlite", resume=False) as store:
        assert store.get(run) is None
    assert (tmp_path / "s.sqlite.previous").exists()


def test_failed_runs_are_not_kept(tmp_path: Path):
    (run,) = plan([table_3()], ["tests.user_heuristics:raises"], Options())
    ((_, result),) = run_all([run])
    with Store(tmp_path / "s.sqlite", resume=False) as store:
        store.put(run, result)
        assert store.get(run) is None


def test_a_store_that_is_none_is_refused(tmp_path: Path):
    (tmp_path / "s.sqlite").write_text("not a database, not at all, no")
    with pytest.raises(InputError, match="cannot be used as a store"):
        Store(tmp_path / "s.sqlite", resume=True)


def test_methods_are_compared_by_what_they_are():
    assert Method("a", "b:c", "exact", frozenset()) == Method("a", "b:c", "exact", frozenset(), lambda data: "no")
