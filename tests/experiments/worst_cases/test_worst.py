"""Test that worst-case searches are complete and proven, and report what breaks."""

from __future__ import annotations

import itertools
import json
import random
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from experiments.eva.worst import RULES, CutBins, height
from experiments.harness.entry import Entry
from experiments.harness.run import apply
from experiments.harness.task import Reported
from experiments.papers import METHODS, SPACES
from experiments.worst_cases.case import Case, Judge, Optima
from experiments.worst_cases.region import region
from experiments.worst_cases.search import Part, Search, Seen, enumerate_part, smaller
from experiments.worst_cases.space import Chosen, RepeatedEntries, list_every, number
from experiments.worst_cases.walk import PROOF, EstimatedOptima, Walk
from heuristics.eva.vector_packing import best_fit_decreasing, dot_product, first_fit_decreasing
from instances import Instance, Options
from instances.aryl import figure_5
from instances.eva import EvaPacking, InstanceType, Task
from instances.eva.packing import DEFAULT
from instances.kubernetes import ClusterNode, NodePlacement, Pod
from tests.commands import call
from tests.sampling import few

HEURISTICS = '''
from heuristics.eva import full_reconfiguration, no_packing

def flawed(data):
    """It is as good as any up to three tasks."""
    return no_packing(data) if sum(task.count for task in data.tasks) > 3 else full_reconfiguration(data)

def careless(data):
    """It does not look at the third resource where there are more than six tasks."""
    if sum(task.count for task in data.tasks) <= 6:
        return full_reconfiguration(data)
    third = data.resources[2]
    tasks = []
    for task in data.tasks:
        demand = {family: {**need, third: 0.0} for family, need in task.demand.items()}
        tasks.append(task.model_copy(update={"demand": demand}))
    return full_reconfiguration(data.with_(tasks=tuple(tasks))).solution

def crashing(data):
    if len(data.tasks) > 1:
        raise KeyError("two workloads")
    return full_reconfiguration(data)

def losing(data):
    found = full_reconfiguration(data).solution
    return {"instances": found["instances"][:1]}

def silent(data):
    while sum(task.count for task in data.tasks) > 1:
        pass
    return full_reconfiguration(data)
'''


def entries(problem: str) -> dict[str, object]:
    return {entry.name: entry for entry in METHODS[problem]}


def judge_of(space, heuristic: str) -> Judge:
    known = entries(space.problem)
    return Judge(space, known[heuristic], Optima(space, known["exact"], Options()))


@pytest.mark.parametrize(("things", "size"), [(1, 3), (3, 1), (4, 3), (9, 2)])
def test_every_instance_is_made_once(things: int, size: int):
    found = list(list_every(things, size))
    assert len(found) == len(set(found)) == number(things, size)
    assert {tuple(sorted(one)) for one in itertools.product(range(things), repeat=size)} == set(found)


def test_the_worst_of_all_small_clusters_is_proven_and_its_certificate_verified(tmp_path: Path):
    done = call("worst", "full-reconfiguration", "--size", 2, "--format", "json", "--out", tmp_path, "--quiet")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["complete"]
    assert found["status"] == "optimal"
    assert found["searched"] == 9 + 45
    space = SPACES["eva-packing"]["nine-workloads"]()
    judge = judge_of(space, "full-reconfiguration")
    gaps = [judge.case(chosen).gap for n in (1, 2) for chosen in list_every(9, n)]  # type: ignore[union-attr]
    assert found["gap"] == pytest.approx(max(gaps)) == pytest.approx(1.0)
    name = found["instance"]
    files = [tmp_path / f"{name}.{ending}" for ending in ("json", "exact.json", "exact.certificate.json")]
    assert call("verify", *files).returncode == 0
    assert json.loads((tmp_path / "worst.json").read_text()) == found
    assert (tmp_path / f"{name}.full-reconfiguration.svg").exists()
    again = call("worst", "full-reconfiguration", "--size", 2, "--format", "json", "--jobs", 1, "--quiet")
    assert json.loads(again.stdout) | {"certificate": "json"} == found


