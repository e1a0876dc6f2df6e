"""Names of the previous version: they work for one more version, and warn."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def _warn(old: str, new: str) -> None:
    warnings.warn(f"{old} is now called {new}", DeprecationWarning, stacklevel=3)


class OldName(property):
    """An attribute of a class under its old name."""

    def __init__(self, new: str) -> None:
        self._new, self._old = new, ""
        super().__init__(self._read)

    def __set_name__(self, owner: type, name: str) -> None:
        self._old = f"{owner.__name__}.{name}"

    def _read(self, instance: Any) -> Any:
        _warn(self._old, self._new)
        return getattr(instance, self._new)


def find_old_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module that finds functions by their old names."""

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        _warn(f"{module}.{name}", names[name])
        return getattr(sys.modules[module], names[name])

    return find
