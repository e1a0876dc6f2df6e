"""Random valid files of every family through `gapwise solve`: no traceback, no hang, no false status or value.

`python -m tests.attacks.surface COUNT SEED` solves so many files of each family, once without a limit and once with
`--time-limit 10`, many files in one command, and holds what is said against brute force.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
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
PATIENCE_S = 900.0  # wall seconds of one command


@dataclass
class Campaign:
    """How many files were solved, how many runs ended with each status, and a line for each thing that is `wrong`."""

    files: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


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
    for number, family in enumerate(FAMILIES[name] for name in names):
        for name, data in family.instances(count, seed):
            called = f"f{number}-{name}"
            path = folder / f"{called}.json"
            save(Instance.of(data, called), path)
            yield Drawn(path, called, data, family.optimum(data))


def _called(batch: Sequence[Drawn], limit: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    """The command; `None` if it does not end."""
    words = [sys.executable, "-m", "experiments", "solve", *(str(one.path) for one in batch), *limit]
    words += ["--format", "json", "--quiet", "--jobs", "1"]
    try:
        return subprocess.run(words, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired:
        return None


def _wrong(
    found: Campaign, batch: Sequence[Drawn], limit: Sequence[str], done: subprocess.CompletedProcess[str] | None
) -> Iterator[str]:
    """What is wrong with the results of a batch."""
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
        found.statuses[result.status] = found.statuses.get(result.status, 0) + 1
        said = f"{one.name}: {result.status}, {result.objective!r}, bound {result.bound!r} ({result.reason})"
        optimum = None if one.optimum is None else float(one.optimum)
        if result.status not in ("optimal", "infeasible", "feasible", "no_solution"):
            yield f"{said}, optimum {optimum!r}"
        bounds = [bound for _, _, bound in result.trace if bound is not None]
        for fault in faults(result, one.optimum, Options(), bounds):
            yield f"{said}: {fault}, optimum {optimum!r}"


def main() -> None:
    """Run the campaign that the command line asks for."""
    count, seed = map(int, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder, Stopwatch() as clock:
        found = tried(NAMES, count, seed, Path(folder))
    print(*found.wrong, sep="\n")
    print(f"{found.files} files, {len(LIMITS)} times each: {found.statuses}")
    print(f"{len(found.wrong)} wrong, {clock.wall_s:.0f} s")
    sys.exit(bool(found.wrong))


if __name__ == "__main__":
    main()