@cache
def spread_jobs_by_scf() -> tuple[Judge, dict[Chosen, Case]]:
    """Return all instances of up to three jobs with what reclaim-scf makes of them; two tests look at them."""
    space = SPACES["aryl-reclaim"]["spread-jobs"]()
    judge = judge_of(space, "reclaim-scf")
    cases = {chosen: judge.case(chosen) for size in (1, 2, 3) for chosen in list_every(space.things, size)}
    assert None not in cases.values()
    return judge, cases  # type: ignore[return-value]


@pytest.mark.parametrize(("heuristic", "size", "steps"), few([("reclaim-scf", 3, 400), ("reclaim-random", 3, 300)], 1))
def test_a_walk_finds_what_looking_at_all_instances_does(heuristic: str, size: int, steps: int):
    space = SPACES["aryl-reclaim"]["spread-jobs"]()
    if heuristic == "reclaim-scf":
        worst = max(case.gap for chosen, case in spread_jobs_by_scf()[1].items() if len(chosen) == size)
    else:
        judge = judge_of(space, heuristic)
        worst = max(case.gap for case in map(judge.case, list_every(space.things, size)) if case is not None)
    walk = Walk(judge_of(space, heuristic), size, steps, 1)
    assert walk.run()
    found = max(walk.cases.values(), key=lambda case: case.gap)
    assert found.gap == worst > 0.5
    assert found.proven
    assert {len(case.chosen) for case in walk.cases.values()} == {size}


@pytest.mark.parametrize(
    ("problem", "name", "heuristic", "steps"),
    [
        ("aryl-reclaim", "spread-jobs", "reclaim-greedy", 300),  # before: 1,900
        ("eva-packing", "nine-workloads", "full-reconfiguration", 200),
        ("aryl-elastic", "elastic-jobs", "two-phase", 100),
    ],
)
def test_a_walk_takes_its_steps_and_no_more_than_a_proof_over(problem: str, name: str, heuristic: str, steps: int):
    judge = judge_of(SPACES[problem][name](), heuristic)
    walk = Walk(judge, 4, steps, 0)
    assert walk.run()
    taken = judge.calls + (PROOF * judge.asked if judge.space.grows else 0)
    assert taken == walk.used
    assert steps - PROOF <= taken <= steps + 2 * PROOF


def test_a_walk_goes_on_where_the_heuristic_breaks():
    """Before: the first instance on which it breaks was the last one of a search."""
    walk = Walk(judge_of(SPACES["sia-oracle"]["two-pools"](), "gssf"), 4, 300, 0)
    assert walk.run()
    breaks = [case.broken is not None for case in walk.cases.values()]
    assert sum(breaks) > 1
    assert not all(breaks[breaks.index(True) :])


def test_a_walk_of_a_space_in_which_all_breaks_ends(own: Path):
    space = SPACES["eva-packing"]["nine-workloads"]()
    mine = Entry("mine:crashing", "mine:crashing")
    walk = Walk(Judge(space, mine, Optima(space, entries("eva-packing")["exact"], Options())), 3, 100, 0)  # type: ignore[arg-type]
    assert walk.run()
    assert walk.used <= 100 + PROOF


def test_a_search_beside_an_enumeration_knows_nothing_of_it():
    """Before: it had the bounds of all instances that were looked at."""
    space = SPACES["aryl-reclaim"]["spread-jobs"]()
    judge = judge_of(space, "reclaim-scf")
    assert enumerate_part(judge, Part(size=1), Seen([], random.Random(0)))
    known = judge.optima
    assert (known.bound_below((0, 13)), known.copy_without_bounds().bound_below((0, 13))) == (1.0, None)
    anew = known.copy_without_bounds()
    assert anew.of((13,)) is known.of((13,))
    assert anew.proofs == 0
    assert anew.bound_below((0, 13)) == known.bound_below((0, 13))


