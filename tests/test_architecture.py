"""Test the layers, imports, roles, names and command start of the code as docs/adding.md describes them."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

import networkx as nx
import pytest

from experiments.harness.user_functions import files
from experiments.papers import BUILDS_ON, ONLINE, PAPERS
from tests.commands import ROOT, python

LAYERS = {
    "instances": {"instances"},
    "models": {"instances", "models"},
    "heuristics": {"instances", "heuristics"},
    "experiments": {"instances", "models", "heuristics", "experiments"},
}
ROLES = {
    "instances": ("examples", "generators", "checker"),
    "models": ("exact", "literal"),
    "experiments": ("problems", "methods", "reference"),
}
OF_A_WORLD = ("simulation", "pictures", "reproduce")  # roles of a paper that is simulated
LISTS = {"experiments.papers", "instances.registry"}  # the two files that a fifth paper edits
INSIDE = {  # what a part of experiments may not import, beside the commands
    "experiments.harness": ["experiments.output", "experiments.papers", "experiments.plan"],  # it is given what it runs
    "experiments.output": ["experiments.papers", "experiments.plan"],
    "experiments.simulator": ["experiments.plan"],
    "experiments.papers": ["experiments.plan", "experiments.output", "experiments.simulator"],
}
HEAVY = ("matplotlib", "pyomo", "cvxpy")
FOR_SOLVING = ("scipy", "numba", "highspy", "networkx")
SOLVERS = ("highspy", "pyomo", "cvxpy", "networkx", "numba", "scipy.optimize", "scipy.sparse", "instances.compiled")
DATA_THAT_SOLVES = {  # in `instances` outside `proofs`
    "instances.aryl.populations": {"scipy.optimize"},  # weights of jobs to draw from, fitted to the paper's means
    "instances.eva.online": {"scipy.optimize"},  # which rented instance a planned one continues: a matching
    "instances.compiled": {"numba"},  # the decorator
}
CALENDARS = {  # what happens next in a schedule: the heaps that `instances` has outside `proofs`
    *(f"instances.aryl.{name}" for name in ("checker", "schedule")),
    *(f"instances.sia.{name}" for name in ("checker", "local_oracle", "oracle", "reservations")),
}
CALLED_FROM_OUTSIDE = {  # by their names: Jupyter, the import system, pymoo, numba, OR-tools
    "_repr_html_",
    "find_spec",
    "is_package",
    "_do",
    "on_start",
    "on_end",
    "on_solution_callback",
    "explain_figures",  # by docs/conf.py
}
FOR_POLICIES = {"remaining_at", "stretches_table"}  # what the views and records of a world offer a policy of one's own
PLAIN = {"property", "cached_property", "staticmethod", "classmethod"}  # decorators that hand nothing on
LINES = 600  # one noun a file, as long as the noun needs

TARGET = re.compile(r"\w+(\.\w+)+:\w+")  # module:function
NAMED = re.compile(r"(?:\w+(?:\.\w+)+:)?([a-z]\w+_\w+|(?<=:)\w+)")  # module:name, or a function in a table

FILES = files()
RUN = {name for name, file in FILES.items() if "__main__" in file.read_text()}
"""The modules that are run: the commands."""


@cache
def nodes(name: str) -> list[ast.AST]:
    """All nodes of the text of a module."""
    return list(ast.walk(ast.parse(FILES[name].read_text())))


def imported(name: str, texts: bool = True) -> Iterator[str]:
    """Enumerate the project's modules that a module imports, and those named in its texts if `texts`."""
    package = name if FILES[name].name == "__init__.py" else name.rpartition(".")[0]
    for node in nodes(name):
        found: list[str] = []
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            found = [f"{module}.{alias.name}" for alias in node.names]
            found = [full if full in FILES else module for full in found]
        elif texts and isinstance(node, ast.Constant) and TARGET.fullmatch(str(node.value)):
            found = [str(node.value).partition(":")[0]]  # imported when it is needed
        yield from (module for module in found if module.partition(".")[0] in LAYERS and module != name)


@cache
def arrows(texts: bool = True) -> list[tuple[str, str]]:
    """Which module imports which; every file is parsed for it, so it is not found out where tests are collected."""
    return [(name, other) for name in FILES for other in sorted(set(imported(name, texts)))]


def room(module: str) -> str:
    """Return the folder of a module; a file directly under `experiments` is a folder of its own."""
    folder = module if FILES[module].name == "__init__.py" else module.rpartition(".")[0]
    return module if folder == "experiments" else folder


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def paper_of(module: str) -> str | None:
    """Return the paper whose folder, or simulation world, contains a module."""
    return next((part for part in module.split(".") if part in PAPERS), None)


def test_every_import_of_the_project_is_there():
    assert [(a, b) for a, b in arrows() if b not in FILES] == []


def test_every_layer_imports_those_below_it_alone():
    assert len(arrows()) > len(FILES)
    up = [(a, b) for a, b in arrows() if b.partition(".")[0] not in LAYERS[a.partition(".")[0]]]
    assert up == []


@cache
def loaded(name: str) -> set[str]:
    """Whatever a module imports, wherever in its text, with what it imports from there."""
    found = set()
    for node in nodes(name):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_data_solve_nothing_and_know_no_proof_but_in_the_list_of_problems():
    data = [name for name in FILES if within(name, "instances") and not within(name, "instances.proofs")]
    solving = {name: {s for s in SOLVERS for m in loaded(name) if within(m, s)} for name in data}
    assert {name: what for name, what in solving.items() if what} == DATA_THAT_SOLVES
    assert {name for name in data if "heapq" in loaded(name)} == CALENDARS
    assert {a for a, b in arrows() if a in data and within(b, "instances.proofs")} == {"instances.registry"}


