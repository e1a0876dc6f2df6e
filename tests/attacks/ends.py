"""Run workloads at the ends of their ranges: each is rejected in one line, or every policy's run ends.

`python -m tests.attacks.ends [--files N] [--seed K]` runs a policy on each and prints what failed.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.harness.task import ReportFile
from experiments.simulator.simulation import ONLINE, Bounding, Simulation
from instances import InputError, Instance, dump, parse
from instances.online import RuleBroken
from instances.sia import five_jobs
from tests.attacks.forked import Ended, ended, wrong
from tests.attacks.mutants import workload_bases
from tests.contents import changed

ENDS = (0, 0.0, 1e-9, 1e-6, 1e-3, 1, 1.0, 1e3, 1_000_000, 1e6, 1_000_000_000, 1e9)
WORDS = {InputError: 2, RuleBroken: 3}  # an end that is told in one line, and the status that stands for it


@dataclass(frozen=True)
class Case:
    """A workload file with numbers at the ends of their ranges, and a policy to run on it."""

    name: str
    content: Any
    places: tuple[str, ...]
    policy: str


def warm() -> None:
    """Load and compile once what the copies would load and compile each."""
    for content in [*workload_bases(), dump(five_jobs())]:
        instance = parse(content)
        with tempfile.TemporaryDirectory() as folder:
            for policy in ONLINE[instance.problem].policies:
                if ONLINE[instance.problem].unfit(policy, instance.data) is None and "genetic" not in policy:
                    run = Simulation(instance, policy).work(ReportFile(Path(folder) / policy))
            if ONLINE[instance.problem].bound is not None:
                _bounded(instance, policy, run.totals, Path(folder))


def cases(files: int, seed: int) -> Iterator[Case]:
    """So many, of all formats in turn; a genetic search is as slow on any workload."""
    sources = [*workload_bases(), dump(five_jobs())]
    for i in range(files):
        rng = random.Random(f"ends {seed} {i}")
        content = sources[i % len(sources)]
        numbers = list(_numbers(content["data"], ("data",)))
        chosen = rng.sample(numbers, rng.choice((1, 1, 2, 3)))
        for place in chosen:
            content = changed(content, "/".join(map(str, place)), rng.choice(ENDS))
        policy = rng.choice([name for name in ONLINE[content["problem"]].policies if "genetic" not in name])
        yield Case(f"ends {seed} {i}", content, tuple(".".join(map(str, place)) for place in chosen), policy)


def tried(case: Case, folder: Path) -> tuple[Ended, str | None]:
    """How the run of a case ends, and what is wrong with it."""
    done = ended(lambda: _run(case, folder), folder)
    symptom = wrong(done, tolerated=WORDS.values())
    if symptom is None and done.status == WORDS[InputError] and not done.err.startswith(("data.", "refused: ")):
        symptom = f"names no field of the file: {done.err}"
    return done, symptom


def _run(case: Case, folder: Path) -> None:
    """Run a case, and end with the status of its word."""
    try:
        instance = parse(case.content)
        try:
            run = Simulation(instance, case.policy).work(ReportFile(folder / "diary"))
            if ONLINE[instance.problem].bound is not None:
                _bounded(instance, case.policy, run.totals, folder)
        except InputError as error:
            raise InputError(f"refused: {error}") from None
    except tuple(WORDS) as error:
        print(error, file=sys.stderr)
        raise SystemExit(WORDS[type(error)]) from None


def _bounded(instance: Instance, policy: str, totals: Any, folder: Path) -> None:
    try:
        Bounding(instance, (policy,), (totals,)).work(ReportFile(folder / "bound"))
    except InputError as error:
        if "data." in str(error):
            raise AssertionError(f"names a field that the file does not have: {error}") from error


def _numbers(content: Any, at: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Enumerate the paths to the numbers; of a list, only those of the first and the last entry."""
    if isinstance(content, dict):
        for name, value in content.items():
            yield from _numbers(value, (*at, name))
    elif isinstance(content, list):
        for i in sorted({0, len(content) - 1} if content else ()):
            yield from _numbers(content[i], (*at, i))
    elif isinstance(content, int | float) and not isinstance(content, bool):
        yield at


def main() -> int:
    """Run the cases and print what failed; the exit status is 1 where anything did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    statuses: Counter[int | None] = Counter()
    failed = 0
    warm()
    with tempfile.TemporaryDirectory() as name:
        for case in cases(asked.files, asked.seed):
            done, symptom = tried(case, Path(name))
            statuses[done.status] += 1
            if symptom is not None:
                failed += 1
                print(f"{case.name} {case.content['problem']} {case.policy} {case.places}: {symptom[:300]}", flush=True)
    print(f"{asked.files} workloads, by exit status {dict(statuses)}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