def test_optima_are_estimated_from_shares_of_what_the_things_take_alone():
    estimated = EstimatedOptima({0: 1.0, 1: 2.0, 2: 0.0}, 3)
    before = estimated.low((0, 1))
    for _ in range(50):
        estimated.learn((0, 0), 1.0)  # half of what they take alone
        estimated.learn((1, 1), 4.0)  # all of it
    assert estimated.low((0, 0)) == pytest.approx(1.0, abs=0.05)
    assert estimated.low((1, 1)) == pytest.approx(4.0, abs=0.1)
    assert before < estimated.low((0, 1)) == pytest.approx(2.5, abs=0.25)
    assert estimated.low((2, 2)) == 0.0
    estimated.learn((2,), 0.0)  # of nothing no share is learnt
    assert estimated.low((2, 2)) == 0.0


def test_a_worst_case_made_smaller_keeps_its_gap_and_nothing_simpler_has_it():
    space = SPACES["aryl-reclaim"]["spread-jobs"]()
    judge, seen = judge_of(space, "reclaim-scf"), Seen([], random.Random(0))
    chosen = (0, 4, 7, 13, 13)
    case = judge.case(chosen)
    assert case is not None
    assert case.gap == pytest.approx(1 / 3)
    assert smaller(judge, chosen, case.gap, seen)
    (found,) = seen.worst
    assert found.gap >= case.gap
    assert len(found.chosen) < len(chosen)
    fewer = (judge.case(found.chosen[:i] + found.chosen[i + 1 :]) for i in range(len(found.chosen)))
    assert all(one is None or one.gap < case.gap for one in fewer)


@pytest.mark.parametrize("space", [CutBins(2, 4, 2), CutBins(2, 6, 3), CutBins(3, 3, 2)])
def test_bins_that_were_cut_are_packed_again(space: CutBins):
    rng = random.Random(space.name)
    exact = entries("eva-packing")["exact"]
    for _ in range(6):
        chosen = tuple(sorted(rng.randrange(space.things) for _ in range(3)))
        found = apply(exact, space.instance(chosen), Options())  # type: ignore[arg-type]
        assert found.status == "optimal"
        assert found.objective == space.reference(chosen)
        for _ in range(5):
            assert 0 <= space.near(chosen[0], rng) < space.things


@pytest.mark.parametrize("space", [CutBins(2, 12, 3), CutBins(3, 6, 3), CutBins(4, 4, 2)], ids=lambda space: space.name)
@pytest.mark.parametrize("rule", RULES)
def test_the_compiled_rules_are_those_of_the_registry(space: CutBins, rule: str):
    rng, known = random.Random(rule), entries("eva-packing")[rule]
    for number_of_bins in (1, 2, 4, 6):
        chosen = tuple(sorted(rng.randrange(space.things) for _ in range(number_of_bins)))
        found = apply(known, space.instance(chosen), Options())  # type: ignore[arg-type]
        bins = np.array([space.cuts[place] for place in chosen], dtype=np.int64)
        assert height(bins, space.units, RULES[rule]) == pytest.approx(found.objective + space.nearly(found.solution))


def test_the_search_of_cut_bins_finds_twice_the_optimum():
    space = CutBins(2, 12, 3)
    (chosen, *_) = [one for one in space.leads("first-fit-decreasing", 4, 0) if len(one) == 4]
    found = [
        apply(entries("eva-packing")[n], space.instance(chosen), Options()) for n in ("first-fit-decreasing", "exact")
    ]  # type: ignore[arg-type]
    assert [one.objective for one in found] == [8.0, 4.0]
    assert found[1].status == "optimal"


