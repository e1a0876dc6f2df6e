"""Test that scalability runs stop at the size at which none succeeds, and repeat no finished run."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from experiments.aryl import studies as of_aryl
from experiments.harness.evidence import read
from experiments.harness.experiment import StagedStudy, Study, following
from experiments.harness.run import Run
from experiments.harness.runner import run_all
from experiments.harness.user_functions import resolve
from experiments.papers import PAPERS, STUDIES
from experiments.peers.__main__ import together
from experiments.peers.comparison import LIMIT_S, Peer
from experiments.peers.curves import curves
from experiments.peers.growth import EACH, GOALS, Ladder, build_study
from instances import InputError, Instance, Options, Result
from instances.aryl import ArylElastic, elastic_jobs
from tests.commands import call, python

LIMIT = Options(time_limit=1.0)
SIZES = (3, 5, 8, 12)
Outcome = Callable[[int, int, str, str], bool]
"""Whether a run of a size, a seed, a method and a gap gets there."""


def jobs(size: int, seed: int) -> Instance[ArylElastic]:
    return elastic_jobs(size, seed)


def knapsack(sizes: Sequence[float] = SIZES, seeds: int = 2) -> Ladder:
    return Ladder(
        "jobs that scale", "jobs", sizes, jobs, of_aryl.EXACT, Peer("items", of_aryl.ITEMS[0].target), seeds=seeds
    )


def told(run: Run) -> tuple[int, int, str, str]:
    """Size, seed, method and gap of a run."""
    goal = next(name for name, gap in GOALS.items() if gap == run.options.gap)
    *_, size, seed = run.instance.name.split("-")
    return int(size), int(seed), run.entry.name, goal


def played(study: Study, there: Outcome) -> tuple[list[Run], list[Result]]:
    """Return the runs of all stages with fictitious outcomes; successful runs take a hundredth of a second per job."""
    runs: list[Run] = []
    outcomes: list[Result] = []
    while stage := following(study, outcomes):
        assert all(isinstance(run, Run) for run in stage)
        runs += stage  # type: ignore[arg-type]
        for run in stage:
            size, seed, method, goal = told(run)
            proven = there(size, seed, method, goal)
            outcomes.append(
                Result(
                    instance=run.instance.name,
                    problem=run.instance.problem,
                    method=method,
                    status="optimal" if proven else "feasible",
                    termination="finished" if proven else "time_limit",
                    objective=10.0,
                    bound=10.0 if proven else 20.0,
                    gap=0.0 if proven else 1.0,
                    sense="maximize",
                    unit="s",
                    solve_s=size / 100 if proven else 1.0,
                )
            )
    return runs, outcomes


def breaking(size: int, seed: int, method: str, goal: str) -> bool:
    """Return whether a run succeeds: `items` only to 1% at size 3, the other up to 5 and on one seed of 8."""
    if method == "items":
        return (size, goal) == (3, "1%")
    return goal == "1%" or size <= 5 or (size, seed) == (8, 0)


def test_a_gap_is_tried_up_to_the_first_size_at_which_no_seed_gets_there():
    runs, _ = played(build_study([knapsack()], LIMIT), breaking)
    tried = [told(run) for run in runs]
    assert len(set(tried)) == len(tried)

    def of(method: str, goal: str) -> list[tuple[int, int]]:
        return [(size, seed) for size, seed, who, to in tried if (who, to) == (method, goal)]

    both = [(size, seed) for size in SIZES for seed in range(2)]
    assert of("exact", "1%") == both
    assert of("exact", "proof") == both  # one of two proves 8, none 12
    assert of("items", "1%") == both[:4]
    assert of("items", "proof") == both[:2]


def test_who_proves_has_been_within_every_gap():
    """Also where its run to a wide gap gave up."""

    def there(size: int, seed: int, method: str, goal: str) -> bool:
        return size == 3 or (seed == 1 if goal == "1%" else size == 5)

    study = build_study([knapsack()], LIMIT)
    runs, outcomes = played(study, there)
    assert {told(run)[0] for run in runs} == {3, 5, 8, 12}
    rows = [dict(zip(EACH, row, strict=True)) for row in study.tables(outcomes)[1].rows if row[2] == "exact"]
    said = {(row["size"], row["to"]): (row["get there"], row["largest gap"]) for row in rows}
    assert said["5 jobs", "1%"] == ("2 of 2", "100.00%")
    assert said["8 jobs", "1%"] == ("1 of 2", "100.00%")
    (half,) = (row for row in rows if (row["size"], row["to"]) == ("8 jobs", "1%"))
    assert (half["least"], half["greatest"]) == ("0.080", "1.000")  # its own, and the limit
    assert ("8 jobs", "proof") in said
    assert ("12 jobs", "proof") not in said


def test_tables_and_values_say_where_it_breaks():
    study = build_study([knapsack()], LIMIT)
    ends, each = study.tables(played(study, breaking)[1])
    assert [row[1:] for row in ends.rows] == [
        ["exact", "1%", "12 jobs", "0.120", "-"],
        ["exact", "proof", "5 jobs", "0.050", "12 jobs"],
        ["items", "1%", "3 jobs", "0.030", "5 jobs"],
        ["items", "proof", "-", "-", "3 jobs"],
    ]
    assert len(each.rows) == 4 + 4 + 2 + 1
    assert study.values is not None
    values = study.values(played(study, breaking)[1])
    assert values["jobs that scale: exact, to proof: none gets there at"] == "12 jobs"
    assert values["jobs that scale: exact, to proof: 8 jobs: get there"] == "1 of 2"
    assert values["jobs that scale: peer, to 1%: 3 jobs: CPU s"].mean == pytest.approx(0.03)


def test_where_no_seed_gets_to_a_wide_gap_a_narrow_one_ends_too():
    study = build_study([knapsack()], LIMIT)
    runs, outcomes = played(study, lambda size, seed, method, goal: size == 3)
    assert {told(run) for run in runs if told(run)[0] == 5} == {
        (5, s, m, "1%") for s in (0, 1) for m in ("exact", "items")
    }
    ends, each = study.tables(outcomes)
    assert [row[-1] for row in ends.rows] == ["5 jobs"] * 4
    (untried,) = (row for row in each.rows if row[1:4] == ["5 jobs", "exact", "proof"])
    assert untried[4:] == ["0 of 2", "1.000", "1.000", "1.000", "-", "-"]


def test_what_is_proven_after_the_limit_is_not_reached():
    study = build_study([knapsack(SIZES[:1])], LIMIT)
    _, outcomes = played(study, lambda size, seed, method, goal: True)
    late = [one.model_copy(update={"solve_s": 1.5}) if one.method == "items" else one for one in outcomes[:4]]
    assert {told(run)[2] for run in following(study, late)} == {"exact"}  # type: ignore[arg-type]


def test_what_a_peer_has_no_model_of_it_does_not_reach():
    ladder = replace(knapsack(), unfit=lambda data: "too many" if len(data.jobs) > 3 else None)
    study = build_study([ladder], LIMIT)
    runs, outcomes = played(study, lambda size, seed, method, goal: True)
    assert {told(run)[0] for run in runs if told(run)[2] == "exact"} == set(SIZES)
    assert {told(run)[0] for run in runs if told(run)[2] == "items"} == {3}
    assert [row[-1] for row in study.tables(outcomes)[0].rows] == ["-", "-", "5 jobs", "5 jobs"]


def test_a_value_beyond_a_bound_ends_the_study():
    study = build_study([knapsack()], LIMIT)
    _, outcomes = played(study, breaking)
    outcomes[0] = outcomes[0].model_copy(update={"objective": 30.0, "bound": 30.0})
    with pytest.raises(InputError, match=r"a bound is false: .*is better than the bound"):
        study.tables(outcomes)


def test_studies_of_different_heights_are_climbed_side_by_side():
    low, high = build_study([knapsack(SIZES[:1])], LIMIT), build_study([knapsack()], LIMIT)
    plain = Study(low.tasks[:1], lambda outcomes: high.tables([])[:0] if not outcomes else low.tables([]))
    both = together([low, high])
    runs, outcomes = played(both, breaking)
    assert len(runs) == len(played(low, breaking)[0]) + len(played(high, breaking)[0])
    tables = zip(both.tables(outcomes), *(one.tables(played(one, breaking)[1]) for one in (low, high)), strict=True)
    for joined, first, second in tables:
        assert joined.rows == [*first.rows, *second.rows]
    assert [told(run) for run in played(plain, breaking)[0]] == [told(run) for run in low.tasks[:1]]


def test_where_it_breaks_is_marked_in_the_picture():
    study = build_study([knapsack()], LIMIT)
    figure = curves([study.tables(played(study, breaking)[1])[1]])
    panel = figure.axes[0]
    assert panel.get_xlabel() == "jobs"
    lines = {
        (line.get_color(), line.get_linestyle()): list(line.get_xdata())
        for line in panel.lines
        if line.get_marker() != "x"
    }
    assert sorted(map(len, lines.values())) == [1, 2, 4, 4]
    crosses = [float(line.get_xdata()[0]) for line in panel.lines if line.get_marker() == "x"]
    assert crosses == [12.0, 5.0, 3.0] or sorted(crosses) == [3.0, 5.0, 12.0]
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")


@pytest.fixture
def two_sizes(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make `aryl-growth` a study of so many small sizes."""

    def climb(number: int) -> None:
        monkeypatch.setattr(of_aryl, "LADDERS", (knapsack(SIZES[:number], seeds=1),))

    return climb


