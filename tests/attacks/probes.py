"""Measure which changes the probes of the records detect: `nice python -m tests.attacks.probes PART`.

- `rename [PAPER...]`: in a copy of the project a function is renamed in each layer of each paper, and the functions of
  its module are put in the opposite order. Then `gapwise reproduce --stale` must name no record.
- `sign`: one sign of one rule changes. A table shows for each probe that runs the rule how many choices the rule makes,
  and how many of these are others with the opposite sign. It also shows whether runs of the probe change, and why its
  record is stale. If no run changes, the record is up to date: other choices only changed the order of starts.
- `mutants NUMBER [SEED] [PART PARTS]`: draw so many places in heuristics, models and the simulator, and change at each
  a bound, a sign, a number, a choice or a condition. The probes of the paper run until one differs. If none does, the
  tests of the folder, the attacks on the paper and its worst cases run in a copy of the project; if these pass too,
  their long cases run. PART of PARTS, counted from 0, takes every PARTS-th mutant only, so that two processes can
  share them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import os
import pickle
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

from experiments.harness.evidence import read
from experiments.harness.experiment import Context, SharedTasks
from experiments.harness.task import ReportFile
from experiments.harness.user_functions import NAMES as LAYERS
from experiments.harness.user_functions import ROOT, files
from experiments.papers import PAPERS
from experiments.recorded import Recorded, RecordPlan, list_records_of, probe_context, timeless
from instances import Stopwatch

PLACES = ("heuristics", "models", "experiments/simulator")
"""The folders of which each paper has a part, where mutants are put."""
SIGN = "min(able, key=lambda name: allocated", "min(able, key=lambda name: -allocated"
"""SIA starts a job of the pool that has the smallest share of its quota; and of the one that has the largest."""
COPY_S = 3600  # seconds after which a command in a copy is ended: a mutant may run for ever
NOTHING_RAN = 5  # exit status of pytest if no test has the mark
CHILD_S = 120  # CPU seconds of the probes of a paper with a mutant
SWAPPED = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
SWAPPED |= {ast.Add: ast.Sub, ast.Sub: ast.Add}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


@contextmanager
def copy_of_project() -> Iterator[Path]:
    """Copy what probes and tests need, with the compiled code."""
    with tempfile.TemporaryDirectory() as folder:
        left_out = shutil.ignore_patterns(".git", ".venv", "_build", "found")
        for name in (*LAYERS, "tests", "docs", "pyproject.toml"):
            place = ROOT / name
            if place.is_dir():
                shutil.copytree(place, Path(folder) / name, ignore=left_out)
            else:
                shutil.copy2(place, folder)
        yield Path(folder)


def in_copy(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python with arguments in a copy."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=COPY_S)


def turn_around(text: str) -> str:
    """Return the text of a module in which consecutive functions are in the opposite order."""
    lines = text.splitlines(keepends=True)
    plain = lambda node: isinstance(node, ast.FunctionDef) and not node.decorator_list  # noqa: E731
    for alike, run in reversed([(k, list(g)) for k, g in itertools.groupby(ast.parse(text).body, plain)]):
        if alike:
            spans = [(node.lineno - 1, node.end_lineno) for node in run]
            blocks = ["".join(lines[first:last]) for first, last in spans][::-1]
            for (first, last), block in reversed(list(zip(spans, blocks, strict=True))):
                lines[first:last] = [block]
            lines = "".join(lines).splitlines(keepends=True)
    return "".join(lines)


def choose(folder: Path, texts: Mapping[Path, str], times: Mapping[str, int]) -> tuple[Path, str]:
    """Return the module of a folder with most public functions, and the first of these.

    `times`: how often a module or a function has a name; only unique names of two words count.
    """
    found: dict[Path, list[str]] = {}
    for path in sorted(folder.glob("*.py")):
        plain = (node for node in ast.parse(texts[path]).body if isinstance(node, ast.FunctionDef))
        names = [node.name for node in plain if not node.decorator_list and not node.name.startswith("_")]
        found[path] = [name for name in names if "_" in name and times[name] == 1]
    path = max(found, key=lambda path: len(found[path]))
    return path, found[path][0]


def rename(*papers: str) -> None:
    """Rename and reorder, and print what is stale of papers, or of all."""
    with copy_of_project() as folder:
        texts = {file: file.read_text() for layer in LAYERS for file in (folder / layer).rglob("*.py")}
        times = Counter(re.findall(r"\bdef (\w+)", "".join(texts.values()))) + Counter(file.stem for file in texts)
        for layer, paper in itertools.product(LAYERS, papers or PAPERS):
            path, function = choose(folder / layer / paper, texts, times)
            print(f"{path.relative_to(folder)}: {function}", flush=True)
            path.write_text(turn_around(path.read_text()))
            for file in texts:
                text = file.read_text()
                if (now := re.sub(rf"\b{function}\b", f"{function}_renamed", text)) != text:
                    file.write_text(now)
        done = in_copy(folder, "-m", "experiments.cli", "reproduce", *papers, "--stale", "--jobs", "2", "--quiet")
        print(done.stdout, done.stderr[-2000:], f"status {done.returncode}")


class Probes:
    """The probes of papers, run in this process; a run that several have is made once."""

    def __init__(self, *papers: str) -> None:
        self.shared, self.outcomes = SharedTasks(), dict[int, Any]()
        self.plans: list[tuple[Recorded, RecordPlan]] = []
        for one in (one for paper in papers for one in list_records_of(paper) if read(one.id) is not None):
            self.plans.append((one, one.plan(probe_context(Context()))))

    def difference(self, one: Recorded, plan: RecordPlan) -> str | None:
        """Why a record is stale."""
        record = read(one.id)
        assert record is not None
        assert record.probe is not None
        places, outcomes = self.shared.add(plan.tasks), list[Any]()
        while len(outcomes) < len(places):
            outcomes += [self._outcome(place) for place in places[len(outcomes) :]]
            places += self.shared.add(plan.following(outcomes))
        try:
            return record.probe.difference(one.probe(plan, outcomes))
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    def _outcome(self, place: int) -> Any:
        if place not in self.outcomes:
            task = self.shared.tasks[place]
            with tempfile.TemporaryDirectory() as folder:
                report = ReportFile(Path(folder) / "report")
                found = timeless(task.outcome(pickle.loads(pickle.dumps(task)).work(report)))
            self.outcomes[place] = found
        return self.outcomes[place]

    def warm_up(self) -> None:
        """Run all probes once, so that children have their modules and kernels, and put the quick ones first."""
        seconds: dict[str, float] = {}
        for one, plan in self.plans:
            with Stopwatch() as clock:
                self.difference(one, plan)
            seconds[one.id] = clock.cpu_s
        self.plans.sort(key=lambda pair: seconds[pair[0].id])
        self.outcomes.clear()

    def stale(self, first_alone: bool = False) -> dict[str, str]:
        """Return the stale records with reasons; `first_alone`: only the first one."""
        found: dict[str, str] = {}
        for one, plan in self.plans:
            try:
                why = self.difference(one, plan)
            except Exception as error:  # of a run
                why = f"{type(error).__name__}: {error}"
            if why is not None:
                found[one.id] = why
                if first_alone:
                    break
        return found


@dataclass(frozen=True)
class Mutant:
    """A module with one change: the text of the whole, and the line and the change in words."""

    module: str
    text: str
    said: str


class Changing(ast.NodeTransformer):
    """Makes the change at one place of those in functions: a bound, a sign, a number, a choice or a condition."""

    def __init__(self, place: int | None) -> None:
        self.place, self.places, self.said = place, 0, ""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if any("compiled" in ast.unparse(one) for one in node.decorator_list):
            return node
        node.body = [self.visit(one) for one in node.body]
        return node

    def _here(self, node: ast.AST, changed: ast.AST) -> ast.AST:
        self.places += 1
        if self.places - 1 != self.place:
            return node
        self.said = f"{getattr(node, 'lineno', 0)}: {ast.unparse(node)[:50]} -> {ast.unparse(changed)[:50]}"
        return ast.copy_location(changed, node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        other = SWAPPED.get(type(node.ops[0]))
        return (
            node
            if other is None
            else self._here(node, ast.Compare(node.left, [other(), *node.ops[1:]], node.comparators))
        )

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        other = SWAPPED.get(type(node.op))
        return node if other is None else self._here(node, ast.BinOp(node.left, other(), node.right))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        left = node.values[:-1]
        return self._here(node, left[0] if len(left) == 1 else ast.BoolOp(node.op, left))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._here(node, node.operand) if isinstance(node.op, ast.USub | ast.Not) else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return self._here(node, ast.Constant(node.value + 1)) if type(node.value) is int else node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._here(node, ast.Name(NAMES[node.id], node.ctx)) if node.id in NAMES else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node


def changed(module: str, place: int | None) -> tuple[Mutant, int]:
    """Return a module with the change at a place, and the number of such places."""
    tree = ast.parse(files()[module].read_text())
    change = Changing(place)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            change.visit(node)
    text = ast.unparse(ast.fix_missing_locations(tree)) if place is not None else ""
    return Mutant(module, text, change.said), change.places


def folders() -> list[str]:
    """Return the folders of the papers in each of the places, as far as there are some."""
    both = (f"{place}/{paper}" for place, paper in itertools.product(PLACES, PAPERS))
    return [folder for folder in both if (ROOT / folder).is_dir() or (ROOT / f"{folder}.py").is_file()]


def tests_of(folder: str) -> list[str]:
    """Return the tests of a folder: its own, those named after its paper, the attacks on the paper, its worst cases."""
    place, paper = folder.rsplit("/", 1)
    beside = (ROOT / "tests" / place).glob(f"test_{paper}*.py")
    named = [f"tests/{folder}", f"tests/attacks/test_{paper}.py", f"tests/worst_cases/test_{paper}.py"]
    return [
        *(path.relative_to(ROOT).as_posix() for path in beside),
        *(name for name in named if (ROOT / name).exists()),
    ]


def drawn(number: int, seed: int = 0) -> list[Mutant]:
    """So many mutants, each folder in turn, of a place that is drawn from all in its modules."""
    draw, found = random.Random(seed), list[Mutant]()
    places = {
        folder: [
            (name, place)
            for name, file in files().items()
            if file.relative_to(ROOT).as_posix().startswith(folder) and "kernels" not in name
            for place in range(changed(name, None)[1])
        ]
        for folder in folders()
    }
    for _, folder in zip(range(number), itertools.cycle(places), strict=False):
        found.append(changed(*draw.choice(places[folder]))[0])
    return found


def in_child(probes: Probes, mutant: Mutant, first_alone: bool) -> dict[str, str]:
    """Return the records that are stale under a mutant, found in a copy of this process."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        resource.setrlimit(resource.RLIMIT_CPU, (CHILD_S, CHILD_S + 1))  # a mutant may run for ever
        try:
            put_in(mutant)
            found = probes.stale(first_alone)
        except BaseException as error:
            found = {"error": repr(error)}
        with os.fdopen(writing, "wb") as stream:
            stream.write(pickle.dumps(found))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        content = stream.read()
    os.waitpid(child, 0)
    return pickle.loads(content) if content else {"error": "died"}