def test_an_instance_that_a_bound_passes_over_is_no_worse():
    """Every gap of an enumeration, beside what the bound by its parts says of it."""
    space = SPACES["aryl-reclaim"]["spread-jobs"]()
    judge, (whole, cases) = judge_of(space, "reclaim-scf"), spread_jobs_by_scf()
    seen = [Seen([], random.Random(0)) for _ in range(3)]
    for size in (1, 2, 3):
        assert enumerate_part(judge, Part(size=size), seen[size - 1])
        gaps = []
        for chosen in list_every(space.things, size):
            case = cases[chosen]
            gaps.append(case.gap)
            at_most = judge.bound_gap(case)
            assert at_most is None or case.gap <= at_most + 1e-9
        assert seen[size - 1].worst[0].gap == max(gaps)
    assert seen[2].dominated > 300
    assert judge.optima.proofs < whole.optima.proofs / 2


def test_the_least_bill_of_a_part_of_the_pods_bounds_that_of_all():
    space = SPACES["node-consolidation"]["nine-pods"]()
    judge = judge_of(space, "karpenter-1.14")
    for size in (1, 2, 3):
        for chosen in list(list_every(space.things, size))[:: 2 * size]:
            case = judge.case(chosen)
            assert case is not None
            at_most = judge.bound_gap(case)
            assert at_most is None or case.gap <= at_most + 1e-9


def test_nodes_vary_with_what_they_hold():
    space = SPACES["node-consolidation"]["running-nodes"]()
    instance = space.instance((0, 0, 5))
    assert instance is not None
    data = instance.data
    assert [node.name for node in data.nodes] == ["c6i-2-small", "c6i-2-small.2", "c6i-4-small-large"]
    assert {pod.name: pod.count for pod in data.pods} == {"small": 3, "large": 1}
    assert not space.grows
    base = space.base.data
    waiting = (base.pods[0], base.pods[1].model_copy(update={"count": base.pods[1].count + 2}))
    made = RepeatedEntries(Instance.of(base.with_(pods=waiting), "two wait")).instance((0,))
    assert {pod.name: pod.count for pod in made.data.pods} == {"small": 1, "large": 2}  # type: ignore[union-attr]


def test_pods_that_fill_nodes_have_a_place_without_a_move_which_a_score_need_not_find():
    space = SPACES["node-placement"]["cut-nodes"]()
    known = entries("node-placement")
    judge = judge_of(space, "balanced-allocation")
    seen = Seen([], random.Random(0))
    assert enumerate_part(judge, Part(size=2, first=640, last=800), seen)
    broken = [case for case in seen.worst if case.broken is not None]
    assert 0 < len(broken) < 100
    for case in broken[:5]:
        found = apply(known["exact"], space.instance(case.chosen), Options())  # type: ignore[arg-type]
        assert (found.status, found.objective) == ("optimal", 0.0)
        assert "is placed" in str(case.broken)


def test_what_has_no_solution_breaks_no_heuristic():
    """Before: a pod that has no place in any solution was told as one that the score left without one."""
    pods = (Pod(name="p", count=1, demand={"a": 3}),)
    node = ClusterNode(name="n", capacity={"a": 4})
    space = RepeatedEntries(Instance.of(NodePlacement(resources=("a",), nodes=(node,), pods=pods), "one"))
    judge = judge_of(space, "least-allocated")
    assert judge.case((0,)) is not None
    assert judge.case((0, 0)) is None
    assert judge.optima.unproven == 0


def test_the_worst_of_karpenter_is_proven_and_its_certificate_verified(tmp_path: Path):
    done = call("worst", "karpenter-1.14", "--size", 2, "--format", "json", "--out", tmp_path, "--quiet")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["complete"]
    assert found["gap"] > 1, "a node for both pods, where one of them needs little alone"
    files = [tmp_path / f"{found['instance']}.{ending}" for ending in ("json", "exact.json", "exact.vipr")]
    assert call("verify", *files).returncode == 0
    assert len(list(tmp_path.glob("*.svg"))) == 2


