"""Test the conclusions of a study from checked objectives and claimed bounds."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from typing import Any

import pytest

from experiments.harness.gaps import Scored, false_references, score, summarise
from experiments.harness.run import Run
from experiments.output.columns import NAMED, choose_gap_columns, summary_csv
from experiments.output.report import set_table
from experiments.output.results import print_table, print_tables
from experiments.output.terminal import line
from experiments.plan import methods_for
from instances import Instance, Options, Reference, Result
from instances.aryl import figure_5
from instances.eva import table_3
from instances.sia import five_jobs

Said = tuple[str, str, float | None, float | None]


def finished(*said: Said, reference: Reference | None = None, base: Instance | None = None) -> list[tuple[Run, Result]]:
    instance = (base or table_3()).model_copy(update={"reference": reference, "name": "same"})
    method, data = methods_for(instance, ["exact"])[0], instance.data
    common: dict[str, Any] = {"instance": "same", "problem": data.problem, "sense": data.sense, "unit": data.unit}
    results = [
        Result(method=name, status=status, termination="finished", objective=objective, bound=bound, **common)
        for name, status, objective, bound in said
    ]
    return [(Run(instance, method, Options(), "set"), result) for result in results]


def scored(*said: Said, **more: Any) -> list[Scored]:
    return score(finished(*said, **more))


def test_problems_with_instances_of_one_name_share_nothing():
    eva = finished(("exact", "optimal", 12.8, 12.8), ("no-packing", "feasible", 16.2, None))
    aryl = finished(("exact", "optimal", 1.0, 1.0), base=figure_5())
    found = score([*eva, *aryl])
    assert [s.gap_to_optimum for s in found] == pytest.approx([0, 16.2 / 12.8 - 1, 0])
    assert [s.result.status for s in found] == ["optimal", "feasible", "optimal"]


def test_a_heuristic_that_meets_the_best_bound_of_another_method_is_proven():
    exact, heuristic = scored(("exact", "feasible", 1970.64, 1943.1), ("h", "feasible", 1943.1, None))
    assert (heuristic.proven, heuristic.bound_by, heuristic.gap_to_optimum) == (True, "exact", 0)
    assert (exact.proven, exact.gap_to_bound) == (False, None)
    assert exact.gap_to_optimum == pytest.approx(1970.64 / 1943.1 - 1)
    assert [row.proven for row in summarise([exact, heuristic])] == [0, 1]


def test_a_gap_wider_than_the_default_proves_nothing():
    (exact,) = scored(("exact", "optimal", 251.0, 159.0))
    assert (exact.proven, exact.gap_to_optimum) == (False, None)
    assert exact.gap_to_bound == pytest.approx(92 / 251)
    assert summarise([exact])[0].proven == 0


def test_a_false_bound_is_the_error_of_its_claimant():
    honest, liar, heuristic = scored(
        ("exact", "optimal", 12.8, 12.8), ("liar", "optimal", 16.2, 16.2), ("h", "feasible", 14.0, None)
    )
    assert (honest.result.status, honest.gap_to_optimum, honest.proven) == ("optimal", 0, True)
    assert liar.result.status == "error"
    assert liar.result.reason == "objective 12.8 of exact is better than the bound 16.2 of liar"
    assert liar.gap_to_optimum is liar.gap_to_bound is liar.result.gap is None
    assert heuristic.gap_to_optimum == pytest.approx(14 / 12.8 - 1)


def test_no_error_s_objective_is_the_best_known():
    forged, exact = scored(("forged", "error", 1.0, None), ("exact", "optimal", 12.8, 12.8))
    assert (exact.gap_to_optimum, forged.gap_to_optimum) == (0, None)


@pytest.mark.parametrize(
    ("reference", "line"),
    [
        (Reference(objective=20.0, bound=20.0), "same: objective 12.8 of exact is better than the bound 20.0"),
        (Reference(bound=13.0), "same: objective 12.8 of exact is better than the bound 13.0 of the reference"),
        (Reference(objective=5.0), "same: objective 5.0 of the reference is better than the bound 12.8 of exact"),
    ],
)
def test_a_false_reference_is_told_and_left_out(reference: Reference, line: str):
    runs = finished(("exact", "optimal", 12.8, 12.8), reference=reference)
    (exact,) = score(runs)
    assert (exact.result.status, exact.proven) == ("optimal", True)
    (said,) = false_references(runs)
    assert said.startswith(line)


def test_a_reference_proves_an_optimum_that_no_run_has_found():
    (heuristic,) = scored(("h", "feasible", 16.2, None), reference=Reference(objective=12.8, bound=12.8))
    assert heuristic.gap_to_optimum == pytest.approx(16.2 / 12.8 - 1)
    assert not heuristic.proven
    (met,) = scored(("h", "feasible", 12.8, None), reference=Reference(objective=12.8, bound=12.8))
    assert (met.proven, met.bound_by) == (True, "the reference")


def test_a_problem_with_a_measure_has_its_gaps_and_its_part_beside_those_of_the_objective():
    """Five jobs of slots of a minute: an optimum of 3 slots of delay, and 6 of FCFS."""
    base = five_jobs()
    work = sum(job.duration for job in base.data.jobs)
    exact, fcfs = scored(("exact", "optimal", 3.0, 3.0), ("fcfs", "feasible", 6.0, None), base=base)
    assert (fcfs.gap_to_optimum, fcfs.part, fcfs.best_part) == pytest.approx((1.0, 6 / 5, 3 / 5))
    assert fcfs.measure_gap_to_optimum == pytest.approx(3 / (3 + work))
    assert exact.measure_gap_to_optimum == 0
    (row,) = summarise([fcfs])
    heading, *others = [column.heading for column in choose_gap_columns([row])]
    assert heading == "gap in mean JCT: mean"
    assert "delay a job, min" in others
    assert [column.show(row) for column in choose_gap_columns([row])][5:7] == ["1.2", "0.6"]


def test_a_measure_s_gap_to_the_bound_is_smaller_than_that_of_its_part():
    (exact,) = scored(("exact", "feasible", 6.0, 3.0), base=five_jobs())
    work = sum(job.duration for job in five_jobs().data.jobs)
    assert exact.gap_to_bound == 0.5
    assert exact.measure_gap_to_bound == pytest.approx(3 / (6 + work))


def test_with_a_weight_of_fairness_the_objective_is_no_part_of_a_measure():
    fair = Instance.of(five_jobs().data.model_copy(update={"fairness_weight": 1.0}), "fair")
    (exact,) = scored(("exact", "optimal", 9.0, 9.0), base=fair)
    assert (exact.measure_gap_to_optimum, exact.part) == (None, None)


def test_of_nothing_there_is_no_share_and_the_words_say_so(capsys: pytest.CaptureFixture[str]):
    """A heuristic that saves nothing where an optimum is not proven; and one that preempts where nobody has to."""
    saving = table_3().model_copy(update={"data": table_3().data.model_copy(update={"objective": "net-saving"})})
    unproven = scored(("exact", "feasible", 300.0, 400.0), ("h", "feasible", 0.0, None), base=saving)
    proven = scored(("exact", "optimal", 0.0, 0.0), ("h", "feasible", 3.0, None), base=figure_5())
    assert [(s.gap_to_optimum, s.gap_to_bound, s.nothing) for s in (unproven[1], proven[1])] == [
        (None, None, "objective"),
        (None, None, "optimum"),
    ]
    assert (unproven[0].gap_to_bound, proven[0].gap_to_optimum) == (pytest.approx(1 / 3), 0.0)
    print_tables(summarise([*unproven, *proven]), [*unproven, *proven])
    said = capsys.readouterr().out
    assert "h: no gap is known; no gap on 1, because the objective is 0" in said
    assert "h: no gap is known; no gap on 1, because the optimum is 0" in said
    assert said.count("1 without a gap: objective 0") == said.count("1 without a gap: optimum 0") == 1
    assert "aryl-reclaim: the optimum is proven on 1 of 1 instances" in said
    assert all(float(share) <= 100 for share in re.findall(r"([0-9.]+)%", said))


def _on(name: str, *said: Said) -> list[tuple[Run, Result]]:
    """Build runs on an instance of this name."""
    return [
        (replace(run, instance=run.instance.model_copy(update={"name": name})), r.model_copy(update={"instance": name}))
        for run, r in finished(*said)
    ]


def test_failing_on_a_hard_instance_improves_no_mean_in_the_table(capsys: pytest.CaptureFixture[str]):
    """`h` is worse than `g` wherever it has a solution, and has none on the instance that is hard for `g`."""
    proof = ("exact", "optimal", 10.0, 10.0)
    easy = _on("easy", proof, ("g", "feasible", 11.0, None), ("h", "feasible", 12.0, None))
    hard = _on("hard", proof, ("g", "feasible", 30.0, None), ("h", "no_solution", None, None))
    found = score([*easy, *hard])
    rows = {row.method: row for row in summarise(found)}
    columns = {column.name: column for column in choose_gap_columns(list(rows.values()))}
    assert [columns["mean_gap_to_optimum"].show(row) for row in rows.values()] == ["0.00%", "105.00%", "-"]
    assert [columns["max_gap_to_optimum"].show(row) for row in rows.values()] == ["0.00%", "200.00%", "-"]
    assert [columns["mean_common_gap"].show(row) for row in rows.values()] == [
        "0.00% (1/2)",
        "10.00% (1/2)",
        "20.00% (1/2)",
    ]
    assert [columns["gaps_to_optimum"].show(row) for row in rows.values()] == ["2/2", "2/2", "1/2"]
    print_tables(list(rows.values()), found)
    said = capsys.readouterr().out
    assert said.count("other methods on these instances: exact 0.0%, g 10.0%") == said.count("other methods") == 1
    (kept,) = csv.DictReader(
        line for i, line in enumerate(summary_csv(list(rows.values())).splitlines()) if i in (0, 3)
    )
    assert (kept["method"], kept["mean_gap_to_optimum"], kept["mean_common_gap"], kept["common"]) == (
        "h",
        "",
        "0.2",
        "1",
    )


def test_gaps_to_a_bound_are_compared_on_the_same_instances_too():
    """On `hard` no optimum is proven: `g` has a gap to the bound there, and `h` none."""
    easy = _on("easy", ("exact", "optimal", 10.0, 10.0), ("g", "feasible", 11.0, None), ("h", "feasible", 12.0, None))
    hard = _on("hard", ("exact", "feasible", 20.0, 10.0), ("g", "feasible", 40.0, None), ("h", "error", None, None))
    rows = summarise(score([*easy, *hard]))
    assert [(row.method, row.whole, row.common, row.common_to_bound) for row in rows] == [
        ("exact", True, (0.0,), ()),
        ("g", True, (pytest.approx(0.1),), ()),
        ("h", False, (pytest.approx(0.2),), ()),
    ]
    assert [row.describe(row.values("gap_to_bound"))[0] for row in rows] == [0.5, 0.75, None]


def test_terminal_report_and_csv_say_the_same_of_runs_without_a_gap():
    statuses: dict[Any, int] = {"feasible": 1, "violates": 7, "error": 2}
    runs = finished(*(("ssf", status, 110.0, None) for status, times in statuses.items() for _ in range(times)))
    solved, *rest = (Scored(run, result.model_copy(update={"solve_s": 1.0})) for run, result in runs)
    (poor,) = summarise([replace(solved, gap_to_optimum=0.1), *rest])
    said = "7 break a constraint, 2 without a solution"
    assert [column.show(poor) for column in (*NAMED, *choose_gap_columns([poor]))] == [
        *("set", "ssf", "10.00%", "10.00%", "10.00%", "1/10", "-", "0/10", "1.000", said)
    ]
    (line,) = csv.DictReader(summary_csv([poor]).splitlines())
    known = line["runs"], line["gaps_to_optimum"], line["mean_gap_to_optimum"], line["notes"]
    assert known == ("10", "1", "0.1", said)
    page = set_table([poor], "eva-packing")
    assert "<td data-value='1'>1/10</td>" in page
    assert f"<td class='text long'>{said}</td>" in page


def test_a_set_whose_methods_all_have_gaps_everywhere_has_no_further_column():
    rows = summarise(
        scored(("exact", "optimal", 10.0, 10.0), ("g", "feasible", 11.0, None), ("bad", "violates", 9.0, None))
    )
    assert "common" not in [column.heading for column in choose_gap_columns(rows)]


def test_a_result_s_own_gap_is_no_share_of_nothing(capsys: pytest.CaptureFixture[str]):
    ((_, result),) = finished(("exact", "feasible", 0.0, 400.0))
    result = result.model_copy(update={"gap": 4e11})
    print_table([result])
    assert "%" not in (said := capsys.readouterr().out)
    assert "no gap: of an objective of 0 there is no share" in said
    assert "gap" not in line(result)