def put_in(mutant: Mutant) -> None:
    """Replace the code of the functions of a module by those of the changed one."""
    module = importlib.import_module(mutant.module)
    found = {code.co_qualname: code for code in _codes(compile(mutant.text, module.__file__ or "", "exec"))}
    for function in _functions(module):
        code = found.get(function.__qualname__)
        if code is not None and code.co_freevars == function.__code__.co_freevars:
            function.__code__ = code


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _functions(module: Any) -> Iterator[Any]:
    """Return the functions of a module and of its classes, without their decorators."""
    for value in vars(module).values():
        inside = vars(value).values() if inspect.isclass(value) and value.__module__ == module.__name__ else [value]
        for one in inside:
            one = one.fget if isinstance(one, property) else getattr(one, "__func__", one)
            one = inspect.unwrap(one) if callable(one) else one
            if inspect.isfunction(one) and one.__module__ == module.__name__:
                yield one


def tests_that_notice(mutant: Mutant) -> str:
    """Return which tests notice a mutant: the tests of its folder, their long cases, or neither."""
    with copy_of_project() as folder:
        place = files()[mutant.module].relative_to(ROOT)
        (folder / place).write_text(mutant.text)
        own = next(name for name in folders() if place.as_posix().startswith(name))
        for marked, noticed in (("not long", "tests alone"), ("long", "long cases alone")):
            try:
                done = in_copy(folder, "-m", "pytest", "-q", "-x", "-n", "0", "-m", marked, *tests_of(own))
            except subprocess.TimeoutExpired:
                return f"{noticed}, which do not end"
            if done.returncode not in (0, NOTHING_RAN):
                return noticed
    return "neither"


