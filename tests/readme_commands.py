"""`python3 -m tests.readme_commands`: run README's two commands in a fresh clone, as a reader of README does.

The script needs nothing but Python and git. `--in DIR` clones the last commit to DIR instead of a temporary folder.
`--here` runs the commands in this folder, which continuous integration has just cloned. `--busy N` starts N processes
that keep the machine busy meanwhile. Numbers choose among the commands: `python3 -m tests.readme_commands 2`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
FIRST_WORDS = "python3 -m venv .venv"
BUSY = "while True: pass"


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep the machine busy with this number of processes."""
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def read_commands(readme: str) -> list[str]:
    """Return the first two shell blocks of README that create an environment; raise ValueError if there are fewer."""
    blocks = [block.strip() for block in SHELL_BLOCK.findall(readme)]
    commands = [block for block in blocks if block.startswith(FIRST_WORDS)][:2]
    if len(commands) < 2:
        raise ValueError(f"README.md: must have two shell blocks that begin with {FIRST_WORDS!r}, has {len(commands)}")
    return commands


def run_commands(folder: Path, numbers: list[int]) -> int:
    """Run the commands of README with these numbers in a clone; return the first exit status that is not 0."""
    commands = read_commands((folder / "README.md").read_text(encoding="utf-8"))
    for number in numbers:
        print(f"== {commands[number - 1]}", flush=True)
        status = subprocess.run(["sh", "-c", commands[number - 1]], cwd=folder, stdin=subprocess.DEVNULL).returncode
        if status:
            print(f"README's command {number} ended with status {status}", file=sys.stderr)
            return status
    return 0


def read_arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Return the arguments of the script; end with status 2 if they are wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("numbers", nargs="*", type=int, metavar="1|2", help="which commands to run (default: both)")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--in", dest="folder", type=Path, help="the folder of the clone, which must not exist")
    place.add_argument("--here", action="store_true", help="run in this folder instead of a clone")
    parser.add_argument("--busy", type=int, default=0, help="number of processes that compute meanwhile (default: 0)")
    asked = parser.parse_args(words)
    if not {1, 2}.issuperset(asked.numbers):
        parser.error(f"the commands are 1 and 2, got {' '.join(map(str, asked.numbers))}")
    asked.numbers = asked.numbers or [1, 2]
    return asked


def main() -> None:
    """Run the commands and end with their status."""
    asked = read_arguments()
    with busy(asked.busy), tempfile.TemporaryDirectory() as temporary:
        clone = ROOT if asked.here else asked.folder or Path(temporary) / "gapwise"
        if not asked.here:
            subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        status = run_commands(clone, asked.numbers)
    raise SystemExit(status)


if __name__ == "__main__":
    main()
