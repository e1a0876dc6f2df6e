"""Test that every documented command runs, or at least parses.

A command that is long by nature, or needs a service, is only parsed. Which is which stands in KINDS; a command that is
not there fails the first test, so that nobody documents one without a decision.
"""

from __future__ import annotations

import importlib
import itertools
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from experiments.aryl.reference import loaning
from experiments.cli import COMMANDS, GROUPS
from experiments.entry import USAGE_ERROR
from experiments.harness.gaps import score, summarise
from experiments.harness.overview import overview_of_study
from experiments.harness.records import add_records
from experiments.harness.run import apply
from experiments.papers import OVERVIEW, reference_sets_of
from experiments.plan import study_runs
from instances import Instance, Options, save
from instances.aryl import ArylReclaim, figure_5
from instances.boa import BoaRenting
from instances.eva import table_3
from instances.kubernetes import synthetic_dump
from instances.sia import five_jobs
from tests.boa_renting_cases import workload
from tests.commands import ROOT, call
from tests.eva_cloud_cases import TRACE, random_cloud

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(?:sh|console|bash|shell)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SYNOPSIS = re.compile(r"^gapwise (\w+) ", re.MULTILINE)

RUN, OTHER = "run on small stand-ins", "not of this project"
LONG = "run on small stand-ins by `pytest -m long`, for another that runs, or a test of its own, does all that it does"
PARSE = "parsed: it runs long, needs a service, or is like another that runs"
KINDS = {
    "gapwise data list": RUN,
    "gapwise data convert CLONES --out DIR": PARSE,
    "gapwise data check DIR": PARSE,
    "gapwise cluster --collect": RUN,
    "gapwise cluster dump.json --types types.csv --max-evictions 10% --plan plan.csv": RUN,
    "gapwise cluster dump.json --types types.csv --max-evictions 10% --format markdown": LONG,
    "gapwise cluster dump.json --types types.csv --out last-week": LONG,
    "gapwise cluster dump.json --types types.csv --since last-week/cluster.json --fail-above 10%": PARSE,
    "gapwise solve cluster.json --format json --quiet": RUN,
    "gapwise solve cluster.json --method all --plot pictures --plan plan.csv --next-best": RUN,
    "gapwise solve cluster.json --method all --time-limit 60": LONG,
    "gapwise solve cluster.json --method exact --certificate proofs": LONG,
    "gapwise solve cluster.json --method my_heuristics:first_fit --format json": RUN,
    "gapwise solve moment.json --certificate proofs": LONG,
    "gapwise verify cluster.json proofs/cluster.exact.json proofs/cluster.exact.certificate.json": RUN,
    "gapwise verify moment.json proofs/moment.exact.json proofs/moment.exact.vipr": RUN,
    "gapwise pareto snapshot.json --certificate proofs": RUN,
    "gapwise verify snapshot.json proofs/snapshot.front.json 'proofs/snapshot.front.*.vipr'": PARSE,
    "gapwise library write --only base-3d-1min-seed-10 --out open": PARSE,
    "gapwise solve open --method my_module:my_heuristic --out mine": PARSE,
    "gapwise library accept 'mine/base-3d-1min-seed-10.*.json'": PARSE,
    "gapwise library accept mine/RESULT.json mine/CERTIFICATE.vipr": PARSE,
    "gapwise gap_study cluster.json --method my_module:my_heuristic": RUN,
    "gapwise gap_study cluster.json --out my-results": LONG,
    "gapwise draw aryl-loaning --trace philly.csv --days 15 --out days.json.gz": PARSE,
    "gapwise draw boa-renting --trace newtrace.csv --budget 112 --out renting.json": RUN,
    "gapwise draw boa-renting --trace newtrace.csv --out newtrace.json.gz": RUN,
    "gapwise draw eva-cloud --trace jobs.csv --out cloud.json": RUN,
    "gapwise draw eva-cloud --trace trace_pai_200.csv --out jobs.json.gz": RUN,
    "gapwise draw node-placement --nodes 20 --seed 0 --out cluster.json": RUN,
    "gapwise solve cluster.json --method all --time-limit 10": PARSE,
    "gapwise draw node-consolidation --pods 60 --seed 0 --out shrunk.json": RUN,
    "gapwise solve shrunk.json --method exact --method karpenter-1.14 --time-limit 10": PARSE,
    "gapwise worst full-reconfiguration --size 5 --out worst": PARSE,
    "gapwise worst mine:pack --problem eva-packing --size 8": PARSE,
    "gapwise worst first-fit-decreasing --within cut-bins-2d --size 2": PARSE,
    "gapwise solve cluster.json --plot pictures": LONG,
    "gapwise solve cluster.json --write-model model.lp": RUN,
    "gapwise worst full-reconfiguration --size 2": LONG,
    "gapwise library write --only 'table 3' --out library": PARSE,
    "gapwise draw kubernetes-dump --nodes 10 --pods 100 --out dump": RUN,
    "gapwise cluster dump/dump.json --types dump/types.csv": LONG,
    "gapwise simulate cloud.json": LONG,
    "gapwise simulate cloud.json --policy eva-with-exact": LONG,
    "gapwise simulate cloud.json --policy eva-with-exact --policy exact --policy mine:make": RUN,
    "gapwise simulate days.json.gz": LONG,
    "gapwise simulate days.json.gz --policy sjf --policy sjf-loans --policy aryl": RUN,
    "gapwise simulate jobs.json.gz": PARSE,
    "gapwise simulate my-cluster.json --policy safe-ssf --policy oracle --out results": LONG,
    "gapwise simulate newtrace.json.gz": PARSE,
    "gapwise simulate renting.json": RUN,
    "gapwise simulate renting.json --policy exact --policy acquiring-exact --policy pollux-as-sum-0.7 "
    "--policy mine:make --out results": LONG,
    "gapwise simulate --workload base --days 0.5 --seeds 1 --policy sia-vc --policy my_policy:make --out results": RUN,
    "gapwise gap_study": PARSE,
    "gapwise gap_study --quick --problem eva-packing --method full-reconfiguration "
    "--method my_heuristics:first_fit": PARSE,
    "gapwise gap_study instances --dask tcp://scheduler.example:8786 --out results --resume": PARSE,
    "gapwise pareto newtrace.json --from 80.6 --to 300 --points 56 --mean-jct 0.5 --out frontier --method randomised "
    "--method width-calculator --method width-calculator-whole-job --method one-width": PARSE,
    "gapwise reproduce --traces DIR": PARSE,
    "gapwise reproduce aryl --traces DIR": PARSE,
    "gapwise reproduce boa --traces TRACES": PARSE,
    "gapwise score pack.py --task eva-packing --format json": PARSE,
    "gapwise score pack.py:fill --task eva-rounds --seed 100": PARSE,
    "gapwise score experiments/eva/evolved.py --task eva-packing --seed 100": PARSE,
    "gapwise study eva-evolution --evolve": PARSE,
    "gapwise study eva-evolution --trace DIR/eva/trace_pai_full.csv": PARSE,
    "gapwise study judge-calls": PARSE,
    "gapwise study node-placement": PARSE,
    "gapwise study node-placement --row zones --seeds 100": PARSE,
    "gapwise study prism-ceiling": PARSE,
    "gapwise study transactions-ceiling": PARSE,
    "gapwise score my_heuristics:dearest_first --problem eva-packing --quick": PARSE,
    "gapwise simulate --workload base --seeds 3": PARSE,
    "gapwise simulate --trace philly.csv --pools 4 --start-day 28 --days 14 --warm-up-days 2": PARSE,
    "gapwise simulate --trace philly.csv --pools 4 --start-day 28 --days 42 --policy sia-learned "
    "--policy sia-sliding": PARSE,
    "gapwise simulate --workload base --policy sia-perfect --policy sia-perfect-preemptive "
    "--policy sia-sliding-preemptive": PARSE,
    "python -m experiments.gap_study": PARSE,
    "python -m experiments.peers": PARSE,
    "python -m experiments.peers --growth": PARSE,
    "gapwise study aryl-benchmark": PARSE,
    "gapwise study boa-benchmark": PARSE,
    "gapwise study eva-benchmark": PARSE,
    "gapwise study eva-ablation": PARSE,
    "gapwise study sia-benchmark --trace philly.csv": PARSE,
    "python -m pytest": OTHER,
    "python -m sphinx docs docs/_build/html": OTHER,
    "python3 -m venv .venv": OTHER,
    "python -c 'from instances import save; from instances.boa import newtrace; save(newtrace(2), '\"'\"'newtrace.json'"
    "\"'\"')'": OTHER,
    "python -c 'from experiments.pages import renew_pages; renew_pages()'": OTHER,
    "pip install -e .": OTHER,
    "pip install -e '.[test]'": OTHER,
    "pip install -e '.[docs]'": OTHER,
    "pip install 'gapwise[peers]'": OTHER,
    "jq .objective": OTHER,
}
MINE = """
from experiments.papers import ONLINE
from instances import Options
def make(data):
    return next(iter(ONLINE[data.problem].policies.values()))(data, Options())
"""
MODULE = """
from heuristics.eva import no_packing
def my_heuristic(data):
    return no_packing(data).solution
"""


