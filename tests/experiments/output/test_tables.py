"""Test printed plans and tables: they fit narrow terminals and claim no false proof."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from experiments.harness.gaps import Scored, score, summarise
from experiments.harness.run import apply
from experiments.output import simulation, terminal
from experiments.output.results import print_table, print_tables
from experiments.output.summary import answers
from experiments.output.table import show_table
from experiments.output.terminal import print_rich, text_of
from experiments.papers import METHODS, ONLINE
from experiments.plan import plan
from experiments.simulator.plots import speedup_cdf
from experiments.simulator.simulation import ChosenPolicies
from instances import Options, Result, save
from instances.eva import table_3, table_7
from instances.sia import five_jobs
from tests.commands import call
from tests.experiments.kubernetes.test_cluster_command import two_nodes, write


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal.out, "width", 80)


def results(names: list[str], **options: float) -> list[Scored]:
    runs = plan([table_3(), table_7(15, seed=1)], names, Options(**options))
    return score([(run, apply(run.entry, run.instance, run.options)) for run in runs])


def test_solve_prints_the_plan_the_bill_and_the_unit(table_3_file: Path):
    done = call("solve", table_3_file, "--quiet")
    said = done.stdout.splitlines()
    assert said[1].split()[-1] == "USD/h"
    assert said[-4:] == [
        "the plan of exact:",
        "  rent 1 x it1 at 12 USD/h, each with t1, t2, t4",
        "  rent 1 x it3 at 0.8 USD/h, each with t3",
        "  bill: 12.8 USD/h, 9,344.00 USD a month of 730 hours",
    ]


def test_a_table_of_results_fits_80_columns_and_cuts_no_method(narrow: None, capsys: pytest.CaptureFixture[str]):
    names = [m.name for m in METHODS["eva-packing"] if m.name != "literal" and m.unfit(table_7(20, 0).data) is None]
    scored = results(names)
    print_table(s.result for s in scored)
    print_tables(summarise(scored), scored)
    said = capsys.readouterr().out.splitlines()
    assert max(map(len, said)) <= 80
    assert all(any(line.startswith(f"{name} ") for line in said) for name in names)
    assert said == [line.rstrip() for line in said]


def test_every_method_of_every_problem_fits_a_narrow_table(narrow: None, capsys: pytest.CaptureFixture[str]):
    (result,) = [s.result for s in results(["exact"])[:1]]
    worst = {"status": "no_solution", "objective": 123456.789, "bound": 123456.781, "gap": 0.5, "solve_s": 1234.5}
    print_table([result.model_copy(update=worst | {"method": e.name}) for m in METHODS.values() for e in m])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


@pytest.mark.parametrize("workloads", [1, 3])
@pytest.mark.parametrize("problem", ONLINE)
def test_policies_fit_a_narrow_terminal_and_every_measure_is_whole(
    narrow: None, capsys: pytest.CaptureFixture[str], problem: str, workloads: int
):
    online, names = ONLINE[problem], ["fcfs", "sia-random-load", "virtual-clock-literal"]
    row = {"fallbacks": 0} | {name: 0.12345 if name in simulation.SHARES else 12345.678 for name in online.columns}
    rows = [row | {"policy": name, "workload": f"w{k}"} for name in names for k in range(workloads)]
    simulation.print_policies(rows, ChosenPolicies(tuple(names), "fcfs", online.columns))
    said = capsys.readouterr().out.splitlines()
    assert all(any(line.startswith(f"{name} ") for line in said) for name in names)
    assert max(map(len, said[:-1])) <= 80
    assert "\u2026" not in "".join(said)  # nothing is cut off


@pytest.mark.parametrize("problem", ONLINE)
def test_the_table_of_a_world_fits_100_columns_and_shows_nothing_of_another(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, problem: str
):
    monkeypatch.setattr(terminal.out, "width", 100)
    online = ONLINE[problem]
    row = {"workload": "w", "policy": "p" * 18, "fallbacks": 0}
    row |= {name: 1234.5 for other in ONLINE.values() for name in other.columns}  # of all worlds
    row |= dict.fromkeys(simulation.SHARES, 0.12345)
    simulation.print_policies([row], ChosenPolicies(("p" * 18,), "fcfs", online.columns))
    said = capsys.readouterr().out.splitlines()
    assert max(map(len, said)) <= 100
    words = " ".join(said)
    assert all(word in words for heading in online.columns.values() for word in heading.split())
    assert ("slowed" in words) == (problem == "sia-oracle")
    assert ("USD" in words) == (problem == "eva-cloud")


def test_medians_of_policies_are_over_the_workloads_that_all_of_them_finished(capsys: pytest.CaptureFixture[str]):
    online = ONLINE["sia-oracle"]
    first = next(iter(online.columns))
    times = {"fcfs": (1.0, 90.0), "fails": (2.0, None)}
    rows: list[dict[str, object]] = [
        {"workload": f"w{k}", "policy": name, "fallbacks": 0} | ({} if value is None else {first: value})
        for name, values in times.items()
        for k, value in enumerate(values)
    ]
    simulation.print_policies(rows, ChosenPolicies(("fcfs", "fails"), "fcfs", online.columns))
    said = capsys.readouterr().out.splitlines()
    assert [line.split() for line in said[-3:-1]] == [["fcfs", "1"], ["fails", "2"]]
    assert said[-1] == "1 of 2 workloads"


def test_what_a_loosened_gap_accepts_is_nowhere_called_proven(capsys: pytest.CaptureFixture[str]):
    run = plan([table_7(15, seed=1)], ["exact"], Options(gap=0.9))[0]
    result = apply(run.entry, run.instance, run.options)
    loose = result.model_copy(update={"objective": 100.0, "bound": 60.0, "gap": 0.4, "status": "optimal"})
    (scored,) = score([(run, loose)])
    assert (scored.proven, scored.gap_to_optimum) == (False, None)
    assert answers([scored])[0].headline.endswith("proven on 0 of 1 instances")
    assert "proven" not in loose.summary
    print_table([loose])
    assert "within the gap asked for, not proven further" in capsys.readouterr().out


def test_progress_in_a_notebook_is_one_plain_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(terminal, "err", terminal.Console(stderr=True, force_jupyter=True))
    assert list(terminal.follow(enumerate("ab"), 2, "run {}".format)) == [(0, "a"), (1, "b")]
    said = capsys.readouterr().err
    assert [line.rstrip() for line in said.split("\r")] == ["", "[1/2] run a", "[2/2] run b"]
    assert "\x1b" not in said
    assert said.endswith("\n")
    assert said.count("\n") == 1


def test_no_two_curves_of_a_picture_look_the_same():
    jobs = pd.DataFrame({"job": ["a", "b"], "jct": [1.0, 2.0], "end": [1.0, 2.0]})
    figure = speedup_cdf({name: [jobs] for name in ("fcfs", *(f"policy {i}" for i in range(14)))})
    (axes,) = figure.axes
    looks = [(to_hex(line.get_color()), str(line._unscaled_dash_pattern)) for line in axes.lines[:14]]
    assert len(set(looks)) == 14


def test_the_result_of_a_run_says_its_unit_and_what_is_proven():
    (result, *_) = [s.result for s in results(["exact"])]
    assert isinstance(result, Result)
    assert result.summary.startswith("exact on eva-table-3: optimal, 12.8 USD/h, proven, ")


@pytest.mark.usefixtures("both_kinds")
def test_solve_draws_what_it_found(table_3_file: Path, tmp_path: Path):
    done = call(
        "solve", table_3_file, "--method", "exact", "--method", "no-packing", "--plot", tmp_path / "p", "--quiet"
    )
    assert done.returncode == 0, done.stderr
    drawn = sorted(path.name for path in (tmp_path / "p").iterdir())
    assert drawn == [f"eva-table-3.{name}.{kind}" for name in ("exact", "no-packing") for kind in ("pdf", "svg")]
    assert all(path.read_bytes().startswith((b"<?xml", b"%PDF")) for path in (tmp_path / "p").iterdir())


CELLS = ["set-with-a-long-name", "full-reconfiguration-artifact", "10/10", "97.24%", "12345.678901", "0.130", "100.00%"]
HEADS = [
    "instance set",
    "method",
    "proven",
    "gap to optimum: mean",
    "objective",
    "CPU s, mean",
    "gap in preempted jobs",
]


@pytest.mark.parametrize("width", [80, 100, 120, 140])
@pytest.mark.parametrize("grouped", [False, True])
def test_no_table_loses_a_digit_or_breaks_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int, grouped: bool
):
    monkeypatch.setattr(terminal.out, "width", width)
    kinds = ["name", "name", *["number"] * 5]
    show_table(list(zip(HEADS, kinds, strict=True)), [CELLS, [*CELLS[:1], "no-packing", *CELLS[2:]]], grouped)
    said = capsys.readouterr().out
    words = said.split()
    assert all(words.count(cell) >= 2 for cell in CELLS[2:])
    shown_heads = HEADS[1:] if grouped and width < 100 else HEADS
    assert all(word in words for head in shown_heads for word in head.split() if head != HEADS[0])
    assert CELLS[1] in said


def test_a_table_in_groups_has_its_headings_once_and_every_group_its_name(
    narrow: None, capsys: pytest.CaptureFixture[str]
):
    head = [(text, kind) for text, kind in zip(HEADS, ["name", "name", *["number"] * 5], strict=True)]
    show_table(head, [[group * 30, *CELLS[1:]] for group in "aabb"], grouped=True)
    said = capsys.readouterr().out
    assert (said.count("proven"), said.count("method"), said.count("10/10")) == (1, 1, 4)
    assert [line for line in said.splitlines() if line in ("a" * 30, "b" * 30)] == ["a" * 30, "b" * 30]


@pytest.mark.parametrize(("notes", "times"), [("xxx", 1), ("xyx", 3)])
def test_a_note_of_all_rows_stands_once_below_the_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], notes: str, times: int
):
    monkeypatch.setattr(terminal.out, "width", 140)
    show_table([("method", "name"), ("note", "note")], [(f"m{k}", f"note {n}") for k, n in enumerate(notes)])
    said = capsys.readouterr().out
    assert said.count("note ") == times
    assert ("  all rows: note x\n" in said) == (times == 1)


LONG_NAME = "an-instance-with-a-name-of-more-than-forty-characters-for-a-narrow-terminal"
MINE = """
from heuristics.eva import no_packing