def test_the_optimum_of_a_part_bounds_only_where_it_grows():
    assert SPACES["aryl-reclaim"]["spread-jobs"]().grows
    assert SPACES["eva-packing"]["nine-workloads"]().grows
    assert not SPACES["sia-oracle"]["two-pools"]().grows, "with fewer jobs the cut-offs are earlier"
    assert not SPACES["boa-allocation"]["three-widths"]().grows, "the budget grows with the classes"


def test_first_fit_takes_twice_the_instances_that_are_needed():
    """By hand: of what comes in falling order of sums only two tasks find room beside another."""
    pieces = [(8, 0), (7, 2), (4, 4), (3, 5), (2, 5), (0, 8)]
    tasks = [Task(workload=f"t{i}", count=1, demand={DEFAULT: {"a": a, "b": b}}) for i, (a, b) in enumerate(pieces)]
    kind = InstanceType(name="bin", family="bin", capacity={"a": 12, "b": 12}, usd_per_hour=1.0)
    data = EvaPacking(resources=("a", "b"), instance_types=(kind,), tasks=tuple(tasks), objective="cost")
    assert first_fit_decreasing(data).objective == 4.0
    assert apply(entries("eva-packing")["exact"], Instance.of(data, "six"), Options()).objective == 2.0  # type: ignore[arg-type]
    assert best_fit_decreasing(data).objective in (2.0, 3.0, 4.0)
    assert dot_product(data).objective in (2.0, 3.0, 4.0)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "mine.py").write_text(HEURISTICS)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("mine", None)


def worst(name: str, *flags: object) -> dict[str, object]:
    done = call("worst", f"mine:{name}", "--problem", "eva-packing", "--format", "json", "--quiet", *flags)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_flaw_of_ones_own_heuristic_is_found_in_its_smallest_form(own: Path):
    found = worst("flawed", "--size", 4, "--within", small(own))
    assert found["size"] == 4
    assert found["status"] == "optimal"
    assert found["gap"] == pytest.approx(1.0), "four tasks of half an instance"


def test_a_resource_that_many_tasks_are_not_held_against_is_caught_and_its_region_named(own: Path):
    found = worst("careless", "--size", 8)
    assert found["status"] == "broken"
    assert found["size"] == 7
    assert "ram_gb" in str(found["broken"])
    assert "ram_gb" in str(found["region"])
    right, fresh = map(int, str(found["region_right"]).split(" of "))
    assert right > 0.7 * fresh


@pytest.mark.parametrize(
    ("name", "size", "said"),
    [
        ("crashing", 2, "KeyError: 'two workloads'"),
        ("losing", 3, "is placed 2 times, not 3"),
        ("silent", 2, "did not answer"),
    ],
)
def test_what_breaks_is_told_as_that_with_the_smallest_instance(own: Path, name: str, size: int, said: str):
    limit = ("--time-limit", 1) if name == "silent" else ()
    found = worst(name, "--size", size, "--within", small(own), *limit)
    assert found["status"] == "broken"
    assert found["size"] == size
    assert said in str(found["broken"])
    assert found["gap"] is None
    assert found["optimum"] is None


def small(folder: Path) -> Path:
    """Write a file of two workloads, one of half an instance and one of a third."""
    tasks = tuple(
        Task(workload=name, count=1, demand={DEFAULT: {"a": a}}) for name, a in (("half", 3.0), ("third", 2.0))
    )
    kind = InstanceType(name="bin", family="bin", capacity={"a": 6.0}, usd_per_hour=1.0)
    data = EvaPacking(resources=("a",), instance_types=(kind,), tasks=tasks, objective="cost")
    path = folder / "two.json"
    path.write_text(Instance.of(data, "two").model_dump_json())
    return path


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("exact",), "exact is an exact method; give a heuristic"),
        (("no-such",), "method: must be literal, no-packing,"),
        (("all",), "method: must be literal, no-packing,"),
        (("mine:f",), "--problem: say which problem mine:f solves"),
        (("no-packing", "--problem", "eva"), "--problem: must be one of"),
        (("no-packing", "--within", "nowhere.json"), "nowhere.json: No such file"),
        (("no-packing", "--within", "nine"), "--within: must be an instance file, nine-workloads"),
        (("no-packing", "--within", "x", "--like", "y"), "--like: give --within or --like"),
        (("stay",), "--within: give an instance file of eva-reconfiguration"),
        (("karpenter-1.14", "--within", "nine"), "--within: must be an instance file, nine-pods, running-nodes"),
        (("least-allocated", "--like", "two halves"), "two-halves: nodes.pods: must be empty where pods vary"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], line: str):
    done = call("worst", *arguments)
    assert done.returncode == 2
    assert line in done.stderr
    assert done.stderr.count("\n") == 1


