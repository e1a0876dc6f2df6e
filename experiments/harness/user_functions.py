"""Load a user's own heuristic by its `module:function`, call it, and convert its return value to an answer.

The heuristic is untrusted. Its solution is checked like any other; a bound that it claims is passed on in `info` and
proves nothing.

The user's own modules have precedence in the user's code, even if they are named like packages of this project: a
user's project with a folder `models` can provide a heuristic that imports `models.net`. While the user's code runs,
`models` is the user's package. Modules and names that it lacks come from this project, as the same objects. While the
project's own code runs, every name is the project's.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import numbers
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import instances
from instances import Answer, InputError, Options, ProblemData, Result, Stopwatch
from instances.method import ANY, Method
from instances.options import OPTION_NAMES
from instances.result import Termination
from instances.text import describe_error

NAMES = ("instances", "models", "heuristics", "experiments")
ROOT = Path(instances.__file__).resolve().parents[1]
"""The project's packages, and the folder that they are in."""
TARGET = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
CLAIMED = "claimed_bound"
LARGEST = 1 << 64
MOST_SOURCES = 1000  # maximum number of files in a module's folder that are read for its digest


def user_method(name: str, code: bytes | None = None) -> Method[Any]:
    """Wrap the user's function `name`, given as `module:function` or pickled in `code`, as a heuristic method.

    The function gets a copy of the data, and the options if it takes two arguments. It returns a solution in JSON form,
    an Answer or a Result. A class is instantiated first, and the object is called. Raises InputError if there is no
    such function; the method raises InputError if it returns another type.
    """
    function = user_function(name, code)
    if inspect.isclass(function):
        function = _built(name, function)
    if not callable(function):
        raise InputError(f"method: {name} must be a function, or have __call__(data), got {type(function).__name__}")

    def call_without_options(data: ProblemData) -> Answer:
        return _call(name, function, data)

    def call_with_options(data: ProblemData, options: Options) -> Answer:
        return _call(name, function, data, options)

    if _takes_options(function):
        return Method(name, "heuristic", call_with_options, ("options",), OPTION_NAMES)
    return Method(name, "heuristic", call_without_options, (), ANY)


def _built(name: str, kind: type[Any]) -> Any:
    with users_first():
        try:
            return kind()
        except Exception as error:  # the user's constructor may raise anything
            raise InputError(f"method: {name}: {type(error).__name__}: {describe_error(error)}") from error


def _call(name: str, function: Callable[..., Any], data: ProblemData, *options: Options) -> Answer:
    copy = data.model_copy(deep=True)
    with Stopwatch() as clock, users_first():
        returned = function(copy, *options)
    if isinstance(returned, Result):
        returned = returned.unchecked()
    if isinstance(returned, Mapping):
        returned = Answer(returned)
    if not isinstance(returned, Answer):
        raise InputError(f"method: {name} must return a solution, got {type(returned).__name__}")
    return _plain_answer(returned, clock.cpu_s)


def _plain_answer(said: Answer, cpu_s: float) -> Answer:
    """Convert an answer to plain data. Raises InputError for values that are not of the documented types."""
    info = plain(said.info, "info")
    if not isinstance(info, dict):
        raise InputError(f"info: must be an object, got {type(info).__name__}")
    if said.bound is not None:
        info[CLAIMED] = plain(said.bound, "bound")
    termination, reason = said.termination, plain(said.reason, "reason")
    if termination not in get_args(Termination):
        raise InputError(f"termination: must be one of {', '.join(get_args(Termination))}, got {termination!r}")
    if termination == "infeasible":
        termination, reason = "finished", f"claims that there is no solution: {reason or 'without a reason'}"
    if said.solution is None and reason is None:
        reason = "returned no solution"
    trace = plain(said.trace, "trace")
    if not all(isinstance(t, list) and len(t) == 3 and isinstance(t[0], float | int) for t in trace):
        raise InputError("trace: must be a list of (seconds, incumbent, bound)")
    seconds = plain(said.build_s, "build_s"), plain(said.solve_s, "solve_s")
    measured = any(seconds)
    return Answer(
        solution=plain(said.solution, "solution"),
        termination=termination,
        reason=None if reason is None else str(reason),
        build_s=seconds[0] if measured else 0.0,
        solve_s=seconds[1] if measured else cpu_s,
        trace=tuple((when, incumbent, None) for when, incumbent, _ in trace),
        info=info,
    )


def plain(value: Any, path: str) -> Any:
    """Convert `value` to JSON types, including numpy's numbers and arrays. Raises InputError for any other type."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, numbers.Integral):
        if abs(int(value)) >= LARGEST:
            raise InputError(f"{path}: must be less than 2^64, got a number of {int(value).bit_length()} bits")
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InputError(f"{path}: a name must be text, got {key!r}")
        return {str(key): plain(inner, f"{path}.{key}") for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner, f"{path}[{i}]") for i, inner in enumerate(value)]
    if hasattr(value, "tolist"):  # numpy's types, including bool
        return plain(value.tolist(), path)
    raise InputError(f"{path}: must be JSON, got {type(value).__name__}")


def user_function(target: str, code: bytes | None = None, what: str = "method") -> Any:
    """Return the user's function, class or object of this name, or unpickle it from `code`. Raises InputError."""
    with users_first():
        if code is None:
            return resolve(target, what)
        try:
            return pickle.loads(code)
        except Exception as error:  # the user's modules may raise anything on import
            raise InputError(f"{what}: {target}: {type(error).__name__}: {describe_error(error)}") from error


