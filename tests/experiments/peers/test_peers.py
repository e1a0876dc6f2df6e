"""Test that peer models find the optimum, and that a false bound or value stops the study."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from experiments.harness.run import Run
from experiments.harness.runner import run_all
from experiments.harness.user_functions import resolve
from experiments.papers import PAPERS, STUDIES
from experiments.peers import cp_sat
from experiments.peers.__main__ import together
from experiments.peers.comparison import LIMIT_S, Peer, PeerRow, comparison
from experiments.peers.cp_sat.aryl import reclaimed
from experiments.peers.cp_sat.kubernetes import pods
from experiments.peers.cp_sat.sia import start_times
from experiments.peers.highs.aryl import items, union
from experiments.peers.highs.boa import network
from experiments.peers.highs.eva import columns, contents, maximal_patterns, patterns
from instances import InputError, Instance, Options, Result
from instances.aryl import elastic_jobs, figure_5, loaned_servers, spread_jobs, table_2, table_4
from instances.boa import figure_1, random_allocation
from instances.eva import packing_arrays, pod_requests, price_list, table_3, table_7
from instances.kubernetes import build_two_halves, random_cluster
from instances.method import Solve
from instances.sia import five_jobs, synthetic
from models import aryl, boa, eva, kubernetes, sia
from tests.commands import python

LIMIT = Options(time_limit=20.0)
RECLAIMS = [
    figure_5(),
    spread_jobs(12, 12, 3, 4),
    loaned_servers(24, 0.7, 31, 4),
    loaned_servers(30, 0.7, 1, 8, elastic_share=0.5),
]
HIGHS = [
    *((items, aryl.exact, made) for made in (table_2("jct-reduction"), table_4("jct-reduction"), elastic_jobs(20, 3))),
    (items, aryl.exact, elastic_jobs(20, 1, scaling_loss=0.1)),
    *((union, aryl.exact, made) for made in RECLAIMS),
    (union, aryl.exact, loaned_servers(30, 0.7, 2, 8, elastic_share=0.5, objective="lost-gpu-hours")),
    *((network, boa.exact, random_allocation(2, 5, 8, rescale=0.5, seed=seed)) for seed in range(2)),
    (patterns, eva.exact, table_3()),
    (patterns, eva.exact, table_7(30, 4)),
    (columns, eva.exact, table_3()),
    (contents, eva.exact, table_3("net-saving")),
    (contents, eva.exact, table_7(30, 4, objective="net-saving")),
]
CP_SAT = [
    (start_times, sia.exact, five_jobs()),
    (start_times, sia.exact, synthetic("base", 20, days=0.25)),
    *((reclaimed, aryl.exact, made) for made in (RECLAIMS[1], RECLAIMS[3])),
    (pods, kubernetes.exact, build_two_halves()),
    (pods, kubernetes.exact, random_cluster(5, 3, load=0.97)),
]
ITEMS = Peer("items", "experiments.peers.highs.aryl:items")
SPREAD = PeerRow("spread", [spread_jobs(12, 12, 3, 4), spread_jobs(10, 10, 1, 3)], "models.aryl:exact", [
    Peer("union", "experiments.peers.highs.aryl:union")
])  # fmt: skip


def named(cases: Sequence[tuple[Solve, Solve, Instance]]) -> list[str]:
    return [f"{peer.method.name} {instance.name}" for peer, _, instance in cases]


@pytest.mark.parametrize(("peer", "exact", "instance"), HIGHS, ids=named(HIGHS))
def test_a_peer_in_highs_proves_the_optimum(peer: Solve, exact: Solve, instance: Instance):
    assert_proven(peer, exact, instance)


@pytest.mark.parametrize(("peer", "exact", "instance"), CP_SAT, ids=named(CP_SAT))
def test_a_peer_in_cp_sat_proves_the_optimum(peer: Solve, exact: Solve, instance: Instance):
    pytest.importorskip("ortools", reason="CP-SAT is in the optional group `peers`")
    assert_proven(peer, exact, instance)


def assert_proven(peer: Solve, exact: Solve, instance: Instance) -> None:
    found, best = peer(instance.data, LIMIT), exact(instance.data, LIMIT)
    assert (found.status, best.status) == ("optimal", "optimal"), (found.reason, best.reason)
    assert found.objective == pytest.approx(best.objective, rel=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_column_generation_bounds_the_optimum_and_does_not_fall_below_it(seed: int):
    """Also where it is stopped before all columns are priced, by the linear programs of the contents."""
    for made in (table_7(12, seed), price_list(6, seed, cloud="drawn"), pod_requests(4, seed)):
        best = eva.exact(made.data).objective
        for limit in (20.0, 0.15):
            found = columns(made.data, Options(time_limit=limit))
            assert found.bound is not None
            assert found.bound <= best * (1 + 1e-9)
            assert found.objective is None or found.objective >= best * (1 - 1e-9)
            if limit > 1:
                assert found.bound >= 0.7 * best


def test_a_peer_has_no_solution_where_contents_are_too_many_to_list(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("experiments.peers.highs.eva.MOST", 3)
    result = contents(table_7(30, 4, objective="net-saving").data)
    assert (result.status, result.bound) == ("no_solution", None)
    assert "holds more than 3 contents" in (result.reason or "")


def test_maximal_patterns_are_those_of_a_search_over_all_contents():
    arrays = packing_arrays(table_7(9, 2).data)
    found = maximal_patterns(arrays)
    assert len(found) > 3
    for pattern, kind in found.items():
        used = [sum(k * d for k, d in zip(pattern, column, strict=True)) for column in arrays.demand_of_type[kind].T]
        free = [q - u for q, u in zip(arrays.capacity[kind].tolist(), used, strict=True)]
        assert min(free) >= 0
        for c, k in enumerate(pattern):
            fits = all(d <= f for d, f in zip(arrays.demand_of_type[kind, c], free, strict=True))
            assert k == arrays.count[c] or not fits


@pytest.fixture(scope="module")
def outcomes() -> list[Result]:
    """Those of the study of one row."""
    return [outcome for _, outcome in run_all(comparison([SPREAD], LIMIT).tasks)]


def test_the_table_says_who_wins_and_its_values_have_names(outcomes: list[Result]):
    study = comparison([SPREAD], LIMIT)
    table, each = study.tables(outcomes)
    assert [row[:2] for row in each.rows] == [[one.name, "union"] for one in SPREAD.instances]
    assert [row[2:4] for row in each.rows] == [[f"{o.objective:g}"] * 2 for o in outcomes[:2]]
    assert len(table.rows) == 1
    assert len(table.rows[0]) == len(table.head)
    assert table.rows[0][:5] == ["spread", "2", "union", "2 of 2", "2 of 2"]
    faster = [replaced(one, solve_s=0.0 if one.method == "union" else 5.0) for one in outcomes]
    table, each = study.tables(faster)
    assert table.rows[0][-1] == "union 2"
    assert [row[-1] for row in each.rows] == ["peer", "peer"]
    slower = [replaced(one, solve_s=5.0 if one.method == "union" else 0.0) for one in outcomes]
    assert study.tables(slower)[0].rows[0][-1] == "exact 2"
    assert study.values is not None
    assert study.values(faster)["spread: union: wins of the peer"] == 2.0


def test_who_proves_nothing_wins_by_its_value_and_bound(outcomes: list[Result]):
    study = comparison([SPREAD], LIMIT)
    for value, bound, wins in ((1, 0, "exact 2"), (0, 0, "tie 2"), (1, 1, "tie 2"), (0, 1, "union 2")):
        open_ones = [
            replaced(
                one,
                status="feasible",
                objective=one.objective + value * (one.method == "union"),
                bound=one.objective - 2 + bound * (one.method == "union"),
                gap=0.5,
            )
            for one in outcomes
        ]
        assert study.tables(open_ones)[0].rows[0][-1] == wins


def test_a_value_that_is_better_than_a_bound_stops_the_study(outcomes: list[Result]):
    study = comparison([SPREAD], LIMIT)
    for method, change in (("exact", 1.0), ("union", 1.0)):
        false = [replaced(o, bound=o.bound + change) if o.method == method else o for o in outcomes]
        with pytest.raises(InputError, match=r"a bound is false: .*spread.* is better than the bound"):
            study.tables(false)


def test_the_studies_of_all_papers_are_one_table(outcomes: list[Result]):
    study = comparison([SPREAD], LIMIT)
    both = together([study, study])
    assert list(both.tasks) == [*study.tasks, *study.tasks]
    for table, alone in zip(both.tables([*outcomes, *outcomes]), study.tables(outcomes), strict=True):
        assert (list(table.head), table.rows) == (list(alone.head), [*alone.rows, *alone.rows])


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_has_peers_whose_runs_have_their_limit(paper: str):
    study = resolve(STUDIES[f"{paper}-peers"])(options=Options())
    assert {run.time_limit for run in study.tasks} == {LIMIT_S}
    assert {run.entry.name for run in study.tasks} > {"exact"}


def test_a_paper_that_there_is_not_is_refused():
    done = python("-m", "experiments.peers", "evA")
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"gapwise: paper: must be one of .*, got 'evA'.*\n", done.stderr)


def test_what_no_peer_can_do_is_refused():
    for peer, made in (
        (items, table_2()),
        (network, figure_1(2.0)),
        (patterns, table_3("net-saving")),
        (contents, table_3()),
    ):
        with pytest.raises(InputError, match="for this peer"):
            peer(made.data)


def test_without_or_tools_a_peer_says_what_it_needs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cp_sat.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs OR-tools: pip install 'gapwise\[peers\]'"):
        start_times(five_jobs().data)


def test_a_peer_has_the_workers_and_the_limit_of_its_row():
    row = replace(SPREAD, peers=[replace(ITEMS, workers=8), ITEMS])
    assert [run.options.threads for run in row.runs(Options(time_limit=3.0))] == [1, 1, 8, 8, 1, 1]
    assert all(isinstance(run, Run) and run.time_limit == 3.0 for run in row.runs(Options(time_limit=3.0)))


def replaced(result: Result, **fields: object) -> Result:
    return result.model_copy(update=fields)