def commands_of(page: Path) -> Iterator[str]:
    """Enumerate the commands of a page without environment folder, prompt and remarks."""
    for block in BLOCK.findall(page.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            for command in _split(words):
                yield shlex.join([command[0].removeprefix(".venv/bin/"), *command[1:]])


def _split(words: list[str]) -> Iterator[list[str]]:
    """Split a line into its commands, consecutive or piped."""
    command: list[str] = []
    for word in [*words, "&&"]:
        if word not in ("&&", "|"):
            command.append(word)
        elif command:
            yield command
            command = []


DOCUMENTED = sorted({command for page in PAGES for command in commands_of(page)})


def test_every_documented_command_has_been_decided_on_and_no_other_is_in_the_list():
    assert sorted(KINDS) == DOCUMENTED


def test_the_synopsis_names_the_commands_that_there_are():
    synopsis = (ROOT / "docs" / "commands.md").read_text().split("```")[1]
    assert sorted(SYNOPSIS.findall(synopsis)) == sorted(COMMANDS)


@pytest.mark.parametrize("command", [c for c in DOCUMENTED if KINDS.get(c) in (RUN, LONG, PARSE)])
def test_a_documented_command_is_understood(command: str):
    words = shlex.split(command)
    if words[0] == "gapwise":
        module, arguments = importlib.import_module(f"experiments.{words[1]}"), words[2:]
        function: Any = getattr(module, words[1])(arguments) if words[1] in GROUPS else getattr(module, words[1])
    else:
        assert words[:2] == ["python", "-m"]
        module, arguments = importlib.import_module(words[2]), words[3:]
        if hasattr(module, "__path__"):
            module = importlib.import_module(f"{words[2]}.__main__")
        function = getattr(module, "main", None) or getattr(module, words[2].rpartition(".")[2])
    parsed(function, arguments)


def parsed(function: Any, arguments: list[str]) -> None:
    """See that the arguments are those of a command. Raises what a wrong flag, value or command does."""
    app = function
    if not isinstance(app, typer.Typer):
        app = typer.Typer(add_completion=False)
        app.command()(function)
    command: Any = get_command(app)
    with command.make_context("gapwise", list(arguments)) as context:
        rest = [*getattr(context, "_protected_args", []), *context.args]
        if rest:
            _, inner, left = command.resolve_command(context, rest)
            with inner.make_context("inner", left, parent=context):
                pass


def test_a_wrong_flag_is_not_understood():
    module = importlib.import_module("experiments.draw")
    for function, arguments in (
        (importlib.import_module("experiments.solve").solve, ["cluster.json", "--nethod", "exact"]),
        (importlib.import_module("experiments.simulate").simulate, ["--seeds", "three"]),
        (module.draw([]), ["eva-cloud", "--out", "cloud.json", "--seeds", "3"]),
    ):
        with pytest.raises(USAGE_ERROR) as refused:
            parsed(function, arguments)
        assert any(word in refused.value.format_message() for word in ("--nethod", "'three'", "--seeds"))


def named(example: Any, name: str) -> Callable[[Path], Any]:
    data = example.data if isinstance(example, Instance) else example
    return lambda path: save(Instance.of(data, name), path)


def renting() -> BoaRenting:
    return workload({"a1": 0.0, "a2": 600.0, "a3": 1800.0}, budget_gpus=8.0)


def weighed() -> ArylReclaim:
    raw = figure_5().data.model_dump()
    for lost, job in enumerate(raw["jobs"], 1):
        job["gpu_hours"] = lost / 2
    return ArylReclaim.model_validate(raw)


def first_jobs(path: Path) -> None:
    path.write_text("".join(TRACE.read_text().splitlines(keepends=True)[:9]))


def few_jobs(path: Path) -> None:
    rows = [f"deepspeech2-{i},{600 * i},deepspeech2,1,64" for i in range(3)]
    path.write_text("\n".join(["name,time,application,num_replicas,batch_size", *rows]) + "\n")


STANDINS: dict[str, Callable[[Path], Any]] = {
    "cluster.json": named(table_3(), "cluster"),
    "moment.json": named(figure_5(), "moment"),
    "snapshot.json": named(weighed(), "snapshot"),
    "my-cluster.json": named(five_jobs(), "five"),
    "cloud.json": named(random_cloud(3, jobs=4), "cloud"),
    "days.json.gz": lambda path: save(loaning(days=1, training_servers=6), path),
    "renting.json": named(renting(), "renting"),
    "jobs.csv": first_jobs,
    "trace_pai_200.csv": first_jobs,
    "newtrace.csv": few_jobs,
    "mine.py": lambda path: path.write_text(MINE),
    "my_module.py": lambda path: path.write_text(MODULE),
    "my_heuristics.py": lambda path: shutil.copy(ROOT / "docs" / "tutorials" / "my_heuristics.py", path),
    "my_policy.py": lambda path: shutil.copy(ROOT / "docs" / "tutorials" / "my_policy.py", path),
}
STANDINS |= {
    name: lambda path: path.write_bytes(synthetic_dump(0, nodes=4, pods=40)[path.name])
    for name in ("dump.json", "types.csv")
}
"""Small files of the form of those that the commands name, by their names."""
BEFORE = {
    "gapwise verify cluster.json": "gapwise solve cluster.json --method exact --certificate proofs",
    "gapwise verify moment.json": "gapwise solve moment.json --certificate proofs",
    "gapwise cluster dump/dump.json": "gapwise draw kubernetes-dump --nodes 4 --pods 40 --out dump",
}
"""What makes the file that a command begins with."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("mine", "my_module", "my_heuristics", "my_policy"):
            del sys.modules[name]


@pytest.mark.parametrize(
    "command",
    [
        *(c for c in DOCUMENTED if KINDS.get(c) == RUN),
        *(pytest.param(c, marks=pytest.mark.long) for c in DOCUMENTED if KINDS.get(c) == LONG),
    ],
)
def test_a_documented_command_runs(command: str, folder: Path):
    commands = [*(first for what, first in BEFORE.items() if command.startswith(what)), command]
    for name, make in STANDINS.items():
        if name.endswith(".py") or any(name in each.split() for each in commands):
            make(folder / name)
    for each in commands:
        words = shlex.split(each)
        done = call(*words[1:])
        assert done.returncode == 0, done.stderr
    assert done.stdout or "draw" in command
    for flag, name in itertools.pairwise(words):
        if flag in ("--out", "--plot", "--certificate"):
            made = folder / name
            assert made.is_file() or list(made.iterdir())


def test_the_table_that_the_pages_show_is_what_a_study_prints():
    """README and the results page show the first screen of the study; their figures are those of the records."""
    sets = add_records([s for s in reference_sets_of("eva") if s.name == "200 tasks"])
    runs = [r for r in study_runs(sets, None, Options()) if r.entry.name == "full-reconfiguration"]
    scored = score([(run, apply(run.entry, run.instance, run.options)) for run in runs])
    printed = overview_of_study([OVERVIEW["eva"]], summarise(scored))
    head, figures = printed.head, printed.rows[0]
    for page in (ROOT / "README.md", ROOT / "docs" / "results.md"):
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.read_text().splitlines()]
        assert lines.count(list(head)) == 1, page
        (row,) = (line for line in lines if line[0] == figures[0])
        assert row[-3:] == figures[-3:], page  # the heuristic and its gaps; the other cells are of `exact`
