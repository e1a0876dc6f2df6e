"""Compile the functions that methods need before their clocks start, once, and print a line about it.

`kernels.json` lists, for each method, the compiled functions that it calls and the types of their arguments, as
`python -m tests.kernels` has seen them in the default study. A function that is not listed is compiled in the run that
calls it; no clock counts this either.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from experiments.harness.runner import as_finished
from experiments.harness.task import HarnessTask, ReportFile, Whole, WholeTask
from experiments.harness.user_functions import resolve
from instances import Options
from instances.clock import cpu_seconds
from instances.private import private_folder

LIST = Path(__file__).with_name("kernels.json")
ROOT = Path(__file__).parent.parent.parent
Kernels = dict[str, list[str]]
"""The signatures of each compiled function, `module:function`."""


@cache
def listed() -> Mapping[str, Kernels]:
    """Return the compiled functions of each method."""
    known: Mapping[str, Kernels] = json.loads(LIST.read_text())
    return known


def compile_first(tasks: Sequence[HarnessTask[Any]], quiet: bool = False, jobs: int = 1) -> None:
    """Compile the functions that the tasks need and that are not in the cache. Raises the exception of an interrupt.

    `jobs`: number of processes. Each compiles different modules, so that none waits for another.
    """
    wanted: dict[str, set[str]] = {}
    for name in dict.fromkeys(name for task in tasks for name in task.kernels):
        for kernel, signatures in listed().get(name, {}).items():
            wanted.setdefault(kernel, set()).update(signatures)
    kernels = {kernel: sorted(wanted[kernel]) for kernel in sorted(wanted)}
    if not kernels or (done := _mark(kernels)) is None or done.exists():
        return
    shares: dict[str, Kernels] = {}
    for kernel, signatures in kernels.items():
        shares.setdefault(kernel.rpartition(".")[0] if jobs > 1 else "", {})[kernel] = signatures
    outcomes = [outcome for _, outcome in as_finished([Compilation(each, quiet) for each in shares.values()], jobs)]
    if all(outcome.status == "finished" for outcome in outcomes):
        with suppress(OSError):
            done.parent.mkdir(parents=True, exist_ok=True)
            done.touch()


def _mark(kernels: Kernels) -> Path | None:
    """Return the file that marks these versions of the kernels as compiled; `None` if it has no possible place."""
    files = [ROOT / f"{kernel.partition(':')[0].replace('.', '/')}.py" for kernel in kernels]
    with suppress(OSError):
        stamps = [(stat.st_mtime_ns, stat.st_size) for stat in map(os.stat, files)]
        about = repr((kernels, stamps, version("numba"), version("llvmlite"), sys.version, str(ROOT)))
        name = f"compiled-{hashlib.sha256(about.encode()).hexdigest()[:16]}"
        said = os.environ.get("NUMBA_CACHE_DIR")
        if said:
            return Path(said) / name
        beside = LIST.parent / "__pycache__"
        folder = beside if os.access(beside, os.W_OK) else private_folder()
        return None if folder is None else folder / name
    return None


@dataclass(frozen=True)
class Compilation(WholeTask[Whole]):
    """Compile the functions that are not in the cache."""

    outcome_type = Whole

    kernels_wanted: Kernels
    quiet: bool
    options: Options = Options()

    def label(self) -> tuple[str, str]:
        return "compilation", ""

    def work(self, report: ReportFile) -> Whole:
        """Compile and report on standard error. A function that is missing or takes other arguments is no error."""
        from instances.compiled import not_kept  # imports numba, so only if there are functions to compile

        missing = [(function, types) for function, types in self._functions() if not_kept(function, types)]
        if missing and not self.quiet:
            print(
                f"compiling {len(missing)} function{'s' if len(missing) > 1 else ''}, once: ",
                end="",
                file=sys.stderr,
                flush=True,
            )
        before = cpu_seconds()
        for function, types in missing:
            with suppress(Exception):
                function.compile(types)
        if missing and not self.quiet:
            print(f"{cpu_seconds() - before:.0f} s", file=sys.stderr, flush=True)
        return self.made("finished")

    def _functions(self) -> list[tuple[Any, Any]]:
        """Return the functions with the argument types of each signature."""
        found = []
        for kernel, signatures in self.kernels_wanted.items():
            module, _, name = kernel.partition(":")
            with suppress(Exception):
                function = getattr(importlib.import_module(module), name)
                found += [(function, types_of(signature)) for signature in signatures]
        return found

    def content(self, digests: Any) -> dict[str, Any]:
        return {}


def types_of(signature: str) -> Any:
    """Parse the types of a signature in numba's notation; a named tuple is written with the name of its class."""
    from numba import types

    def named(kinds: Any, target: str) -> Any:
        return types.BaseTuple.from_types(kinds, resolve(target))

    return eval(signature, {"__builtins__": {}}, {**vars(types), "named": named, "generator": types.npy_rng})
