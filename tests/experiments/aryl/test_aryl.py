"""Test Aryl's reference sets and the study of Algorithm 1's excess."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.aryl import reclaims
from experiments.aryl.reference import instance_sets
from experiments.harness.run import apply
from experiments.plan import methods_for
from instances import Options
from tests.commands import call
from tests.sampling import few


@pytest.mark.parametrize("reference", few(instance_sets(quick=True), 6), ids=lambda s: s.name)
def test_every_method_of_a_reference_set_runs_and_none_beats_the_proof(reference):
    for instance in reference.instances:
        results = [apply(m, instance, Options()) for m in methods_for(instance, list(reference.methods))]
        best = next(r for r in results if r.method == "exact")
        assert best.status == "optimal"
        for result in results:
            assert result.violations == ()
            worse = result.objective - best.objective if best.sense == "minimize" else best.objective - result.objective
            assert worse >= -1e-6 * max(1.0, abs(best.objective))


def printed(study: str, *flags: object) -> str:
    """Return the output of a study."""
    done = call("study", study, *flags, "--quiet")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_excess_study_prints_a_table_and_draws_a_picture(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(reclaims, "FRAGMENTATION", (0.0, 1.0))
    monkeypatch.setattr(reclaims, "SHARES", (0.05, 0.25))
    shown = printed("aryl-excess", "--picture", tmp_path / "excess.svg", "--seeds", 1, "--servers", 80)
    assert "4 of 4 optima proven" in shown
    assert (tmp_path / "excess.svg").read_text().startswith("<?xml")


def test_the_study_of_losses_prints_both_tables(monkeypatch):
    monkeypatch.setattr(reclaims, "FRAGMENTATION", (0.7,))
    monkeypatch.setattr(reclaims, "FRONT_FRAGMENTATION", (0.7,))
    monkeypatch.setattr(reclaims, "ELASTIC", (0.36,))
    shown = printed("aryl-losses", "--servers", 60, "--reclaim", 12, "--seeds", 1, "--fronts", 1)
    assert "2 of 2 optima proven" in shown
    assert "1 of 1 fronts proven complete" in shown
    row = next(line for line in shown.splitlines() if "70% random, 36%" in line)
    counts = [float(cell) for cell in row.split("|")[2:-1]]
    assert counts[2] == min(counts[:3])
    assert counts[5] == min(counts)


def test_the_study_of_rules_prints_every_rule_and_none_is_below_the_optimum():
    shown = printed("aryl-rules", "--seeds", 1, "--instance-jobs", 4)
    assert "3 of 3 optima proven" in shown
    assert shown.count("`") == 2 * 9
    assert "(-" not in shown


def test_an_excess_over_nothing_is_said_in_words():
    assert [reclaims.format_excess(*pair) for pair in ((0, 0), (3, 2), (3, 0))] == ["0%", "50%", "3 against 0"]
    cell = reclaims.Excess((0.0, 3.0, 2.0), (1.0, 2.0, 2.0), (0.0, 0.0, 1.0), (True, True, True))
    assert cell.worst == (3.0, 0.0)
    assert (cell.equal, cell.beaten) == (1, 1)


def test_no_excess_is_below_the_optimum():
    shares = [reclaims.excess(a, b) for a, b in ((0, 0), (1, 1), (5, 2))]
    assert min(shares) == 0
