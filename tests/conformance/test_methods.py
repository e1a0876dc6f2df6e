"""Test what every caller may rely on, for all methods on the quick reference study.

A method that cannot take an instance (`Entry.unfit`), or would run for hours on it (`Entry.costly`), is passed over
there, and so are the few pairs in SLOW; every method runs on some instance.
"""

from __future__ import annotations

import json
import os
import pickle
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import pytest

from experiments.eva.worst import CutBins
from experiments.harness.entry import Entry
from experiments.harness.run import Run, apply, load_method
from experiments.harness.user_functions import resolve
from experiments.papers import METHODS, reference_sets
from instances import Instance, Options, Result, better, check, gap, parse
from instances.kubernetes import shrunk_cluster
from instances.method import ANY, Method
from instances.options import OPTION_NAMES
from instances.result import Status, Termination
from tests.commands import python
from tests.sampling import few

SLOW = {  # one CPU second to eleven for each run
    ("base-0.5d-1min-seed-3", "literal"),
    ("base-0.5d-1min-seed-3", "literal-windows"),
    ("base-0.5d-1min-seed-4", "exact"),
    ("base-3d-5min-seed-18", "exact"),
    ("newtrace-budget-1.25", "literal"),
    ("newtrace-budget-1.5", "literal"),
    ("aryl-jct-reduction-2000-0", "literal"),
    ("aryl-mean-jct-5-0", "literal"),
    ("aryl-spread-60-60-12-0", "exact"),
    ("aryl-spread-60-60-12-0", "literal"),
    ("eva-round-40-jobs-of-1-0.5h-seed-0", "literal"),
    ("eva-round-40-jobs-of-1-0.5h-seed-1", "literal"),
    ("shrunk-cluster-eks-12-seed-0", "literal"),
    ("shrunk-cluster-eks-12-seed-1", "literal"),
}
LARGE = 100_000  # characters: of a set of large instances the first one is enough, of the others two are
ASKED = Options(threads=1, time_limit=30, gap=1e-4, seed=3, effort=50)
OTHERS = {"gap": 0.05, "threads": 2, "seed": 7, "effort": 1}
"""A value of each option but the time limit that is not the default."""
SAID = ("status", "termination", "objective", "bound", "gap", "solution", "violations", "options", "reason")
"""What two runs of one method have to agree on: all but seconds, trace and the solver's own counts."""


@dataclass(frozen=True, eq=False)
class Case:
    """A method on an instance."""

    instance: Instance
    entry: Entry

    @property
    def method(self) -> Method[Any]:
        return load_method(self.entry)

    def direct(self, options: Options) -> Result:
        """Call the function as a user of the library does."""
        result = resolve(self.entry.target)(self.instance.data, options)
        assert isinstance(result, Result)
        return result

    def harness(self, options: Options) -> Result:
        """Run the method as the commands do."""
        return apply(self.entry, self.instance, options)

    @cached_property
    def plain(self) -> Result:
        return self.direct(Options())

    @cached_property
    def result(self) -> Result:
        return self.harness(Options())

    @property
    def asked(self) -> Options:
        """Every option; where a method honours none but the time limit the others are far from their defaults."""
        return ASKED if self.method.honours > ANY else Options(**{"time_limit": 30} | OTHERS)

    @cached_property
    def limited(self) -> Result:
        return self.direct(self.asked)


def said(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name) for name in SAID}


def size(instance: Instance) -> int:
    return len(instance.model_dump_json())


ONE_TYPE = CutBins(2, 12, 3).instance((403, 1073))  # for what packs on one type alone
FEW_PODS = shrunk_cluster(6, 0)  # for the literal model, which takes a second for twelve
INSTANCES = sorted(
    (
        ONE_TYPE,
        FEW_PODS,
        *(i for s in reference_sets(quick=True) for i in s.instances[: 1 if size(s.instances[0]) > LARGE else 2]),
    ),
    key=size,
)
CASES = [
    Case(instance, entry)
    for instance in INSTANCES
    for entry in METHODS[instance.problem]
    if entry.unfit(instance.data) is None and not entry.costly(instance.data)
    if (instance.name, entry.name) not in SLOW
]
PROVEN = [i for i in INSTANCES if any(c.instance is i and c.method.kind == "exact" for c in CASES)]
ROWS = [(problem, entry) for problem, entries in METHODS.items() for entry in entries]
SMALLEST = {(case.instance.problem, case.entry.name): case for case in reversed(CASES)}
"""Of every method its smallest instance."""

cases = pytest.mark.parametrize(
    "case",
    [case if case in SMALLEST.values() else pytest.param(case, marks=pytest.mark.long) for case in CASES],
    ids=lambda case: f"{case.instance.name}-{case.entry.name}",
    scope="module",
)
rows = pytest.mark.parametrize(("problem", "entry"), ROWS, ids=[f"{p}-{e.name}" for p, e in ROWS])


