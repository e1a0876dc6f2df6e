"""`python -m tests.first_study`: the first study of a fresh clone says what every later one says.

The default study, or what further flags of `gap_study` make of it, is run with an empty cache of compiled functions
(`--cache DIR`) beside three busy processes (`--busy N`), and again with what that has left, alone. Every status and
every figure but times has to be the same, and no run may fail or refute a record.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from typing import Any

from tests.commands import ROOT
from tests.readme_commands import busy

TIMES = ("build_s", "solve_s", "trace")


def study(cache: str, *flags: str) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The results of a study by problem, instance and method, without their times. Ends where the study fails."""
    command = [sys.executable, "-m", "experiments.cli", "gap_study", "--format", "json", *flags]
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([*command, "--out", folder], stdout=subprocess.PIPE, text=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        raise SystemExit(f"the study ended with status {done.returncode}")
    rows = [json.loads(text) for text in done.stdout.splitlines()]
    print(f"{len(rows)} results, {spent:.0f} CPU s", flush=True)
    key = ("problem", "instance", "method")
    return {
        tuple(row[name] for name in key): {name: row[name] for name in sorted(row) if name not in TIMES} for row in rows
    }


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--busy", type=int, default=3)
    parser.add_argument("--cache")
    asked, flags = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        cache = asked.cache or folder
        with busy(asked.busy):
            first = study(cache, *flags)
        later = study(cache, *flags)
    apart = [key for key in sorted({*first, *later}) if first.get(key) != later.get(key)]
    for key in apart:
        one, other = first.get(key, {}), later.get(key, {})
        for name in sorted({*one, *other}):
            if one.get(name) != other.get(name):
                print(*key, name, str(one.get(name))[:200], "then", str(other.get(name))[:200])
    print(f"{len(apart)} of {len(later)} results of the first study differ")
    raise SystemExit(bool(apart) or not later)


if __name__ == "__main__":
    main()
