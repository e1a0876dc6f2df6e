"""The reference library: instances that stay as they are, records that are checked, and a heuristic's scorecard."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.harness import records
from experiments.harness.apply import apply
from experiments.harness.instance_set import InstanceSet
from experiments.harness.plan import plan
from experiments.harness.records import Record, checksum, differing, read_records, recorded, write_records
from experiments.papers import reference_sets
from instances import InputError, Options, Result
from instances.eva import table_3, table_7
from tests.commands import call

SETS = [InstanceSet("few", [table_3(), table_7(6, seed=1)])]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, str], Record]:
    found: dict[tuple[str, str], Record] = {}
    monkeypatch.setattr(records, "read_records", lambda: dict(found))
    return found


def solved(name: str, place: int = 0) -> Result:
    run = plan(SETS[0].instances, [name], Options())[place]
    return apply(run.entry, run.instance, run.options)


def test_the_instances_of_the_library_are_what_they_were():
    assert list(differing(reference_sets())) == []


def test_what_is_recorded_is_proven_and_the_exact_method_finds_it_again():
    found = read_records()
    assert sum(record.proven for record in found.values()) >= 143  # those of the first table; more may only be added
    for s in reference_sets(quick=True):
        smallest = min(s.instances, key=lambda instance: len(instance.model_dump_json()))
        if len(smallest.model_dump_json()) < 3000:
            record = found[smallest.problem, smallest.name]
            if not record.proven:
                continue
            (run,) = plan([smallest], ["exact"], Options())
            result = apply(run.entry, run.instance, run.options)
            assert result.objective == pytest.approx(record.objective, rel=1e-6)


def test_a_better_solution_and_a_better_bound_become_records(known: dict, tmp_path: Path):
    after, news = recorded([solved("no-packing")], SETS)
    assert [(r.objective, r.bound) for r in after] == [(16.2, None), (None, None)]
    assert len(news) == 1
    known |= {(r.problem, r.instance): r for r in after}
    after, news = recorded([solved("exact"), solved("no-packing")], SETS)
    assert (after[0].objective, after[0].bound, after[0].proven, len(news)) == (12.8, 12.8, True, 1)
    write_records(after, tmp_path / "table.csv")
    assert (tmp_path / "table.csv").read_text().splitlines()[1].startswith(f"eva-packing,few,{table_3().name},")


def test_what_a_user_claims_is_checked(known: dict):
    exact = solved("exact")
    claimed = exact.model_copy(update={"objective": 1.0, "method": "mine:f", "bound": 12.9})
    after, _ = recorded([claimed], SETS)
    assert (after[0].objective, after[0].bound) == (12.8, None)  # the checker's objective, and nobody's bound
    broken = exact.model_copy(update={"solution": {"instances": []}})
    assert recorded([broken], SETS)[0][0].objective is None
    with pytest.raises(InputError, match="refutes the bound 20"):
        recorded([exact, exact.model_copy(update={"bound": 20.0})], SETS)
    with pytest.raises(InputError, match="no instance of the library is called so"):
        recorded([exact.model_copy(update={"instance": "else"})], SETS)


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
    assert "tests.user_heuristics:one_each * 275.00% 275.00%" in table