@rows
def test_every_row_names_a_method_of_the_decorator(problem: str, entry: Entry):
    found = load_method(entry)
    assert found.name == entry.name
    assert found.kind in ("exact", "heuristic")
    assert ANY <= found.honours <= OPTION_NAMES
    assert found.honours == ANY or "options" in found.takes, "honours what it is not told"
    heuristics = {row for row in METHODS[problem] if load_method(row).kind == "heuristic"}
    assert set(entry.starts) <= heuristics
    assert not entry.starts or found.kind == "exact"


@rows
def test_every_method_runs_on_an_instance(problem: str, entry: Entry):
    assert (problem, entry.name) in SMALLEST


@cases
def test_a_result_is_legal_and_what_the_checker_says(case: Case):
    result, data = case.result, case.instance.data
    verdict = None if result.solution is None else check(data, result.solution)
    assert (result.instance, result.problem, result.method) == (case.instance.name, data.problem, case.entry.name)
    assert (result.sense, result.unit) == (data.sense, data.unit)
    assert result.status in get_args(Status)
    assert result.termination in get_args(Termination)
    assert result.objective == (verdict and verdict.objective)
    assert result.violations == (verdict.violations if verdict else ())
    assert (result.status == "violates") == bool(result.violations)
    assert result.solved == (result.solution is not None and not result.violations)
    assert result.gap == gap(result.objective if result.solved else None, result.bound, data.sense)
    assert (result.status == "optimal") == (result.gap is not None and result.gap <= Options().gap * (1 + 1e-9))
    assert result.cpu_s is not None
    if case.method.kind == "exact":  # without a limit
        assert (result.status, result.termination) == ("optimal", "finished")


@pytest.mark.parametrize("instance", few(PROVEN, 25), ids=lambda i: i.name)
def test_nobody_beats_a_proof(instance: Instance):
    results = [case.result for case in CASES if case.instance is instance]
    known = instance.reference
    bounds = {r.method: r.bound for r in results if r.bound is not None}
    objectives = {r.method: r.objective for r in results if r.solved}
    if known is not None:
        bounds |= {"the reference": known.bound} if known.bound is not None else {}
        objectives |= {"the reference": known.objective} if known.objective is not None else {}
    assert bounds
    sense = instance.data.sense
    beaten = [(who, by) for who, bound in bounds.items() for by, o in objectives.items() if better(o, bound, sense)]
    assert beaten == []


@cases
def test_a_limit_is_never_an_error_and_the_options_are_those_honoured(case: Case):
    honoured = case.asked.select(case.method.honours)
    results = [case.limited]
    if case is SMALLEST[case.instance.problem, case.entry.name]:  # what the harness adds is the same on every instance
        results.append(case.harness(case.asked))
    for result in results:
        assert result.options == honoured
        assert result.status in ("optimal", "feasible", "violates", "no_solution")
        assert result.termination in ("finished", "time_limit", "effort_limit")


@cases
def test_an_option_that_is_not_honoured_changes_nothing(case: Case):
    ignored = {name: value for name, value in OTHERS.items() if name not in case.method.honours}
    if ignored == OTHERS:  # nor does a time limit that is far away
        assert said(case.limited) | {"options": None} == said(case.plain) | {"options": None}
    elif ignored:
        assert said(case.direct(Options(**ignored))) == said(case.plain)


@cases
def test_the_same_seed_gives_the_same_answer(case: Case):
    """A call of the function is the second run, but where the commands hand a start over."""
    again = case.harness(Options()) if case.entry.starts else case.plain
    assert said(again) == said(case.result)


@cases
def test_with_effort_alone_two_calls_give_the_same_answer(case: Case):
    if "effort" in case.method.honours:  # without it this would be the test before
        one, two = (case.direct(Options(effort=5, seed=2)) for _ in range(2))
        assert said(one) == said(two)


@cases
def test_a_result_and_a_run_survive_json_and_pickle(case: Case):
    result, instance, run = case.result, case.instance, Run(case.instance, case.entry, Options())
    again = Result.model_validate_json(result.model_dump_json())
    assert again == result
    assert again.model_dump_json() == result.model_dump_json()
    assert json.loads(result.model_dump_json())["status"] == result.status
    assert pickle.loads(pickle.dumps(result)) == result
    assert parse(json.loads(instance.model_dump_json())) == instance
    assert pickle.loads(pickle.dumps(instance)) == instance
    assert pickle.loads(pickle.dumps(run)) == run
    assert run.parse_outcome(result.model_dump_json()) == result


@pytest.mark.long
def test_the_hashes_of_texts_differ_between_processes_and_the_answers_do_not():
    code = (
        "import json; from tests.conformance.test_methods import SMALLEST, Options, said\n"
        "print(json.dumps({str(key): said(case.direct(Options())) for key, case in SMALLEST.items()}))"
    )
    elsewhere = python("-c", code, PYTHONHASHSEED="2" if os.environ.get("PYTHONHASHSEED") == "1" else "1")
    assert elsewhere.returncode == 0, elsewhere.stderr
    answers = json.loads(json.dumps({str(key): said(case.plain) for key, case in SMALLEST.items()}))
    others = json.loads(elsewhere.stdout)
    assert len(answers) == len(others) == len(ROWS)
    assert [key for key in answers if answers[key] != others[key]] == []
