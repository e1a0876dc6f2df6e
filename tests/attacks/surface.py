"""Run random valid files of every family through `gapwise solve`: no traceback, hang or false answer.

`python -m tests.attacks.surface [FAMILY...] COUNT SEED` solves COUNT files of each family, once without a limit and
once with `--time-limit 10`, many files in one command, and compares the results with brute force. A FAMILY is the
beginning of a family's name. Prints each fault when it is found, a line for each family, and the totals.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from instances import Instance, Options, ProblemData, Result, Stopwatch, save
from tests.attacks.brute import FAMILIES
from tests.attacks.families import faults
from tests.commands import ROOT

NAMES = tuple(name for name, family in FAMILIES.items() if "exact" in family.methods)
LIMITS: tuple[tuple[str, ...], ...] = ((), ("--time-limit", "10"))
BATCH = 100  # files of one command
PATIENCE_S = 3_600.0  # wall seconds of one command, which compiles and may run beside many others


@dataclass
class Campaign:
    """How many files were solved, how many runs ended with each status, and a line for each fault and each open run."""

    files: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    unproven: list[str] = field(default_factory=list)

    def __add__(self, other: Campaign) -> Campaign:
        """Return the sums of both."""
        sums = ((a + b) for a, b in zip(vars(self).values(), vars(other).values(), strict=True))
        return Campaign(*sums)

    def __str__(self) -> str:
        """Return the figures in one line."""
        runs = ", ".join(f"{n} {status}" for status, n in sorted(self.statuses.items()))
        return f"{self.files} files, {self.statuses.total()} runs: {runs}; {len(self.wrong)} wrong"


@dataclass(frozen=True)
class Drawn:
    """A file with the name of its instance, its data, and the optimum by brute force."""

    path: Path
    name: str
    data: ProblemData
    optimum: Fraction | None


def tried(names: Sequence[str], count: int, seed: int, folder: Path) -> Campaign:
    """Solve so many files of each of these families by command, and hold the results against brute force."""
    found = Campaign()
    drawn = list(_drawn(names, count, seed, folder))
    found.files = len(drawn)
    for limit in LIMITS:
        for first in range(0, len(drawn), BATCH):
            batch = drawn[first : first + BATCH]
            for said in _wrong(found, batch, limit, _called(batch, limit)):
                found.wrong.append(" ".join(("solve", *limit, said)))
    return found


def _drawn(names: Sequence[str], count: int, seed: int, folder: Path) -> Iterator[Drawn]:
    for family in (FAMILIES[name] for name in names):
        number = NAMES.index(family.name)
        for name, data in family.instances(count, seed):
            called = f"f{number}-{name}"
            path = folder / f"{called}.json"
            save(Instance.of(data, called), path)
            yield Drawn(path, called, data, family.optimum(data))


def _called(batch: Sequence[Drawn], limit: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    """Run the command and return its end, `None` if it does not end."""
    words = [sys.executable, "-m", "experiments", "solve", *(str(one.path) for one in batch), *limit]
    words += ["--format", "json", "--quiet", "--jobs", "1"]
    try:
        return subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        return None


def _wrong(
    found: Campaign, batch: Sequence[Drawn], limit: Sequence[str], done: subprocess.CompletedProcess[str] | None
) -> Iterator[str]:
    """Describe the errors in the results of a batch."""
    if done is None:
        yield f"{batch[0].name} and {len(batch) - 1} more: no end"
        return
    if "Traceback" in done.stderr:
        yield f"{batch[0].name} and {len(batch) - 1} more: {done.stderr[-500:]}"
    results = {row["instance"]: row for row in map(json.loads, done.stdout.splitlines())}
    for one in batch:
        if one.name not in results:
            yield f"{one.name}: no result; {done.stderr[:300]}"
            continue
        result = Result.model_validate(results[one.name])
        found.statuses[result.status] += 1
        said = f"{one.name}: {result.status}, {result.objective!r}, bound {result.bound!r} ({result.reason})"
        optimum = None if one.optimum is None else float(one.optimum)
        if result.status in ("feasible", "no_solution"):
            found.unproven.append(" ".join(("open: solve", *limit, f"{said}, optimum {optimum!r}")))
        elif result.status not in ("optimal", "infeasible"):
            yield f"{said}, optimum {optimum!r}"
        bounds = [bound for _, _, bound in result.trace if bound is not None]
        for fault in faults(result, one.optimum, Options(), bounds):
            yield f"{said}: {fault}, optimum {optimum!r}"


def main() -> None:
    """Run the campaign that the command line asks for."""
    *wanted, count, seed = sys.argv[1:]
    chosen = [name for name in NAMES if not wanted or name.startswith(tuple(wanted))]
    total = Campaign()
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder, Stopwatch() as clock:
            found = tried([name], int(count), int(seed), Path(folder))
        print(*found.wrong, *found.unproven, f"{name}: {found}, {clock.wall_s:.0f} s", sep="\n", flush=True)
        total = total + found
    print(f"all of {len(chosen)} families: {total}")
    sys.exit(bool(total.wrong))


if __name__ == "__main__":
    main()
