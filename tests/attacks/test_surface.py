"""Test `gapwise solve FILE` on files that once failed, and on a sample of `tests.attacks.surface`.

`GAPWISE_SURFACE` sets how many families a random file is taken from, `GAPWISE_SURFACE_SEED` which.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from instances import load
from instances.clock import call_within
from tests.attacks import surface
from tests.commands import call, run
from tests.sampling import sample

FOUND = Path(__file__).with_name("found")
SOLVED: dict[str, tuple[str, float | None]] = {
    "consolidation-a-billion-pods": ("optimal", 2.0),
    "consolidation-a-node-holds-more-than-it-has": ("optimal", 1.0),
    "consolidation-a-ray-of-rows-far-apart": ("optimal", 1.48148147),
    "consolidation-each-of-a-billion-pods-on-a-new-node": ("optimal", 3.0),
    "consolidation-limits-end-the-search-of-totals": ("infeasible", None),
    "consolidation-two-programs-of-one-size": ("optimal", 15.0),
    "elastic-speeds-that-agree-to-16-digits": ("optimal", 7.5e-8),
    "packing-a-start-costs-nothing": ("optimal", 0.0),
    "packing-limits-end-the-search-of-totals": ("optimal", 1294.38),
}
"""The status and the objective of each; the name says what was wrong with it."""
PATIENCE_S = 100.0  # CPU seconds after which a command hangs
FILES = int(os.environ.get("GAPWISE_SURFACE", sample(1, 3)))
SEED = int(os.environ.get("GAPWISE_SURFACE_SEED", "0"))


@pytest.mark.parametrize("limit", ["no limit", pytest.param("limit", marks=pytest.mark.long)])
def test_files_that_once_failed_are_solved(limit: str):
    """With a limit they are solved in `test_fuzz_files.py`, too."""
    flags = ("--time-limit", "10") if limit == "limit" else ()
    files = [FOUND / f"{name}.json" for name in SOLVED]
    done = call_within(PATIENCE_S, lambda: call("solve", *files, *flags, "--format", "json", "--quiet"))
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    said = [(row["status"], row["objective"]) for row in rows]
    assert (said, done.stderr, len(rows)) == (list(SOLVED.values()), "", len(files))


def test_a_command_of_its_own_solves_and_certifies(tmp_path: Path):
    """In a process of its own; all but the pods by the billion, whose proof is about totals alone."""
    files = [FOUND / f"{name}.json" for name in SOLVED if "billion" not in name][:: sample(4, 1)]
    done = run("solve", *files, "--certificate", tmp_path / "c", "--time-limit", 10, "--format", "json", "--quiet")
    assert "Traceback" not in done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(row["status"] for row in rows) == sorted(SOLVED[file.stem][0] for file in files)
    of = {load(file).name: file for file in files}
    for row in rows:
        file = of[row["instance"]]
        text = [path for path in (tmp_path / "c").glob(f"{row['instance']}.*") if path.suffix != ".json"]
        text += (tmp_path / "c").glob(f"{row['instance']}.*.certificate.json")
        if row["status"] == "optimal":
            verified = call("verify", file, tmp_path / "c" / f"{row['instance']}.exact.json", *text)
            assert verified.stdout.startswith("verified: "), (file.stem, verified.stderr)


def test_random_files_are_solved_by_the_command(tmp_path: Path):
    """One file of each of so many families."""
    names = random.Random(SEED).sample(surface.NAMES, min(FILES, len(surface.NAMES)))
    assert surface.tried(names, 1, SEED, tmp_path).wrong == []
