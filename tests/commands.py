"""A command as a user runs it: in a process of its own, in the project's folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(command: str, *arguments: object, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python -m experiments.<command>` with `arguments`; output is captured, the exit status not checked."""
    return python("-m", f"experiments.{command}", *arguments, cwd=cwd, **environment)


def python(*arguments: object, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    """Python with `arguments`, the project's packages on the path, and more variables in the environment."""
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=False,
    )
