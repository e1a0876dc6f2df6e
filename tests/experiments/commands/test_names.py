"""Test that every user-chosen name survives files, tables, report and resumption."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest

from experiments.harness.instance_set import from_paths
from experiments.output.folder import result_file
from experiments.output.terminal import cell, label
from instances import Instance, save
from instances.eva import table_3
from instances.text import escape_text
from tests.commands import call
from tests.sampling import WHOLE

NAMES = [
    *"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ",
    *("a b", "a-b", "a/b", "a.b", "A-B", "a_b", "a~b", "a:b", "ａ-b", "a\u0301", "á"),
    *("default", "ghost", "all", "exact", "con", "CON", "nul.x", "..", "../../x", ".hidden", "-rf", "--out"),
    *("$x^$", "\\$", "$$", "{x}", "[/x]", ":star:", "<b>&amp;", "=1+1", "@f", "+1", "%s", "None", "null", "0"),
    *(
        "\x1b[31m",
        "\x1b]0;owned\x07",
        "a\nb",
        "a\tb",
        "\x00",
        "\x7f",
        "\u202egnp",
        "\u2028",
        "😀",
        "好" * 120,
        "x" * 200,
    ),
]


def test_no_two_results_share_a_file_and_each_is_a_file_anywhere():
    methods = ["exact", "a.b:f", "a:b", "a-b", "no-packing"]
    files = [result_file(name, method) for name in NAMES for method in methods]
    assert len({file.lower() for file in files}) == len(NAMES) * len(methods)
    assert all(len(file) < 200 and file.isascii() and "/" not in file and file[0] not in ".-" for file in files)
    assert result_file("eva-table-3", "exact") == "eva-table-3.exact.json"
    assert result_file("newtrace-budget-1.5", "exact") == "newtrace-budget-1.5.exact.json"
    assert result_file("con", "exact").startswith("con~")


def test_a_name_is_shown_in_one_line_and_steers_nothing():
    assert escape_text("a\n\x1b]0;owned\x07\u202e") == r"a\n\x1b]0;owned\x07\u202e"
    assert escape_text("好 é 😀 [x] $") == "好 é 😀 [x] $"
    assert label("$x^$") == r"\$x^\$"
    assert len(label("x" * 200)) == 60


@pytest.mark.parametrize(("value", "defused"), [("=1+1", "'=1+1"), ("@f", "'@f"), (-1.5, -1.5), ("a=1", "a=1")])
def test_no_cell_is_a_formula(value: object, defused: object):
    assert cell(value) == defused


CALLED = NAMES if WHOLE else list(dict.fromkeys([*NAMES[::3], *(name for name in NAMES if not name.isprintable())]))
"""Names with which commands are called; a run of each takes a process."""


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a folder with a troublesome name, and an instance of each name."""
    folder = tmp_path_factory.mktemp("$x^$ ü") / "=a $b$"
    folder.mkdir()
    data = table_3().data
    for i, name in enumerate(CALLED):
        save(Instance.of(data, name), folder / f"{i}.json")
    return folder


def test_solve_keeps_a_result_of_every_name(named: Path, tmp_path: Path):
    done = call("solve", named, "--out", tmp_path / "out", "--method", "no-packing", "--method", "exact")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    kept = [json.loads(file.read_text()) for file in (tmp_path / "out").glob("*.json")]
    assert sorted((r["instance"], r["method"]) for r in kept) == sorted(
        (name, method) for name in CALLED for method in ("exact", "no-packing")
    )
    head, *rows = done.stdout.splitlines()
    assert head.split()[:2] == ["instance", "method"]
    assert len([row for row in rows if row.endswith("USD/h")]) == 2 * len(CALLED)
    assert not any(c in done.stdout + done.stderr for c in "\x1b\x07\x00\u202e\u2028")


def test_a_study_of_every_name_ends_with_table_and_report_and_resumes(named: Path, tmp_path: Path):
    first = call("gap_study", named, "--out", tmp_path / "out", "--method", "no-packing", "--quiet")
    assert (first.returncode, first.stderr) == (0, "")
    rows = list(csv.DictReader((tmp_path / "out" / "results.csv").open(newline="")))
    assert sorted({r["instance"] for r in rows}) == sorted({cell(name) for name in CALLED})
    assert {r["instance_set"] for r in rows} == {"'=a $b$"}
    assert not any(c in (tmp_path / "out" / "results.csv").read_text() for c in "\x00\x1b\x07\u202e\u2028")
    report = (tmp_path / "out" / "report.html").read_text()
    assert report.count("=a $b$") >= 2 * len(CALLED)
    assert "\x1b" not in report
    again = call("gap_study", named, "--out", tmp_path / "out", "--method", "no-packing", "--quiet", "--resume")
    assert again.stdout == first.stdout  # CPU seconds and all: nothing was run again


def test_sets_of_folders_with_one_base_name_are_told_apart(tmp_path: Path):
    for folder in ("aa/x", "bb/x", "c"):
        (tmp_path / folder).mkdir(parents=True)
        save(table_3(), tmp_path / folder / "i.json")
    assert [s.name for s in from_paths([tmp_path], ("all",))] == ["aa/x", "bb/x", "c"]


def test_a_folder_whose_name_is_no_text_is_a_set(tmp_path: Path):
    for name in (b"caf\xe9", b"b"):
        os.makedirs(os.fsencode(tmp_path) + b"/" + name)
        save(table_3(), tmp_path / os.fsdecode(name) / "i.json")
    done = call("gap_study", tmp_path, "--out", tmp_path / "out", "--method", "no-packing", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    rows = list(csv.DictReader((tmp_path / "out" / "results.csv").open(newline="")))
    assert {r["instance_set"] for r in rows} == {"caf\\udce9", "b"}


def test_other_json_in_a_folder_is_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    save(table_3(), tmp_path / "i.json")
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "list.json").write_text("[]")
    (only,) = from_paths([tmp_path], ("all",))
    assert len(only.instances) == 1
    assert "passed over" in capsys.readouterr().err
