"""Test that every reader of tables rejects endless files in one place."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from instances import InputError, reading
from instances.aryl import loaning_days
from instances.boa import from_trace, trace_renting
from instances.eva import alibaba, alive, trace_cloud
from instances.sia import gavel, philly
from instances.sia.traces import helios_demand
from instances.tables import read_rows
from tests.commands import ROOT

READERS: dict[str, Callable[[Path], Any]] = {
    "philly": philly,
    "gavel": gavel,
    "helios": helios_demand,
    "alibaba": alibaba,
    "alive": lambda path: alive(path, 0),
    "cloud": trace_cloud,
    "allocation": lambda path: from_trace(path, budget_over_load=2),
    "renting": trace_renting,
    "speedups": lambda path: trace_renting(path, speedups=path),
    "loaning": lambda path: loaning_days(1, 0, trace=path),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_trace_that_may_never_end_is_refused(reader: str, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "endless.csv").symlink_to("/dev/zero")
    for path in (tmp_path / "pipe.csv", tmp_path / "endless.csv", Path("/dev/full")):
        with pytest.raises(InputError, match=f"^{path}: not a regular file$"):
            READERS[reader](path)


def test_a_table_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "LARGEST_FILE", 1 << 20)
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * (1 << 19))
    with pytest.raises(InputError, match=r"t.csv: must be at most 1 MiB"):
        read_rows(tmp_path / "t.csv", ("a",))


def test_a_table_is_read_from_a_pipe_of_the_shell_with_its_mark_and_its_line_ends():
    read, write = os.pipe()
    os.write(write, b"\xef\xbb\xbfa,b\r\n1,x\r\n2,y\r\n")
    os.close(write)
    rows = read_rows(f"/dev/fd/{read}", ("a", "b"))
    os.close(read)
    assert rows.to_dict("list") == {"a": [1, 2], "b": ["x", "y"]}


def test_no_module_reads_a_table_by_itself():
    found = {
        str(file.relative_to(ROOT))
        for layer in ("instances", "models", "heuristics", "experiments")
        for file in (ROOT / layer).rglob("*.py")
        if re.search(r"\bread_csv\(", file.read_text())
    }
    assert found == {"instances/tables.py"}
