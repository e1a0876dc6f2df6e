"""`python -m tests.kernels`: writes `kernels.json`, the compiled functions that each method calls in the default study.

`--quick`: what its quick form calls is added to what is there. Each run is a copy of this process, which says at its
end what it has compiled or loaded.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

from numba import types
from numba.core.dispatcher import Dispatcher

from experiments.harness.diary import Diary
from experiments.harness.plan import sets_at, study_runs
from experiments.harness.warmup import LIST, Kernels, listed
from instances import Options

PACKAGES = ("instances", "models", "heuristics", "experiments")


def main() -> None:
    """Record."""
    quick = "--quick" in sys.argv
    runs = study_runs(sets_at([], quick=quick), None, Options(time_limit=60.0))
    for module in {module for run in runs for module in run.modules}:
        importlib.import_module(module)
    seen: dict[str, Kernels] = {name: dict(kernels) for name, kernels in listed().items()} if quick else {}
    for run in runs:
        name = f"{run.instance.problem} {run.entry.name}"
        seen[name] = joined(seen.get(name, {}), in_a_copy(run))
    write({name: kernels for name, kernels in seen.items() if kernels})


def in_a_copy(run: Any) -> Kernels:
    """What a run calls."""
    theirs, ours = os.pipe()
    if (child := os.fork()) == 0:
        try:
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
            with tempfile.TemporaryDirectory() as folder:
                run.work(Diary(Path(folder) / "diary"))
        finally:
            with os.fdopen(ours, "wb") as file:
                pickle.dump(called(), file)
            os._exit(0)
    os.close(ours)
    with os.fdopen(theirs, "rb") as file:
        found: Kernels = pickle.load(file)
    os.waitpid(child, 0)
    return found


def called() -> Kernels:
    """The signatures of each function of the project that are compiled or loaded in this process."""
    found = {}
    for module, content in list(sys.modules.items()):
        if module.split(".")[0] in PACKAGES:
            for name, value in vars(content).items():
                if isinstance(value, Dispatcher) and value.py_func.__module__ == module and value.overloads:
                    found[f"{module}:{name}"] = [said(signature) for signature in value.overloads]
    return found


def said(signature: tuple[Any, ...]) -> str:
    """A signature as numba reads it."""
    return f"({', '.join(map(_type, signature))})"


def _type(kind: Any) -> str:
    if isinstance(kind, types.Array) and kind.mutable and kind.layout in "CA":
        return f"{kind.dtype}[{', '.join([':'] * (kind.ndim - 1) + ['::1' if kind.layout == 'C' else ':'])}]"
    if isinstance(kind, types.BaseTuple) and not isinstance(kind, types.BaseNamedTuple):
        return f"Tuple(({', '.join(map(_type, kind))},))"
    return repr(kind)


def joined(one: Kernels, other: Kernels) -> Kernels:
    """The signatures of either."""
    return {kernel: sorted({*one.get(kernel, ()), *other.get(kernel, ())}) for kernel in sorted({*one, *other})}


def write(seen: dict[str, Kernels]) -> None:
    """Write the list."""
    LIST.write_text(json.dumps(dict(sorted(seen.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
