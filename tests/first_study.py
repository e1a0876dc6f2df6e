"""`python -m tests.first_study [FOLDER]`: compare README's first study, in FOLDER, with a second one.

The first study of a fresh clone runs with nothing compiled, and often while other programs run. The second one is the
quick study with everything compiled. Every status and figure that both have must be equal, but for times.
"""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from pathlib import Path

TIMES = {"build_s", "solve_s"}
KEY = ("instance_set", "problem", "instance", "method")


def read_rows(folder: Path) -> dict[tuple[str, ...], dict[str, str]]:
    """Return the rows of a study by set, problem, instance and method, without their times."""
    with (folder / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {tuple(row[name] for name in KEY): {k: v for k, v in row.items() if k not in TIMES} for row in rows}


def list_differences(first: dict[str, str], second: dict[str, str]) -> list[str]:
    """Return a line for each column in which two rows differ."""
    return [f"{name}: {first.get(name)}, then {value}" for name, value in second.items() if first.get(name) != value]


def main() -> None:
    """Run the second study, compare, and end with status 1 if a result differs or is missing."""
    first = read_rows(Path(sys.argv[1] if len(sys.argv) > 1 else "results"))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "experiments.gap_study", "--quick", "--quiet", "--out", folder]
        if status := subprocess.run(command, stdout=subprocess.DEVNULL).returncode:
            raise SystemExit(f"the second study ended with status {status}")
        second = read_rows(Path(folder))
    wrong = 0
    for key, row in second.items():
        for line in ["is missing"] if key not in first else list_differences(first[key], row):
            print(*key, line)
            wrong += 1
    print(f"{len(second)} results of the first study compared, {wrong} differences")
    raise SystemExit(bool(wrong) or not second)


if __name__ == "__main__":
    main()
