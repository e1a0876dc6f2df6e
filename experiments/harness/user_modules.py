"""Give the user's own modules precedence in the user's code, even if they are named like packages of this project.

A user's project with a folder `models` can provide a heuristic that imports `models.net`. While the user's code runs,
`models` is the user's package. Modules and names that it lacks come from this project, as the same objects. While the
project's own code runs, every name is the project's.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType

NAMES = ("instances", "models", "heuristics", "experiments")
_theirs: dict[str, ModuleType] = {}
_inside = False


@contextmanager
def users_first() -> Iterator[None]:
    """Open a block in which names that both the user and this project have are the user's."""
    global _inside
    folders = {} if _inside else _folders()
    if not folders:
        yield
        return
    ours = _shared(folders)
    finder = _Finder(folders, ours)
    for name in ours:
        if _has(folders, name):
            del sys.modules[name]
    sys.modules.update(_theirs)
    sys.meta_path.insert(0, finder)
    _inside = True
    try:
        yield
    finally:
        _inside = False
        sys.meta_path.remove(finder)
        for name, module in _shared(folders).items():
            if ours.get(name) is not module:
                _theirs[name] = module
            del sys.modules[name]
        sys.modules.update(ours)


def _folders() -> dict[str, Path]:
    """Return the user's modules with a name of this project, from the current folder or from PYTHONPATH."""
    found: dict[str, Path] = {}
    for place in (os.getcwd(), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))):
        for name in NAMES:
            path = Path(place, name)
            if name not in found and _is_python(path) and not _is_ours(name, path):
                found[name] = path
    return found


def _is_python(path: Path) -> bool:
    """Return whether `path` is a module or a package; a folder without Python files is not."""
    return path.with_suffix(".py").is_file() or any(path.glob("*.py")) or any(path.glob("*/*.py"))


def _is_ours(name: str, path: Path) -> bool:
    return any(Path(ours).resolve() == path.resolve() for ours in importlib.import_module(name).__path__)


def _shared(folders: dict[str, Path]) -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] in folders}


def _has(folders: dict[str, Path], name: str) -> bool:
    """Return whether a module of this name, or the package that contains it, is the user's."""
    first, *rest = name.split(".")
    return not rest or _is_python(folders[first] / rest[0])


class _Finder:
    """Find the user's package, whose search path continues with the modules of this project."""

    def __init__(self, folders: dict[str, Path], ours: dict[str, ModuleType]) -> None:
        self.folders, self.ours = folders, ours

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.folders:
            return None
        folder, ours = self.folders[name], self.ours[name]
        init = next((f for f in (folder / "__init__.py", folder.with_suffix(".py")) if f.is_file()), None)
        loader = _Loader(name, os.devnull if init is None else str(init), dict(vars(ours)))
        spec = ModuleSpec(name, loader, origin=loader.path, is_package=True)
        spec.submodule_search_locations = [str(folder), *ours.__path__]
        return spec


class _Loader(SourceFileLoader):
    """Run the user's package, and add the names of this project that it lacks."""

    def __init__(self, name: str, path: str, lacking: dict[str, object]) -> None:
        super().__init__(name, path)
        self.lacking = lacking

    def is_package(self, fullname: str) -> bool:
        return True

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        for name, value in self.lacking.items():
            if not name.startswith("__") and not hasattr(module, name):
                setattr(module, name, value)