def test_size_0_is_refused():
    assert call("worst", "no-packing", "--size", 0).returncode == 2


def test_entries_that_others_name_do_not_vary():
    assert RepeatedEntries(figure_5()).things == 4
    assert RepeatedEntries(figure_5()).instance((0, 0, 1)).data.jobs[1].id == "a.2"  # type: ignore[union-attr]


def test_a_repetition_takes_no_name_that_another_entry_has():
    base = figure_5()
    jobs = (base.data.jobs[0], base.data.jobs[1].model_copy(update={"id": "a.2"}))
    made = RepeatedEntries(Instance.of(base.data.with_(jobs=jobs), "two")).instance((0, 0, 1))  # before: none
    assert [job.id for job in made.data.jobs] == ["a", "a..2", "a.2"]  # type: ignore[union-attr]


def test_a_region_that_is_told_holds_on_instances_on_which_it_was_not_found():
    space = SPACES["aryl-reclaim"]["spread-jobs"]()
    judge = judge_of(space, "reclaim-scf")
    cases = [case for chosen in list_every(space.things, 2) if (case := judge.case(chosen)) is not None]
    found = region(space, cases)
    assert found is not None
    fresh = [space.features(case.chosen) for case in sorted(cases, key=lambda case: case.chosen)[1::2]]
    assert found.fresh == len(fresh)
    assert found.right > found.fresh / 2
    assert region(space, [case for case in cases if case.gap == 0]) is None


def test_a_part_of_an_enumeration_is_cut_off_by_its_limit():
    space, known = SPACES["eva-packing"]["nine-workloads"](), entries("eva-packing")
    part = Part(size=5, first=0, last=1287)
    task = Search(space, known["full-reconfiguration"], known["exact"], Options(time_limit=1e-3), part)  # type: ignore[arg-type]

    class Report:
        def begin(self, about: object) -> None: ...

    found = task.work(Report())  # type: ignore[arg-type]
    assert not found.complete
    assert found.calls < 1287


def test_an_instance_that_a_heuristic_cannot_take_is_none_on_which_it_breaks():
    done = call("worst", "first-fit-decreasing", "--size", 1, "--quiet")
    assert done.returncode == 2
    assert done.stderr.endswith("is solved: it packs on one instance type without limits\n")


@pytest.mark.parametrize(
    ("about", "broken"),
    [
        (((0,), [], 9.0), "did not answer within 9 CPU s"),
        (((0,), [], 0.1), None),
        ((None, [], 9.0), None),
    ],
    ids=["it hangs", "it had no time", "the exact method hangs"],
)
def test_a_heuristic_is_blamed_for_its_own_silence_alone(about: tuple[object, ...], broken: str | None):
    space, known = SPACES["eva-packing"]["nine-workloads"](), entries("eva-packing")
    task = Search(space, known["full-reconfiguration"], known["exact"], Options(time_limit=10), Part(size=1))  # type: ignore[arg-type]
    found = task.conclude_early(Reported(about=about), "killed", "overran the time limit of 10 s")
    assert not found.complete
    assert [case.broken for case in found.cases] == ([broken] if broken else [])
