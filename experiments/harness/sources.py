"""The project's own modules: which imports which, and what the code of each is, whatever is remarked in it."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import instances
from instances import InputError

ROOT = Path(instances.__file__).resolve().parents[1]
LAYERS = ("instances", "models", "heuristics", "experiments")
TARGET = re.compile(r"\w+(\.\w+)+:\w+")  # module:function
DIGITS = 12  # of a digest


@cache
def files() -> dict[str, Path]:
    """The file of every module of the project, by its name."""
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for layer in LAYERS
        for file in sorted((ROOT / layer).rglob("*.py"))
    }


def imported(name: str, texts: bool = True) -> Iterator[str]:
    """The project's modules that a module imports, wherever in it, and those it names in a text, unless not `texts`."""
    package = name if files()[name].name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(_tree(name)):
        found: list[str] = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            found = [f"{module}.{alias.name}" for alias in node.names]
            found = [full if full in files() else module for full in found]
        elif texts and isinstance(node, ast.Constant) and TARGET.fullmatch(str(node.value)):
            found = [str(node.value).partition(":")[0]]  # imported when it is needed
        yield from (module for module in found if module.partition(".")[0] in LAYERS and module != name)


@cache
def _imported(name: str) -> tuple[str, ...]:
    return tuple(sorted(other for other in set(imported(name)) if other in files()))


def behind(modules: Iterable[str], apart: Collection[str] = ()) -> list[str]:
    """Some modules and all that they import, and what those import.

    `apart`: modules that are not entered, and papers whose folders are not: what belongs to no paper names them in
    lists alone. Raises InputError for a module that the project has not.
    """
    found: set[str] = set()
    left = list(modules)
    while left:
        name = left.pop()
        if name not in files():
            raise InputError(f"{name}: is no module of this project")
        if name not in found and not {name, *name.split(".")} & set(apart):
            found.add(name)
            left += _imported(name)
    return sorted(found)


@cache
def digest(name: str) -> str:
    """Digest of the code of a module, and of the tables that lie in `data` beside a package; no remark is part of it.

    It is the same with every version of Python that reads the code in the same way.
    """
    found = hashlib.sha256("\n".join(_said(_tree(name))).encode())
    if files()[name].name == "__init__.py":
        for table in sorted((files()[name].parent / "data").glob("*.csv")):
            found.update(table.name.encode() + b"\0" + table.read_bytes())
    return found.hexdigest()[:DIGITS]


def digest_of(code: Mapping[str, str]) -> str:
    """One digest of several, by module."""
    return hashlib.sha256("\n".join(f"{name} {code[name]}" for name in sorted(code)).encode()).hexdigest()


@cache
def _tree(name: str) -> ast.Module:
    return ast.parse(files()[name].read_text(encoding="utf-8"))


def _said(node: ast.AST) -> Iterator[str]:
    """What a piece of code says, a line a node or value; not where it stands, nor what is said beside it in a text."""
    yield type(node).__name__
    for name, value in ast.iter_fields(node):
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
                continue  # a docstring
            if isinstance(one, ast.AST):
                yield name
                yield from _said(one)
            elif one is not None:
                yield f"{name} {one!r}"
    yield "."
