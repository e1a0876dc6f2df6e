"""Test the commands without features that Windows lacks, and completion, version, lists and schemas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments import cli, flags
from instances.result import versions
from tests.commands import call, python

WITHOUT = """if 1:
    import signal, sys
    sys.modules.update(resource=None, fcntl=None)  # whose import is an error from here on
    del signal.pthread_sigmask
    sys.argv[0] = "gapwise"
    from experiments.cli import main
    main()
"""


def test_without_what_windows_lacks_a_run_ends_as_elsewhere(tmp_path: Path, table_3_file: Path):
    said = "solve", table_3_file, "--method", "no-packing", "--out", tmp_path / "out", "--format", "json", "--quiet"
    done = python("-c", WITHOUT, *said)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["objective"] == 16.2
    assert (tmp_path / "out" / "runs.sqlite").exists()


def test_names_are_completed():
    assert flags.method_names("full-reconfiguration-") == [
        "full-reconfiguration-artifact",
        "full-reconfiguration-first",
    ]
    assert flags.problem_names("boa") == ["boa-allocation"]
    assert {"gssf", "sia-vc"} < set(flags.policy_names(""))


def test_the_version_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.argv", ["gapwise", "--version"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(f"gapwise {versions()['gapwise']} (")


def test_what_can_be_named_is_listed():
    done = call("list", "methods", "--problem", "eva-packing", "--format", "json")
    assert "no-packing" in json.loads(done.stdout)["methods"]["eva-packing"]
    plain = call("list").stdout
    for heading in ("problems:", "methods of sia-oracle:", "policies of eva-cloud:", "sets of eva-packing:"):
        assert heading in plain.splitlines()


def test_a_file_and_a_solution_are_checked(tmp_path: Path, table_3_file: Path):
    assert call("check", table_3_file).stdout == "valid: eva-table-3: eva-packing, minimize USD/h\n"
    good, bad, none = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "none.json"
    alone = [{"type": "it1", "count": 1, "tasks": {task: 1}} for task in ("t1", "t2", "t3", "t4")]
    good.write_text(json.dumps({"solution": {"instances": alone}}))
    bad.write_text(json.dumps({"instances": alone[:3]}))
    none.write_text(json.dumps({"widths": {}}))
    assert call("check", table_3_file, "--solution", good).stdout == "feasible: eva-table-3: 48.0 USD/h\n"
    done = call("check", table_3_file, "--solution", bad)
    assert (done.returncode, done.stdout.startswith("broken: ")) == (1, True)
    done = call("check", table_3_file, "--solution", none)
    assert (done.returncode, done.stderr.startswith(f"gapwise: {none}: ")) == (2, True)


def test_the_schema_of_a_problem_is_json():
    assert json.loads(call("schema", "eva-packing").stdout)["properties"]["problem"] == {"const": "eva-packing"}
    refused = call("schema", "eva")
    assert (refused.returncode, refused.stderr[:16]) == (2, "gapwise: problem")
