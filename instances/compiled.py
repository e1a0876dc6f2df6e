"""Compile functions with numba, and cache their code between runs if there is a writable folder.

numba only detects changes in the file of a function, and fails without a folder. Here the cache key covers the
function, all functions that it calls and all constants that it reads, in any file. If the folder is missing, full or
read-only, the function is compiled in every run.
"""

from __future__ import annotations

import dis
import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import cached_property
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import numpy as np

from instances.clock import ANNOUNCE, pause_clocks
from instances.private import private_folder

with pause_clocks():
    import numba
    from numba.core import caching, event
    from numba.core.dispatcher import Dispatcher
    from numba.core.runtime.nrt import rtsys

F = TypeVar("F", bound=Callable[..., Any])


def compile_lazily(function: F) -> F:
    """Return the function, compiled or loaded from the cache at its first call with arguments of given types."""
    made: Any = numba.njit(function)
    if hasattr(made, "py_func"):  # false if NUMBA_DISABLE_JIT is set
        made._cache = _Kept(made.py_func)
    return made


def is_missing_in_cache(function: Any, types: Any) -> bool:
    """Return whether a call with these types would compile the function and add it to the cache."""
    return hasattr(function, "py_func") and function._cache.lacks(tuple(types), function.targetctx.codegen())


class _Kept(caching.NullCache):
    """numba's cache of a function, opened at the first call. Errors of the cache never stop a run."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function

    @cached_property
    def _cache(self) -> caching._Cache:
        try:
            return _Cache(self._function)
        except (RuntimeError, OSError):  # no writable folder
            return caching.NullCache()

    @property
    def cache_path(self) -> str | None:
        return self._cache.cache_path

    def lacks(self, sig: Any, codegen: Any) -> bool:
        """Return whether the cache works and lacks a signature."""
        cache = self._cache
        return isinstance(cache, _Cache) and not cache.has(sig, codegen)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = None
        with suppress(Exception):  # a damaged file can raise any exception
            found = self._cache.load_overload(sig, target_context)
        if found is None and os.environ.pop(ANNOUNCE, ""):  # once per process
            print("compiling more functions for this instance, once", file=sys.stderr, flush=True)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            self._cache.save_overload(sig, data)

    def flush(self) -> None:
        with suppress(OSError):
            self._cache.flush()


def _find_locator(name: str) -> Any:
    """Return a cache locator of numba; its name starts with an underscore before numba 0.62."""
    return getattr(caching, name, None) or getattr(caching, f"_{name}")


class _Somewhere(caching._CacheLocator):
    """A cache folder, created if possible; a folder `~` is never created if there is no home."""

    def ensure_cache_path(self) -> None:
        if self.get_cache_path().startswith("~"):
            raise FileNotFoundError("there is no home folder")
        super().ensure_cache_path()


class _Said(_Somewhere, _find_locator("UserProvidedCacheLocator")):  # type: ignore[misc]
    """The folder that NUMBA_CACHE_DIR names."""


class _Home(_Somewhere, _find_locator("UserWideCacheLocator")):  # type: ignore[misc]
    """The user's folder for caches."""


class _Private(_find_locator("InTreeCacheLocator")):  # type: ignore[misc]
    """A private folder of this user, for the case that neither the source folder nor the home is writable."""

    def __init__(self, py_func: FunctionType, py_file: str) -> None:
        super().__init__(py_func, py_file)
        folder = private_folder()
        if folder is None:
            raise FileNotFoundError("there is no private folder")
        self._cache_path = os.path.join(folder, "numba", self.get_suitable_cache_subpath(py_file))

    @classmethod
    def from_function(cls, py_func: FunctionType, py_file: str) -> Any:
        with suppress(FileNotFoundError):
            return super().from_function(py_func, py_file)


class _Code(caching.CompileResultCacheImpl):
    _locator_classes = [_Said, _find_locator("InTreeCacheLocator"), _Home, _Private]  # noqa: RUF012


class _Cache(caching.FunctionCache):
    _impl_class = _Code

    def __init__(self, function: FunctionType) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp(), _digest(function)
        self._cache_file = _Files(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the code of a signature without numba's declarations, which take longer to load than most runs take.

        Cached code needs only the runtime. The compiler loads the declarations itself.
        """
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def has(self, sig: Any, codegen: Any) -> bool:
        """Return whether the cache contains the code of a signature."""
        try:
            return self._index_key(sig, codegen) in self._cache_file._load_index()
        except Exception:  # a damaged file can raise any exception
            return False


class _Files(caching.IndexDataCacheFile):
    """The index of a function and the code of each signature; each code file contains its own key.

    Two processes may give the same number to two signatures. A process that dies may leave an index that points to the
    code of another signature.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (self._source_stamp, key, data))

    def _load_index(self) -> dict[Any, Any]:
        try:
            return super()._load_index()
        except (AttributeError, ImportError):  # the index names a type that was renamed or moved
            return {}

    def load(self, key: Any) -> Any:
        found = super().load(key)
        return found[2] if found is not None and found[:2] == (self._source_stamp, key) else None


def _digest(function: FunctionType) -> str:
    """Return a digest of a function and of all its dependencies, in any file."""
    return hashlib.sha256("\n".join(_describe(function, set())).encode()).hexdigest()


def _describe(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    if function in seen:
        return
    seen.add(function)
    yield f"{function.__module__}.{function.__qualname__} {function.__defaults__}"
    for code in _codes(function.__code__):
        constants = [c for c in code.co_consts if not isinstance(c, CodeType)]
        yield f"{code.co_code.hex()} {constants!r} {code.co_names} {code.co_varnames}"
        for name in sorted({i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}):
            if name in function.__globals__:
                yield from _value(name, function.__globals__[name], seen)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of the functions nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _value(name: str, value: Any, seen: set[FunctionType]) -> Iterator[str]:
    if isinstance(value, Dispatcher):
        yield from _describe(value.py_func, seen)
    elif isinstance(value, FunctionType):  # its `repr` contains an address, which differs in every process
        yield f"{name} {value.__module__}.{value.__qualname__}"
    elif isinstance(value, ModuleType):
        yield f"{name} {value.__name__} {getattr(value, '__version__', '')}"
    elif isinstance(value, np.ndarray):
        yield f"{name} {value.dtype} {value.shape} {value.tobytes().hex()}"
    else:
        yield f"{name} {value!r}"


class _Uncounted(event.Listener):
    """Stop all clocks while numba compiles or loads a function."""

    def __init__(self) -> None:
        self._depth, self._block = 0, ExitStack()

    def on_start(self, event: event.Event) -> None:
        if self._depth == 0:
            self._block.enter_context(pause_clocks())
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._block.close()


event.register("numba:compiler_lock", _Uncounted())