def paper_of(module: str) -> str:
    """Return the paper whose folder contains a module."""
    return next(part for part in module.split(".") if part in PAPERS)


def mutants(number: str, seed: str = "0", part: str = "0", parts: str = "1") -> None:
    """Print of each mutant who notices it."""
    probes: dict[str, Probes] = {}
    counts: Counter[str] = Counter()
    for mutant in drawn(int(number), int(seed))[int(part) :: int(parts)]:
        paper = paper_of(mutant.module)
        if paper not in probes:
            probes[paper] = Probes(paper)
            probes[paper].warm_up()
        found = in_child(probes[paper], mutant, first_alone=True)
        noticed = f"probe {next(iter(found))}" if found else tests_that_notice(mutant)
        counts[noticed.split()[0]] += 1
        print(f"{mutant.module} {mutant.said} | {noticed} | {next(iter(found.values()), '')[:60]}", flush=True)
    print(dict(counts))


class Choices:
    """Count the choices of a rule that takes a minimum, and those that are others with the opposite sign."""

    def __init__(self) -> None:
        self.made = self.others = 0

    def choose(self, entries: Sequence[Any], key: Callable[[Any], Any]) -> Any:
        """Return the entry with the smallest key, and count this choice."""
        found = min(entries, key=key)
        self.made += 1
        self.others += found != max(entries, key=key)
        return found


def sign() -> None:
    """Print for each probe that runs the rule which choices, runs and figures the opposite sign changes."""
    module = importlib.import_module("heuristics.sia.sia_scheduler")
    text, probes = files()[module.__name__].read_text(), Probes("sia")
    counted = SIGN[0], SIGN[0].replace("min(", "CHOICES.choose(")
    print("record | choices | others | runs | figures")
    for one, plan in probes.plans:
        choices = vars(module)["CHOICES"] = Choices()
        runs: list[dict[int, Any]] = []
        why: str | None = None
        for change in (counted, SIGN):
            put_in(Mutant(module.__name__, text.replace(*change), ""))
            probes.outcomes.clear()
            why = probes.difference(one, plan)
            runs.append(dict(probes.outcomes))
            if not choices.made:
                break
        else:
            changed_runs = "others" if runs[0] != runs[1] else "the same"
            print(f"{one.id} | {choices.made} | {choices.others} | {changed_runs} | {why or 'the same'}", flush=True)


if __name__ == "__main__":
    {"rename": rename, "sign": sign, "mutants": mutants}[sys.argv[1]](*sys.argv[2:])