def pickle_function(function: Any, what: str = "method") -> bytes:
    """Pickle a function or an object for another process, also from a notebook. Raises InputError if this fails."""
    import cloudpickle  # loading it takes as long as some runs

    try:
        code: bytes = cloudpickle.dumps(function)
    except Exception as error:
        raise InputError(
            f"{what}: {own_name(function)}: cannot be passed to another process: {describe_error(error)}"
        ) from error
    return code


def own_name(function: Any) -> str:
    """Return the name of a user's function or class, or of the class of an object."""
    return str(getattr(function, "__name__", type(function).__name__))


def resolve(target: str, what: str = "method") -> Any:
    """Return the function or policy that `module:function` names, also from the current folder. Raises InputError.

    A policy is an object with `decide(view)`.
    """
    module, _, name = target.partition(":")
    if not TARGET.fullmatch(target):
        raise InputError(f"{what}: must be package.module:function, got {target!r}")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # a console script does not search the current folder for the user's module
    try:
        with redirect_stdout(sys.stderr):  # standard output is for results
            found = importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the user's module may raise anything on import
        said = (
            describe_error(error)
            if isinstance(error, ImportError)
            else f"{type(error).__name__}: {describe_error(error)}"
        )
        raise InputError(f"{what}: {target}: {said}") from error
    function = getattr(found, name, None)
    if not (callable(function) or callable(getattr(function, "decide", None))):
        kind = type(function).__name__
        said = (
            f"{module} has no function {name!r}"
            if function is None
            else f"must be a function, got a value of type {kind}"
        )
        raise InputError(f"{what}: {target}: {said}")
    return function


def source_digest(target: str, code: bytes | None = None) -> str:
    """Compute the digest of the module that holds the user's function, and of all Python files in its folder.

    The digest of a pickled function includes its `code`, and these files if the function has a module.
    """
    digest = hashlib.sha256(code or b"")
    if code is None:
        with users_first():
            resolve(target)
            file = getattr(sys.modules[target.partition(":")[0]], "__file__", None)
    else:
        found = user_function(target, code)
        module = getattr(found, "__module__", None) or type(found).__module__
        file = getattr(sys.modules.get(module), "__file__", None)
    if file is not None:
        beside = sorted(p for p in Path(file).parent.glob("*.py") if p.is_file())[:MOST_SOURCES]
        for path in dict.fromkeys([Path(file), *beside]):
            digest.update(path.name.encode(errors="surrogateescape") + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def takes_data(function: Callable[..., Any]) -> bool:
    """Return whether a user's own function, or the constructor of a class, has a positional parameter for the data."""
    return _positional(function) != 0


def _takes_options(function: Callable[..., Any]) -> bool:
    """Return whether a user's own function has a second positional parameter, for the options."""
    return (_positional(function) or 0) > 1


def _positional(function: Callable[..., Any]) -> int | None:
    """Return the number of positional parameters, `None` if Python does not know them, as of compiled functions."""
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # Python does not know the parameters of some compiled functions
        return None
    return sum(p.kind in places for p in parameters)


their_modules: dict[str, ModuleType] = {}
_inside = False


@contextmanager
def users_first() -> Iterator[None]:
    """Open a block in which names that both the user and this project have are the user's."""
    global _inside
    folders = {} if _inside else find_shadowing_folders()
    if not folders:
        yield
        return
    ours = _find_shared_modules(folders)
    finder = _Finder(folders, ours)
    for name in ours:
        if _has(folders, name):
            del sys.modules[name]
    sys.modules.update(their_modules)
    sys.meta_path.insert(0, finder)
    _inside = True
    try:
        yield
    finally:
        _inside = False
        sys.meta_path.remove(finder)
        for name, module in _find_shared_modules(folders).items():
            if ours.get(name) is not module:
                their_modules[name] = module
            del sys.modules[name]
        sys.modules.update(ours)


def find_shadowing_folders() -> dict[str, Path]:
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


def _find_shared_modules(folders: dict[str, Path]) -> dict[str, ModuleType]:
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


@cache
def files() -> dict[str, Path]:
    """Return the file of every module of the project, by module name."""
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for layer in NAMES
        for file in sorted((ROOT / layer).rglob("*.py"))
    }


@cache
def code_digest() -> str:
    """Return the digest of all modules and of the tables in their `data` folders."""
    tables = [table for layer in NAMES for table in sorted((ROOT / layer).rglob("data/*.csv"))]
    found = hashlib.sha256()
    for file in (*files().values(), *tables):
        found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()