def test_no_module_is_part_of_a_circle():
    circles = [sorted(c) for c in nx.strongly_connected_components(nx.DiGraph(arrows())) if len(c) > 1]
    assert circles == []


def test_no_folder_of_experiments_is_part_of_a_circle():
    """Of imports alone, wherever they stand: the texts of `papers` name what a command loads and hands on."""
    rooms = {(room(a), room(b)) for a, b in arrows(texts=False) if a.startswith("experiments.") and b in FILES}
    rooms = {(a, b) for a, b in rooms if a != b and b.startswith("experiments")}
    assert {"experiments.harness", "experiments.papers", "experiments.simulator.eva"} <= {b for _, b in rooms}
    circles = [sorted(c) for c in nx.strongly_connected_components(nx.DiGraph(rooms)) if len(c) > 1]
    assert circles == []


@pytest.mark.parametrize("part", INSIDE)
def test_within_experiments_nothing_imports_what_is_above_it(part: str):
    above = [*RUN, *INSIDE[part]]
    assert [(a, b) for a, b in arrows() if within(a, part) and any(within(b, other) for other in above)] == []


def test_a_paper_is_named_by_its_own_folders_those_of_one_that_builds_on_it_and_the_two_lists_alone():
    own = {paper: (None, paper, BUILDS_ON.get(paper)) for paper in PAPERS}
    named = [(a, b) for a, b in arrows() if paper_of(b) not in own.get(paper_of(a), (None,)) and a not in LISTS]
    assert named == []
    assert not set(BUILDS_ON) & set(BUILDS_ON.values()), "what is built on builds on nothing"


@pytest.mark.parametrize("paper", PAPERS)
def test_the_files_of_every_paper_have_the_same_roles(paper: str):
    wanted = [f"{layer}.{paper}.{role}" for layer, roles in ROLES.items() for role in roles]
    wanted += [f"heuristics.{paper}"] + [f"instances.{paper}.arrays"] * (paper != "aryl")
    if any(target.startswith(f"experiments.{paper}.") for target in ONLINE.targets.values()):
        wanted += [f"instances.{paper}.online", f"heuristics.{paper}.online"]
        wanted += [f"experiments.{paper}.{role}" for role in OF_A_WORLD]
    assert [name for name in wanted if name not in FILES] == []


def test_no_command_and_no_model_loads_what_few_runs_need():
    code = """if 1:
        import importlib, json, sys
        heavy, failed = sys.argv[1].split(), {}
        sys.modules.update(dict.fromkeys(heavy))  # whose import is an error from here on
        for name in sys.argv[2:]:
            try:
                importlib.import_module(name)
            except ImportError as error:
                failed[name] = str(error)  # and is loaded anew, to fail again, by the next that needs it
        print(json.dumps(failed))"""
    done = python("-c", code, " ".join(HEAVY), *sorted(RUN), *(f"models.{paper}" for paper in PAPERS))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {}


def test_the_command_line_loads_nothing_that_only_solves():
    code = "import sys, experiments.cli; print(*(name for name in sys.argv[1:] if name in sys.modules))"
    done = python("-c", code, *HEAVY, *FOR_SOLVING)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_help_loads_no_command_and_solving_no_table():
    """What a command costs before it begins: help reads docstrings alone, and pandas is for tables of the user's."""
    for code, light in (
        ("from experiments.cli import app_of; app_of(['--help'])", ("instances", "numpy", "pydantic", "pandas")),
        ("from experiments.cli import app_of; app_of(['solve', 'x.json'])", ("pandas", *HEAVY, *FOR_SOLVING)),
        ("import instances", [f"instances.{name}" for name in (*PAPERS, "proofs")]),
    ):
        done = python(
            "-c", f"import sys; {code}; print(*(name for name in sys.argv[1:] if name in sys.modules))", *light
        )
        assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def test_no_class_name_has_two_meanings():
    names = Counter(node.name for name in FILES for node in nodes(name) if isinstance(node, ast.ClassDef))
    assert len(names) > 500
    assert {name for name, times in names.items() if times > 1} == set()


def test_no_file_is_long():
    lengths = {name: len(file.read_text().splitlines()) for name, file in FILES.items()}
    assert {name: lines for name, lines in lengths.items() if lines > LINES} == {}


def defined(name: str) -> Iterator[str]:
    """Functions, classes and methods, but for those that a decorator hands on, and the constants of a module."""
    for node in nodes(name):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.decorator_list:
            yield node.name
        elif isinstance(node, ast.FunctionDef):
            yield from [node.name] * all(ast.unparse(d) in PLAIN for d in node.decorator_list)
        elif isinstance(node, ast.Module):
            for one in node.body:
                targets = one.targets if isinstance(one, ast.Assign) else [getattr(one, "target", None)]
                yield from (target.id for target in targets if isinstance(target, ast.Name))


def used(name: str) -> Iterator[str]:
    """Names that are read, imported by another name, or named as what a command or a method loads."""
    for node in nodes(name):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias) and node.asname is not None:
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (found[1] for found in [NAMED.fullmatch(node.value)] if found)


def test_no_name_is_there_for_its_tests_alone():
    names = {name for module in FILES for name in defined(module) if not re.fullmatch("__.*__", name)}
    pages = " ".join(page.read_text() for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"])
    known = {name for module in FILES for name in used(module)} | set(re.findall(r"\w+", pages))
    assert sorted(names - known - CALLED_FROM_OUTSIDE - FOR_POLICIES) == []
