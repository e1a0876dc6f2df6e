"""A command that is called again draws the same pictures, whatever the hashes of texts are in its process."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from instances import save
from instances.eva import table_7
from instances.sia import five_jobs
from tests.commands import run

HASH_SEEDS = "1", "2"


def gap_study(out: Path, seed: str) -> None:
    file = out.parent / "file.json"  # in a folder of one name, after which the set is called
    save(table_7(20, 0), file)
    methods = ("--method", "no-packing", "--method", "full-reconfiguration-first")
    done = run("gap_study", file, *methods, "--jobs", 1, "--out", out, "--quiet", PYTHONHASHSEED=seed)
    assert done.returncode == 0, done.stderr
    # beside its pictures the report has CPU seconds
    (out / "report.svg").write_text("".join(re.findall(r"<svg.*?</svg>", (out / "report.html").read_text(), re.DOTALL)))


def simulate(out: Path, seed: str) -> None:
    save(five_jobs(), out / "five.json")
    done = run("simulate", out / "five.json", "--policy", "sia-vc", "--out", out, "--quiet", PYTHONHASHSEED=seed)
    assert done.returncode == 0, done.stderr


def excess(out: Path, seed: str) -> None:
    flags = ("--picture", out / "excess.svg", "--seeds", 1, "--servers", 24)
    done = run("aryl.excess", *flags, PYTHONHASHSEED=seed)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", [gap_study, simulate, excess])
def test_the_pictures_are_the_same_at_every_call(command: Callable[[Path, str], None], tmp_path: Path):
    drawn = []
    for seed in HASH_SEEDS:
        out = tmp_path / seed
        out.mkdir()
        command(out, seed)
        drawn.append({path.name: path.read_text() for path in out.glob("*.svg")})
    assert drawn[0]
    assert all("<path" in text and "dc:date" not in text for text in drawn[0].values())
    assert drawn[0] == drawn[1]
