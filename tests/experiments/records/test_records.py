"""Test that library instances stay the same, records are checked and scorecards are right."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import pytest

from experiments import library
from experiments.harness import records
from experiments.harness.gaps import Scored
from experiments.harness.instance_set import InstanceSet
from experiments.harness.records import (
    Record,
    RecordCheck,
    add_records,
    checksum,
    compare_with_records,
    differing,
    read_records,
    update_records,
    write_records,
)
from experiments.harness.run import Run, apply
from experiments.output.summary import scorecards
from experiments.papers import METHODS, reference_sets
from experiments.plan import plan
from instances import InputError, Options, Result, load, save
from instances.aryl import table_2
from instances.boa import newtrace
from instances.eva import table_3, table_7
from instances.gaps import TOLERANCE
from instances.result import versions
from instances.sia import five_jobs
from tests.commands import call
from tests.sampling import few

V = versions()["gapwise"]

SETS = [InstanceSet("few", [table_3(), table_7(6, seed=1)])]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], Record]:
    found: dict[tuple[str, str], Record] = {}
    monkeypatch.setattr(records, "read_records", lambda: dict(found))
    return found


def solved(name: str, place: int = 0) -> Result:
    run = plan(SETS[0].instances, [name], Options())[place]
    return apply(run.entry, run.instance, run.options)


@pytest.fixture(scope="module")
def named_sets() -> list[InstanceSet]:
    """Return all sets of the library, which take five seconds to draw."""
    return list(library.list_sets())


@pytest.fixture
def drawn_once(monkeypatch: pytest.MonkeyPatch, named_sets: list[InstanceSet]) -> None:
    """Give the commands the sets that are drawn already."""
    monkeypatch.setattr(library, "list_sets", lambda: named_sets)


def test_the_instances_of_the_library_are_what_they_were(named_sets: list[InstanceSet]):
    assert list(differing(named_sets)) == []


def test_the_quick_reference_study_touches_every_set():
    """The full sets are drawn here for the library, too."""
    quick, full = reference_sets(quick=True), reference_sets()
    assert [s.name for s in quick] == [s.name for s in full]
    assert all(s.instances for s in quick)
    assert sum(len(s.instances) for s in quick) < sum(len(s.instances) for s in full)


SOLVED = ("newTrace*", "table 3, a round", "rounds of 6*", "rounds of 20*")
"""Sets whose every instance is solved again: their records were wrong once."""
SAMPLED = int(os.environ.get("GAPWISE_RECORDS", "1"))
"""Instances of each other set of small ones; `gapwise library check --solve` solves them all."""
LARGE = ("10x30x16, *", "2,000 jobs, *", "300 distinct pods", "300 servers, spread", "3x20x32, *", "5x60x64, *")
LARGE += ("600 servers, *", "worst cases, *")
"""Sets of large instances, and those that `gapwise worst` proves."""
SLOW = ("aryl-spread-300-*", "base-3d-1min-seed-?", "base-3d-1min-seed-1[0-7]", "price-list-karpenter-60-*")
"""Small instances that take seconds and more; smaller ones of their kind and other seeds are solved."""


def chosen() -> Iterator[tuple[str, str]]:
    """Yield problem and name of each instance to solve. The table of records is read; no instance is drawn."""
    for name, one_set in groupby(read_records().values(), key=lambda record: record.instance_set):
        if any(fnmatchcase(name, pattern) for pattern in SOLVED):
            yield from ((record.problem, record.instance) for record in one_set)
        elif not any(fnmatchcase(name, pattern) for pattern in LARGE):
            quick = (r for r in one_set if r.proven and not any(fnmatchcase(r.instance, slow) for slow in SLOW))
            yield from ((record.problem, record.instance) for record in islice(quick, SAMPLED))


def test_nearly_all_named_instances_are_proven_and_the_others_have_a_solution_and_a_bound():
    known = read_records().values()
    left = [record for record in known if not record.proven]
    assert len(left) < 0.1 * len(known) > 50
    assert left
    assert all(record.objective is not None and record.bound is not None for record in left)


@pytest.mark.parametrize(("problem", "name"), few(chosen(), 12))
def test_what_is_recorded_is_proven_and_the_exact_method_proves_it_again(
    problem: str, name: str, named_sets: list[InstanceSet]
):
    (instance,) = (i for s in named_sets for i in s.instances if (i.problem, i.name) == (problem, name))
    record = read_records()[problem, name]
    (run,) = plan([instance], ["exact"], Options(time_limit=60.0))
    result = apply(run.entry, run.instance, run.options)
    assert record.of(instance)
    assert record.proven
    assert result.status == "optimal"
    assert result.objective == pytest.approx(record.objective, rel=2 * TOLERANCE)
    assert compare_with_records([(run, result)]) == RecordCheck((), ())


def test_a_checksum_is_that_of_the_instance_read_again_from_its_file(tmp_path: Path):
    for instance in (table_3(), newtrace(2.0), five_jobs(), table_2()):
        save(instance, tmp_path / "file.json")
        assert checksum(load(tmp_path / "file.json")) == checksum(instance)


def record_of(known: dict[tuple[str, str], Record], **fields: Any) -> Record:
    instance = table_3()
    record = replace(Record("eva-packing", "table 3", instance.name, checksum(instance)), **fields)
    known["eva-packing", instance.name] = record
    return record


STUDY = ("gap_study", "--problem", "eva-packing", "--set", "table 3", "--method", "no-packing")
FALSE = {
    "a bound that a solution beats": ({"objective": 20.0, "bound": 20.0}, "is better than the recorded bound 20.0"),
    "an optimum that cannot be had": ({"objective": 5.0, "bound": 5.0}, "the recorded objective 5.0 is better than"),
    "an objective that cannot be had": ({"objective": 5.0}, "the recorded objective 5.0 is better than the bound 12.8"),
}


@pytest.mark.parametrize(("fields", "line"), FALSE.values(), ids=FALSE)
@pytest.mark.parametrize("files", few([True, False], 1), ids=["a library file", "the default study"])
def test_a_study_fails_on_a_record_that_it_refutes(
    known: dict, fields: dict[str, float], line: str, files: bool, tmp_path: Path, table_3_file: Path
):
    record_of(known, **fields)
    said = (STUDY[0], table_3_file, *STUDY[-2:]) if files else STUDY
    done = call(*said, "--out", tmp_path / "out", "--quiet")
    assert done.returncode == 1
    (error,) = done.stderr.splitlines()
    assert error.startswith("error: eva-table-3: ")
    assert line in error


def test_a_library_file_with_a_false_record_is_told_of_once(known: dict, tmp_path: Path):
    record_of(known, objective=5.0, bound=5.0)
    (reference,) = add_records([InstanceSet("few", [table_3()])])
    save(reference.instances[0], tmp_path / "file.json")
    done = call("gap_study", tmp_path / "file.json", *STUDY[-2:], "--out", tmp_path / "out", "--quiet")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


def test_a_study_says_what_is_better_than_the_record(known: dict, tmp_path: Path):
    record_of(known, objective=16.2)
    done = call(*STUDY, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    better = [line for line in done.stderr.splitlines() if line.startswith("better than the record: ")]
    ours = "eva-table-3: objective 12.8, bound 12.8; recorded 16.2, None"
    assert better == [f"better than the record: {ours}: gapwise library record {tmp_path / 'out'}"]
    record_of(known, objective=12.8, bound=12.8)
    assert "the record" not in call(*STUDY, "--out", tmp_path / "out").stderr


@pytest.mark.usefixtures("drawn_once")
def test_a_record_of_another_reading_is_compared_with_nothing(known: dict, tmp_path: Path):
    instance = table_7(8, 0)
    key = instance.problem, instance.name
    known[key] = Record(key[0], "8 tasks, literal too", key[1], "0" * 16, objective=5.0, bound=5.0)
    line = f"not compared: {instance.name}: of other data, or of another reading, than the record"
    done = call(*STUDY[:4], "8 tasks*", *STUDY[5:], "--out", tmp_path / "out")
    assert (done.returncode, done.stderr.count(line)) == (0, 1)
    said = "--problem", "eva-packing", "--set", "8 tasks*", "--quick"
    done = call("score", "tests.user_heuristics:one_each", *said)
    assert (done.returncode, done.stderr.count(line)) == (0, 1)
    assert "%" not in done.stdout  # there is no optimum to take a gap to
    assert call("library", "write", "--out", tmp_path / "files").returncode == 2
    (run,) = plan([instance], ["no-packing"], Options())
    records, news = update_records([apply(run.entry, instance, run.options)], [InstanceSet("few", [instance])], METHODS)
    assert (records[0].of(instance), records[0].bound, len(news)) == (True, None, 1)


def test_the_list_counts_no_record_of_another_reading(known: dict, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(library, "list_sets", lambda: [InstanceSet("few", [table_3()])])
    monkeypatch.setattr(library, "read_records", lambda: known)
    record_of(known, objective=12.8, bound=12.8)
    assert call("library", "list").stdout == "eva-packing: few: 1 instances, 1 with a proven optimum\n"
    record_of(known, objective=12.8, bound=12.8, checksum="0" * 16)
    assert call("library", "list").stdout == "eva-packing: few: 1 instances, 0 with a proven optimum\n"


@pytest.mark.usefixtures("drawn_once")
def test_single_sets_and_instances_are_written(tmp_path: Path):
    assert call("library", "write", "--only", "table 3", "--only", "*-8-seed-1", "--out", tmp_path).returncode == 0
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.json.gz")}
    assert written == {
        "eva-packing/table-3/eva-table-3.json.gz",
        "eva-packing/8-tasks-literal-too/eva-table-7-nine-cost-8-seed-1.json.gz",
    }
    refused = call("library", "write", "--only", "tabel 3", "--out", tmp_path / "none")
    assert (refused.returncode, (tmp_path / "none").exists()) == (2, False)
    assert "--only: no instance and no set of the library is 'tabel 3', did you mean 'table 3'?" in refused.stderr
    assert call("library", "list", "--only", "table 3").returncode == 2


def test_no_two_sets_of_the_library_are_written_to_one_folder(named_sets: list[InstanceSet]):
    folders = [(s.instances[0].problem, library.folder_of(s)) for s in named_sets]
    assert len(set(folders)) == len(folders)


def test_a_scorecard_takes_no_gap_from_a_record_that_it_refutes(known: dict):
    record_of(known, objective=60.0, bound=60.0)
    done = call("score", "tests.user_heuristics:one_each", "--problem", "eva-packing", "--set", "table 3", "--quiet")
    assert done.returncode == 1
    assert done.stderr.startswith("error: eva-table-3: objective ")
    assert "is better than the bound 60.0 of the reference" in done.stderr
    assert "%" not in done.stdout


def test_the_library_is_solved_again_where_it_is_asked(known: dict, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(library, "list_sets", lambda: [InstanceSet("few", [table_3()])])
    monkeypatch.setattr(library, "read_records", lambda: known)
    record_of(known, objective=12.8, bound=12.8)
    done = call("library", "check", "--solve")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "1 of 1 optima are proven again")
    for fields, line in FALSE.values():
        record_of(known, **fields)
        done = call("library", "check", "--solve")
        assert done.returncode == 1
        assert line in done.stdout
    assert call("library", "list", "--solve").returncode == 2


def test_a_better_solution_and_a_better_bound_become_records(known: dict, tmp_path: Path):
    after, news = update_records([solved("no-packing")], SETS, METHODS)
    assert [(r.objective, r.bound) for r in after] == [(16.2, None), (None, None)]
    assert len(news) == 1
    known |= {(r.problem, r.instance): r for r in after}
    after, news = update_records([solved("exact"), solved("no-packing")], SETS, METHODS)
    assert (after[0].objective, after[0].bound, after[0].proven, len(news)) == (12.8, 12.8, True, 1)
    write_records(after, tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text().splitlines()[1].startswith(f"eva-packing,few,{table_3().name},")


def test_a_second_proof_of_a_bound_is_named_beside_the_first(known: dict):
    after, _ = update_records([solved("exact"), solved("literal"), solved("literal")], SETS, METHODS)
    assert (after[0].bound, after[0].proved_by.replace(" ", "")) == (12.8, f"exact{V}andliteral{V}")
    known |= {(r.problem, r.instance): r for r in after}
    assert update_records([solved("exact"), solved("literal")], SETS, METHODS)[1] == []
    reference = add_records(SETS)[0].instances[0].reference
    assert reference is not None
    assert reference.proved_by == f"exact {V} and literal {V}"


def test_what_a_user_claims_is_checked(known: dict):
    exact = solved("exact")
    claimed = exact.model_copy(update={"objective": 1.0, "method": "mine:f", "bound": 12.9})
    after, _ = update_records([claimed], SETS, METHODS)
    assert (after[0].objective, after[0].bound) == (12.8, None)  # the checker's objective, and nobody's bound
    broken = exact.model_copy(update={"solution": {"instances": []}})
    assert update_records([broken], SETS, METHODS)[0][0].objective is None
    with pytest.raises(InputError, match="refutes the bound 20"):
        update_records([exact, exact.model_copy(update={"bound": 20.0})], SETS, METHODS)
    with pytest.raises(InputError, match="no instance of the library is called so"):
        update_records([exact.model_copy(update={"instance": "else"})], SETS, METHODS)


def test_an_instance_that_has_changed_is_named(known: dict):
    known["eva-packing", "eva-table-3"] = Record("eva-packing", "few", "eva-table-3", "0" * 16)
    known["eva-packing", "gone"] = Record("eva-packing", "few", "gone", "0" * 16)
    lines = list(differing(SETS))
    assert lines[0] == f"eva-packing eva-table-3: checksum {checksum(table_3())}, recorded {'0' * 16}"
    assert lines[1].endswith("no record")
    assert lines[2] == "eva-packing gone: a record without an instance"


def test_a_heuristic_is_scored_beside_the_papers(tmp_path: Path):
    said = "tests.user_heuristics:one_each", "--problem", "eva-packing", "--set", "table 3", "--out", tmp_path
    done = call("score", *said, "--quiet", "--format", "json")
    assert done.returncode == 0, done.stderr
    rows = {row["method"]: row for row in map(json.loads, done.stdout.splitlines())}
    own, best = rows["tests.user_heuristics:one_each"], rows["full-reconfiguration"]
    assert (own["mean"], own["wins"], own["worst_on"]) == (pytest.approx(48 / 12.8 - 1), 0, "eva-table-3")
    assert (best["mean"], best["wins"]) == (0.0, 1)
    assert "exact" not in rows
    assert (tmp_path / "report.html").exists()
    table = call("score", *said, "--quiet", "--resume").stdout
    assert table.startswith("over all 1 instances\n")
    assert re.search(r"tests\.user_heuristics:one_each \*\s+275\.00%\s+275\.00%", table)


def scored_at(gaps: dict[str, list[float | str | None]]) -> list[Scored]:
    """Build runs with given gaps: a number is to an optimum, text is to a bound, and none has no solution."""
    found = []
    for method, values in gaps.items():
        for place, value in enumerate(values):
            if value == "":  # it does not run on this one
                continue
            instance = table_3().model_copy(update={"name": str(place)})
            base: dict[str, Any] = {"instance": str(place), "problem": "eva-packing", "sense": "minimize", "unit": "$"}
            status: Any = "no_solution" if value is None else "feasible"
            cost = None if value is None else 100 * (1 + float(value))
            result = Result(method=method, status=status, termination="finished", objective=cost, **base)
            kind = "gap_to_bound" if isinstance(value, str) else "gap_to_optimum"
            entry = plan([instance], ["no-packing"], Options())[0].entry
            run = Run(instance, entry, Options(), "set")
            found.append(replace(Scored(run, result), **{} if value is None else {kind: float(value)}))
    return found


def test_means_of_one_card_are_over_the_same_instances():
    """`mine` fails on the hardest, `part` runs on two alone: neither is ranked by an easier choice of instances."""
    cards = scorecards(
        scored_at({"all": [0.1, 0.1, 0.1, 0.9], "part": [0.2, 0.4, "", ""], "mine": [0.2, 0.2, 0.2, None]}), "mine"
    )
    assert [card.heading for card in cards] == ["over 3 of 4 instances", "over 2 of 4 instances"]
    assert [(s.method, s.mean, s.worst) for s in cards[0].scores] == [
        ("all", pytest.approx(0.1), 0.1),
        ("mine", pytest.approx(0.2), 0.2),
    ]
    assert [(s.method, s.mean) for s in cards[1].scores] == [("mine", 0.2), ("part", pytest.approx(0.3))]
    assert cards[0].scores[1].unsolved == ("3",)
    assert [s.wins for s in cards[0].scores] == [3, 0]


def test_a_gap_to_a_bound_is_in_no_mean_of_gaps_to_optima():
    (card,) = scorecards(scored_at({"all": [0.1, "0.5"], "mine": [0.2, "0.7"]}), "mine")
    assert card.heading == "over all 2 instances"
    assert [(s.mean, s.worst, s.to_bound) for s in card.scores] == [(0.1, 0.1, 0.5), (0.2, 0.2, 0.7)]


def test_a_heuristic_without_any_solution_has_no_mean():
    (card,) = scorecards(scored_at({"all": [0.1, 0.3], "mine": [None, None]}), "mine")
    assert [(s.method, s.mean, len(s.unsolved)) for s in card.scores] == [
        ("all", pytest.approx(0.2), 0),
        ("mine", None, 2),
    ]


@pytest.fixture
def claimed(known: dict, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """Build a result of `exact` as in its file, with its certificate; the library knows nothing better."""
    monkeypatch.setattr(library, "list_sets", lambda: SETS)
    monkeypatch.setattr(library, "read_records", lambda: known)
    record_of(known, objective=16.2, bound=5.0)
    save(table_3(), tmp_path / "table.json")
    certificate = "--certificate", tmp_path / "proofs"
    assert call("solve", tmp_path / "table.json", "--method", "exact", "--quiet", *certificate).returncode == 0
    (proof,) = (tmp_path / "proofs").glob("*.certificate.json")
    (result,) = (path for path in (tmp_path / "proofs").glob("*.json") if path != proof)
    proof.rename(tmp_path / "proof")
    found: dict[str, Any] = json.loads(result.read_text())
    return found


def accept(content: Any, folder: Path, *certificate: str) -> tuple[int, str, list[float]]:
    """Status, what is said, and objective and bound of what is kept, if anything is."""
    (folder / "mine.json").write_text(json.dumps(content))
    table = folder / "table.csv"
    table.unlink(missing_ok=True)
    proof = [folder / name for name in certificate]
    done = call("library", "accept", folder / "mine.json", *proof, "--out", table)
    rows = list(csv.DictReader(table.open())) if table.exists() else []
    kept = [float(rows[0][name]) for name in ("objective", "bound")] if rows else []
    return done.returncode, done.stdout + done.stderr, kept


def test_anybodys_result_is_accepted_with_its_certificate(claimed: dict[str, Any], tmp_path: Path):
    status, said, kept = accept(claimed | {"method": "somebody"}, tmp_path, "proof")
    assert (status, kept) == (0, [12.8, 12.8]), said
    assert f"somebody, certified {V}" in (tmp_path / "table.csv").read_text()


def test_no_bound_is_believed_without_a_certificate(claimed: dict[str, Any], tmp_path: Path):
    assert accept(claimed, tmp_path)[::2] == (0, [12.8, 5.0])  # though it says that `exact` proved it
    status, said, kept = accept(claimed | {"solution": {"instances": []}}, tmp_path)
    assert (status, kept) == (1, [])
    assert "mine.json: solution: " in said
    status, said, kept = accept(claimed | {"solution": {"nothing": 1}}, tmp_path)
    assert (status, kept, said.count("\n")) == (1, [], 1)


def test_a_worse_solution_is_no_better_whatever_sense_it_names(claimed: dict[str, Any], known: dict, tmp_path: Path):
    worse = json.loads(solved("no-packing").model_dump_json())
    record_of(known, objective=12.8, bound=5.0)
    for sense in ("minimize", "maximize"):
        status, said, kept = accept(worse | {"sense": sense}, tmp_path)
        assert (status, kept) == (0, [])
        assert said == "eva-table-3: no better than objective 12.8, bound 5.0\n"


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"bound": 12.9, "gap": 0.0}, "mine.json: "),
        ({"objective": 12.7}, "mine.json: objective: 12.7 is claimed"),
        ({"sense": "maximize"}, "mine.json: the objective is to minimize"),
    ],
)
def test_a_false_claim_is_refused_and_nothing_kept(
    claimed: dict[str, Any], tmp_path: Path, changed: dict[str, Any], line: str
):
    status, said, kept = accept(claimed | changed, tmp_path, "proof")
    assert (status, kept) == (1, []), said
    assert line in said


@pytest.mark.parametrize("method", ["", "literal 0.1.0 and exact", "a\nb", "a,b", "=a()", "\x1b[1m", "m" * 101, "ü"])
def test_a_method_by_another_name_than_a_word_is_refused(claimed: dict[str, Any], tmp_path: Path, method: str):
    """The table of records says who found and who proved what, in words of its own between the names."""
    status, said, kept = accept(claimed | {"method": method}, tmp_path, "proof")
    assert (status, kept, said.count("\n")) == (2, [], 1), said
    assert "mine.json: method: must be a word" in said


def test_nor_is_it_without_a_proof(claimed: dict[str, Any], tmp_path: Path):
    assert accept(claimed | {"method": "a,b"}, tmp_path)[::2] == (2, [])


def test_a_certificate_that_proves_less_or_another_instance_is_refused(claimed: dict[str, Any], tmp_path: Path):
    weaker = json.loads((tmp_path / "proof").read_text())
    (tmp_path / "else").write_text(json.dumps(weaker | {"instance": "0" * len(str(weaker.get("instance", "")))}))
    assert accept(claimed, tmp_path, "else")[0] in (1, 2)
    assert accept(claimed | {"instance": "of nowhere"}, tmp_path, "proof")[0] == 2
    assert accept(claimed | {"solution": None}, tmp_path, "proof")[0] in (1, 2)
    assert accept(claimed, tmp_path, "proof", "proof")[0] == 2
    status, said, _ = accept(claimed, tmp_path, "none")
    assert (status, said.count("none: ")) == (2, 1)
    missing = call("library", "accept", tmp_path / "nowhere.json")
    assert (missing.returncode, missing.stderr.count("nowhere.json: ")) == (2, 1)
