"""`python -m tests.quick_reproduction`: every experiment of every paper runs on the first jobs of its traces.

What comes out of so few jobs says nothing of a paper: a verdict against one is a fault, as is an experiment that was
not run. Flags are passed on to `gapwise reproduce`.
"""

from __future__ import annotations

import csv
import io
import resource
import subprocess
import sys
from collections.abc import Iterable, Mapping

from experiments.harness.experiment import AGAINST
from experiments.papers import PAPERS, experiments_of
from tests.commands import ROOT, python

TRACES = ROOT / "tests" / "data" / "first"
NO_TRACE = {"sia/figure-18"}
"""Helios' job log is in no copy that is left."""


def reproduced(*flags: str) -> subprocess.CompletedProcess[str]:
    """Quick runs of what the flags say, on the first jobs, as CSV."""
    return python("-m", "experiments.cli", "reproduce", "--quick", "--traces", TRACES, "--format", "csv", *flags)


def faults(rows: Iterable[Mapping[str, str]], names: Iterable[str]) -> list[str]:
    """What is wrong with the claims of experiments of these names: one that is against a paper, or was not run."""
    claims = list(rows)
    against = [f"{row['experiment']}: {row['what']}: {row['verdict']}" for row in claims if row["verdict"] in AGAINST]
    told = {row["experiment"] for row in claims if not row["note"].startswith(("--traces", str(TRACES)))}
    lost = [row["note"] for row in claims if row["verdict"] == "not run" and " runs failed: " in row["note"]]
    return [*against, *lost, *(f"{name}: not run" for name in names if name not in told)]


def main() -> None:
    """Run all, and end with status 1 where something is wrong."""
    done = reproduced("--quiet", *sys.argv[1:])
    found = faults(
        csv.DictReader(io.StringIO(done.stdout)),
        [name for p in PAPERS for one in experiments_of(p) if (name := f"{p}/{one.name}") not in NO_TRACE],
    )
    if done.returncode:
        found.append(f"status {done.returncode}: {done.stderr[-2000:]}")
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{spent.ru_utime + spent.ru_stime:.0f} CPU s", *found, sep="\n")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