def a_heuristic_with_a_long_name(data):
    return no_packing(data)
"""
COMMANDS = {
    "gap_study": ("table-3.json", "--method", "exact", "--method", "no-packing", "--tables"),
    "solve": ("table-3.json", "--method", "all"),
    "simulate": ("jobs.json", "--policy", "fcfs", "--policy", "sia-random-load", "--policy", "sia-vc"),
    "score": ("mine_with_a_long_name:a_heuristic_with_a_long_name", "--problem", "eva-packing", "--set", "table 3"),
    "reproduce": ("sia", "--only", "table-12", "--quick"),
    "worst": ("full-reconfiguration", "--size", "1"),
    "cluster": ("dump.json", "--types", "types.csv", "--rules", "kube-least"),
}
"""Each command whose tables are wide, on small input."""


def faults_of(said: str, width: int, words: list[str]) -> list[str]:
    """Return the words that a text lacks, lines that are too wide, and shortened names that are not listed below."""
    lines, found = said.splitlines(), Counter(said.split())
    faults = [f"wide: {line}" for line in lines if len(line) > width]
    faults += [f"lost: {word}" for word, n in Counter(words).items() if found[word] < (n if "." in word else 1)]
    listed = [line.strip().partition(": ")[0].removesuffix(":") for line in lines if line.startswith("  ")]
    return faults + [f"not listed: {w}" for w in found if "\u2026" in w and not any(w.strip(":") in n for n in listed)]


def faults_of_table(head: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]], grouped: bool = False) -> list[str]:
    """Return what a table loses on terminals of four widths. Headings of groups and of notes are not shown."""
    kept = [text for k, (text, kind) in enumerate(head) if kind != "note" and not (grouped and k == 0)]
    notes = dict.fromkeys(row[k] for k, (_, kind) in enumerate(head) if kind == "note" for row in rows)
    cells = [row[k] for k, (_, kind) in enumerate(head) if kind != "note" for row in rows]
    words = " ".join([*kept, *cells, *notes]).split()
    texts = {width: text_of(lambda: show_table(head, rows, grouped), width) for width in (80, 100, 120, 140)}
    return [fault for width, said in texts.items() for fault in faults_of(said, width, words)]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_loses_a_digit_or_breaks_a_word_on_a_terminal(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    save(table_3().model_copy(update={"name": LONG_NAME}), Path("table-3.json"))
    save(five_jobs(), Path("jobs.json"))
    Path("mine_with_a_long_name.py").write_text(MINE)
    write(tmp_path, two_nodes())
    faults: list[str] = []
    tables = 0

    def check_table(head: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]], grouped: bool = False) -> None:
        nonlocal tables
        tables += 1
        faults.extend(faults_of_table(head, list(rows), grouped))

    def check_text(text: str, style: str | None = None) -> None:
        for width in (80, 100, 120, 140):
            faults.extend(faults_of(text_of(lambda: print_rich(text, style), width), width, text.split()))

    for name in (*COMMANDS, "kubernetes.cluster"):
        importlib.import_module(f"experiments.{name}")
    for name, module in sys.modules.items():
        if name.startswith("experiments.") and name != "experiments.output.table":
            for function, check in (("show_table", check_table), ("print_rich", check_text)):
                if function in vars(module):
                    monkeypatch.setattr(module, function, check)
    done = call(command, *COMMANDS[command], "--quiet")
    assert (done.returncode, faults) == (0, []), done.stderr
    assert tables
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("inst\nance  proven\nfirst…me 10.10\n  first…me: first-name\n", "lost: instance"),
        ("instance  proven\nfirst-name  10.1\n0\n", "lost: 10.10"),
        ("instance  proven\nfirst…me  10.10\nfirst-name\n", "not listed: first…me"),
        ("instance  proven  10.10  first-name", "wide: instance  proven  10.10  first-name"),
    ],
)
def test_a_table_that_loses_something_is_found(said: str, fault: str):
    assert fault in faults_of(said, 30, ["instance", "proven", "first-name", "10.10"])
