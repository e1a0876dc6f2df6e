"""Test that every name of the product is used by the product or a page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.commands import ROOT

LAYERS = ("instances", "models", "heuristics", "experiments")
CALLED_FROM_OUTSIDE = {  # by their names: Jupyter, the import system, pymoo, numba, OR-tools
    "_repr_html_",
    "find_spec",
    "is_package",
    "_do",
    "on_start",
    "on_end",
    "on_solution_callback",
}
FOR_POLICIES = {"remaining_at", "stretches_table"}  # what the views and records of a world offer a policy of one's own
PLAIN = {"property", "cached_property", "staticmethod", "classmethod"}  # decorators that hand nothing on
TARGET = re.compile(r"(?:\w+(?:\.\w+)+:)?([a-z]\w+_\w+|(?<=:)\w+)")  # module:name, or a function in a table


def defined(tree: ast.Module) -> Iterator[str]:
    """Functions, classes and methods, but for those that a decorator hands on, and the constants of the module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.decorator_list:
            yield node.name
        elif isinstance(node, ast.FunctionDef):
            yield from [node.name] * all(ast.unparse(d) in PLAIN for d in node.decorator_list)
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def used(tree: ast.Module) -> Iterator[str]:
    """Names that are read, imported by another name, or named as what a command or a method loads."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias) and node.asname is not None:
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (found[1] for found in [TARGET.fullmatch(node.value)] if found)


def test_no_name_is_there_for_its_tests_alone():
    trees = [ast.parse(file.read_text()) for layer in LAYERS for file in sorted((ROOT / layer).rglob("*.py"))]
    names = {name for tree in trees for name in defined(tree) if not re.fullmatch("__.*__", name)}
    pages = " ".join(page.read_text() for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
    known = {name for tree in trees for name in used(tree)} | set(re.findall(r"\w+", pages))
    assert sorted(names - known - CALLED_FROM_OUTSIDE - FOR_POLICIES) == []
