"""`python -m tests.kernels`: writes `kernels.json`, the compiled functions that each method calls in the default study.

`--quick`: what its quick form calls is added to what is there; so is what `exact` calls on instances, `FILE...`. Each
run is a copy of this process, which says at its end what it has compiled or loaded.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numba import types
from numba.core.dispatcher import Dispatcher

from experiments.harness.runner import LIST, Kernels, list_kernels
from experiments.harness.task import ReportFile
from experiments.plan import sets_at, study_runs
from instances import Options

PACKAGES = ("instances", "models", "heuristics", "experiments")


def main() -> None:
    """Record."""
    quick, files = "--quick" in sys.argv, [Path(given) for given in sys.argv[1:] if given != "--quick"]
    runs = study_runs(sets_at(files, quick=quick), ["exact"] if files else None, Options(time_limit=60.0))
    for module in {module for run in runs for module in run.modules}:
        importlib.import_module(module)
    seen: dict[str, Kernels] = (
        {name: dict(kernels) for name, kernels in list_kernels().items()} if quick or files else {}
    )
    for run in runs:
        name = f"{run.instance.problem} {run.entry.name}"
        found, anew = in_a_copy(run)
        if anew:  # what is called within compiled code was compiled there for its own sake, too
            found, _ = in_a_copy(run)
        seen[name] = joined(seen.get(name, {}), found)
    write({name: kernels for name, kernels in seen.items() if kernels})


def in_a_copy(run: Any) -> tuple[Kernels, bool]:
    """Return what a run calls, and whether it recompiled anything."""
    theirs, ours = os.pipe()
    if (child := os.fork()) == 0:
        try:
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
            with tempfile.TemporaryDirectory() as folder:
                run.work(ReportFile(Path(folder) / "report"))
        finally:
            with os.fdopen(ours, "wb") as file:
                pickle.dump((called(), any(kernel.stats.cache_misses for _, kernel in dispatchers())), file)
            os._exit(0)
    os.close(ours)
    with os.fdopen(theirs, "rb") as file:
        found: tuple[Kernels, bool] = pickle.load(file)
    os.waitpid(child, 0)
    return found


def dispatchers() -> Iterator[tuple[str, Any]]:
    """Enumerate the imported compiled functions of the project, each with its name."""
    for module, content in list(sys.modules.items()):
        if module.split(".")[0] in PACKAGES:
            for name, value in vars(content).items():
                if isinstance(value, Dispatcher) and value.py_func.__module__ == module:
                    yield f"{module}:{name}", value


def called() -> Kernels:
    """Return the signatures of each function of the project that are compiled or loaded in this process."""
    found = {name: [said(s) for s in kernel.overloads if not _within(s)] for name, kernel in dispatchers()}
    return {kernel: signatures for kernel, signatures in found.items() if signatures}


def _within(signature: tuple[Any, ...]) -> bool:
    """Return whether it is of a call within compiled code, where numbers that are written there are types."""
    return any(isinstance(kind, types.Literal | types.Omitted) for kind in signature)


def said(signature: tuple[Any, ...]) -> str:
    """Format a signature as `types_of` reads it."""
    return f"({', '.join(map(_type, signature))},)"


def _type(kind: Any) -> str:
    if isinstance(kind, types.Array) and kind.mutable and kind.layout in "CA":
        return f"{kind.dtype}[{', '.join([':'] * (kind.ndim - 1) + ['::1' if kind.layout == 'C' else ':'])}]"
    if isinstance(kind, types.BaseTuple):
        parts = f"({', '.join(map(_type, kind))},)"
        if not isinstance(kind, types.BaseNamedTuple):
            return f"Tuple({parts})"
        return f"named({parts}, '{kind.instance_class.__module__}:{kind.instance_class.__qualname__}')"
    return "generator" if kind == types.npy_rng else repr(kind)


def joined(one: Kernels, other: Kernels) -> Kernels:
    """Join the signatures of both."""
    return {kernel: sorted({*one.get(kernel, ()), *other.get(kernel, ())}) for kernel in sorted({*one, *other})}


def write(seen: dict[str, Kernels]) -> None:
    """Write the list."""
    LIST.write_text(json.dumps(dict(sorted(seen.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