def test_what_is_kept_is_not_repeated_and_a_ladder_goes_on(two_sizes: Callable[[int], None], tmp_path: Path):
    study = ("study", "aryl-growth", "--time-limit", 1, "--out", tmp_path, "--quiet")
    two_sizes(1)
    done = call(*study, "--format", "json")
    assert done.returncode == 0, done.stderr
    first = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["method"], one["options"]["gap"], one["status"]) for one in first] == [
        (method, gap, "optimal")
        for gap in GOALS.values()
        for method in ("exact", of_aryl.ITEMS[0].name.partition(", ")[2])
    ]
    two_sizes(2)
    more = [json.loads(line) for line in call(*study, "--resume", "--format", "json").stdout.splitlines()]
    assert more[: len(first)] == first  # CPU seconds, too
    assert len(more) == 2 * len(first)
    table = call(*study, "--resume").stdout.splitlines()
    assert table[0].startswith("| work | method | to |")
    assert sum(line.startswith("| jobs that scale | ") for line in table) == 4 + 8


def test_a_record_has_all_stages(two_sizes: Callable[[int], None], tmp_path: Path):
    two_sizes(2)
    made = ("reproduce", "aryl", "--only", "growth", "--renew", "--quiet")
    done = call(*made, "--records", tmp_path / "records", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    found = read("aryl/growth", tmp_path / "records")
    assert found is not None
    assert found.command == "gapwise study aryl-growth"
    assert [row[1] for row in found.tables[1].rows] == ["3 jobs", "3 jobs", "5 jobs", "5 jobs"] * 2
    assert found.value("jobs that scale: exact, to proof: 5 jobs: get there").text == "1 of 1"


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_has_ladders_whose_runs_have_their_limit(paper: str):
    study = resolve(STUDIES[f"{paper}-growth"])(options=Options())
    assert isinstance(study, StagedStudy)
    assert {run.time_limit for run in study.tasks} == {LIMIT_S}
    assert {run.options.gap for run in study.tasks} == {GOALS["1%"]}
    assert {run.entry.name for run in study.tasks} > {"exact"}


def test_growth_of_a_paper_that_there_is_not_is_refused():
    done = python("-m", "experiments.peers", "--growth", "evA")
    assert (done.returncode, done.stdout) == (2, "")


def test_the_least_instances_of_a_ladder_are_proven_by_both():
    study = build_study([knapsack(SIZES[:1])], LIMIT)
    assert {outcome.status for _, outcome in run_all(study.tasks)} == {"optimal"}
