"""Test output, files, exit status and one-line errors of the commands."""

from __future__ import annotations

import csv
import gc
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import takewhile
from pathlib import Path

import pandas as pd
import pytest

from experiments import __main__, cli
from experiments.harness.gaps import score, summarise
from experiments.output.folder import files_first
from experiments.papers import DRAWINGS, STUDIES
from experiments.solve import export
from instances import OutputError, Reference, Result, save
from instances.aryl import figure_5, five_servers, table_2
from instances.boa import figure_1
from instances.eva import table_3, table_7
from instances.files import write_whole
from instances.sia import five_jobs
from tests.commands import ROOT, call, interruptible


def test_solve_prints_one_json_object_a_result(table_3_file: Path):
    done = call("solve", table_3_file, "--method", "all", "--format", "json")
    assert done.returncode == 0
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [r["method"] for r in rows] == [
        "exact",
        "literal",
        "no-packing",
        "full-reconfiguration",
        "full-reconfiguration-artifact",
        "full-reconfiguration-first",
    ]
    assert [r["objective"] for r in rows] == [12.8, 12.8, 16.2, 12.8, 12.8, 12.8]
    assert rows[0]["status"] == "optimal"
    assert rows[0]["gap"] == 0
    assert rows[2]["gap"] is None
    assert rows[0]["options"] == {"effort": None, "gap": 1e-6, "seed": 0, "threads": 1, "time_limit": None}
    assert {"highspy", "python"} <= set(rows[0]["versions"])
    assert Result.model_validate(rows[0]).solution == rows[0]["solution"]


def test_solve_prints_a_table_and_csv(table_3_file: Path):
    table = call("solve", table_3_file)
    assert re.search(r"eva-table-3\s+exact\s+optimal\s+12\.8\s+12\.8\s+0\.0000%", table.stdout)
    assert "[1/1] eva-table-3 exact optimal" in table.stderr
    rows = list(csv.DictReader(io.StringIO(call("solve", table_3_file, "--format", "csv", "--quiet").stdout)))
    assert [(r["method"], r["objective"], r["gap"]) for r in rows] == [("exact", "12.8", "0.0")]


def test_solve_writes_results_and_resumes(tmp_path: Path, table_3_file: Path):
    out = tmp_path / "out"
    first = call("solve", table_3_file, "--out", out, "--format", "json")
    assert first.returncode == 0
    assert json.loads((out / "eva-table-3.exact.json").read_text())["objective"] == 12.8
    assert (out / "results.csv").read_text().startswith("instance,")
    again = call("solve", table_3_file, "--out", out, "--format", "json", "--resume")
    assert again.stdout == first.stdout  # times and all: it was not run again


@pytest.mark.parametrize("suffix", ["lp", "mps"])
def test_the_literal_model_is_exported_and_solves_to_the_optimum(tmp_path: Path, table_3_file: Path, suffix: str):
    import highspy

    path = tmp_path / f"model.{suffix}"
    assert call("solve", table_3_file, "--write-model", path).returncode == 0
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.setOptionValue("mip_rel_gap", 0.0)
    h.readModel(str(path))
    h.run()
    assert h.getInfo().objective_function_value == pytest.approx(12.8)
    names = pd.read_csv(path.with_suffix(".names.csv")).set_index("name")
    assert list(names.columns) == ["variable", "instance", "type", "task"]
    assert set(h.getLp().col_names_) == set(names.index)
    assert names.loc["x(3_2)", ["variable", "instance", "type"]].tolist() == ["x", 3, "it3"]
    assert names.loc["y(0_3)", ["variable", "task"]].tolist() == ["y", "t4"]


def test_a_limit_without_a_solution_is_status_3(table_3_file: Path):
    done = call("solve", table_3_file, "--method", "tests.user_heuristics:sleeps", "--time-limit", "0.1")
    assert done.returncode == 3
    assert "no_solution" in done.stdout


def test_a_failing_method_is_status_1(table_3_file: Path):
    done = call("solve", table_3_file, "--method", "tests.user_heuristics:raises")
    assert done.returncode == 1
    assert "no luck" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def piped(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """Run the console script with an instance from a pipe and a method that prints."""
    file = tmp_path_factory.mktemp("piped") / "table-3.json"
    save(table_3(), file)
    methods = "--method no-packing --method tests.user_heuristics:chatty"
    line = f"cat {file} | {sys.executable} -m experiments.cli solve - {methods} --format json"
    return subprocess.run(line, shell=True, capture_output=True, text=True, cwd=ROOT, check=True)


def test_standard_output_is_for_results(piped: subprocess.CompletedProcess[str]):
    assert [json.loads(line)["status"] for line in piped.stdout.splitlines()] == ["feasible", "feasible"]
    assert "said by Python" in piped.stderr


def test_solve_takes_folders_pipes_and_standard_input(piped: subprocess.CompletedProcess[str], table_3_file: Path):
    assert "16.2" in call("solve", table_3_file.parent, "--method", "no-packing").stdout
    assert json.loads(piped.stdout.splitlines()[0])["objective"] == 16.2


def kept(file: Path) -> list[str]:
    """Print a kept result again from its folder, so that a process only prints."""
    out = file.parent / "kept"
    given = [str(file), "--method", "no-packing", "--out", str(out)]
    assert call("solve", *given, "--quiet").returncode == 0
    return [sys.executable, "-m", "experiments.solve", *given, "--resume", "--quiet", "--format"]


@pytest.mark.parametrize("form", ["table", "json"])
def test_an_output_that_takes_no_more_is_one_line_and_status_1(table_3_file: Path, form: str):
    line = [*kept(table_3_file), form]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (1, "gapwise: standard output: No space left on device\n")


def test_neither_a_closed_pipe_nor_a_full_disk_costs_the_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def full() -> None:
        raise OutputError("no space")

    with pytest.raises(OutputError), files_first(full):
        print("table")
    assert capsys.readouterr().out == "table\n"
    with pytest.raises(BrokenPipeError), files_first(lambda: write_whole(tmp_path / "f", b"")):
        raise BrokenPipeError
    assert (tmp_path / "f").exists()


def test_an_output_without_the_characters_of_a_name_shows_their_codes(tmp_path: Path):
    save(table_3().model_copy(update={"name": "é好"}), tmp_path / "i.json")
    line = kept(tmp_path / "i.json")
    plain = os.environ | {"PYTHONIOENCODING": "ascii"}
    for form, shown in (("table", "\\xe9\\u597d"), ("json", '"\\u00e9\\u597d"')):
        done = subprocess.run([*line, form], capture_output=True, text=True, cwd=ROOT, check=True, env=plain)
        assert shown in done.stdout


def test_an_interrupted_solve_says_so_and_what_it_kept(tmp_path: Path):
    for n in (10, 11, 12):
        save(table_7(n, 0), tmp_path / f"{n}.json")
    slow = ["--method", "tests.user_heuristics:sleeps_on_the_first", "--jobs", "2", "--out", str(tmp_path / "out")]
    line = [sys.executable, "-m", "experiments.solve", *map(str, sorted(tmp_path.glob("*.json"))), *slow]
    study = subprocess.Popen(
        line, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=interruptible
    )
    assert study.stderr is not None
    assert "[1/3]" in study.stderr.readline()
    assert "[2/3]" in study.stderr.readline()  # though the first of all is still going
    os.killpg(study.pid, signal.SIGINT)
    rest = study.communicate(timeout=60)[1].splitlines()
    assert rest == [f"2 of 3 runs are kept in {tmp_path / 'out'}; go on with --resume", "gapwise: interrupted"]
    assert study.returncode == 130


def test_a_study_of_one_problem_leaves_the_others_alone(tmp_path: Path):
    save(table_3(), tmp_path / "eva.json")
    save(figure_5(), tmp_path / "aryl.json")
    arguments = (tmp_path, "--out", tmp_path / "out", "--method", "tests.user_heuristics:one_each", "--quiet")
    done = call("gap_study", *arguments, "--problem", "eva-packing", "--format", "json")
    assert done.returncode == 0
    assert {json.loads(line)["problem"] for line in done.stdout.splitlines()} == {"eva-packing"}


def test_a_study_of_several_problems_says_of_which_each_row_is(tmp_path: Path):
    save(table_3(), tmp_path / "eva.json")
    save(figure_5(), tmp_path / "aryl.json")
    done = call("gap_study", tmp_path, "--out", tmp_path / "out", "--method", "exact", "--quiet")
    rows = [line.split() for line in done.stdout.splitlines()[:3]]
    assert [row[0] for row in rows] == ["problem", "aryl-reclaim", "eva-packing"]
    assert [row[2] for row in rows[1:]] == ["exact", "exact"]


def test_the_page_on_own_heuristics_says_what_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = (ROOT / "docs" / "own_heuristic.md").read_text()
    (tmp_path / "my_heuristics.py").write_text(page.partition("```{testcode}\n")[2].partition("```")[0])
    (command,) = re.findall(r"^gapwise (gap_study .*)$", page, re.MULTILINE)
    name, *arguments = command.split()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    done = call(name, *arguments, "--format", "json", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    mine = [r for r in map(json.loads, done.stdout.splitlines()) if r["method"] == "my_heuristics:first_fit"]
    assert {r["status"] for r in mine} == {"feasible"}
    assert len(mine) >= 6


BAD = [
    ("solve none.json", "none.json: No such file"),
    ("solve {folder}/fifo", "fifo: not a regular file"),
    ("solve /dev/zero", "/dev/zero: not a regular file"),
    ("solve https://example.org/c.json", "only files are read"),
    ("solve {folder}/a\udcff.json", "a\\udcff.json: No such file"),
    ("solve {file} --method :f", "must be package.module:function, got ':f'"),
    ("gap_study {file} --problem eva --out {folder}/o", "--problem: must be one of eva-packing"),
    ("gap_study {file} --problem sia-oracle --out {folder}/o", "--problem: no instance is of sia-oracle"),
    (
        "solve {folder}/pods/pods.json",
        "gapwise: missing: this is no instance file, an object with gapwise, problem, name",
    ),
    (
        "solve {folder}/pods/prices.csv",
        "not valid JSON: Expecting value: line 1 column 1 (char 0): this is no instance",
    ),
    ("solve", "Missing argument"),
    ("solve {file} --method magic", "method: must be all, heuristics, exact"),
    ("solve {file} --method no-paking", "got 'no-paking', did you mean 'no-packing'?"),
    ("list methods --problem eva-paking", "got 'eva-paking', did you mean 'eva-packing'?"),
    ("list methods --problem x", "--problem: must be one of eva-packing"),
    ("list methods --format xml", "--format: must be table or json, got 'xml'"),
    ("solve {file} --methods exact", "No such option: --methods, did you mean '--method'?"),
    ("solve {file} --format xml", "--format: must be one of table, csv, json, got 'xml'"),
    ("solve {file} --format jsn", "got 'jsn', did you mean 'json'?"),
    (
        "list methds",
        "what: must be one of problems, methods, workloads, policies, sets, drawings, studies, got 'methds', did you",
    ),
    ("solve {file} --time-limit -1", "time limit: must be > 0"),
    ("solve {file} --time-limit x", "--time-limit: must be a number, got 'x'"),
    ("solve {file} --threads 1.5", "--threads: must be an integer, got '1.5'"),
    ("solve {file} --gap 2", "gap: must be in"),
    ("solve {file} --jobs 0", "--jobs: must be >= 1"),
    ("solve {file} --threads 0", "threads: must be"),
    ("solve {file} --seed -4", "seed: must be"),
    ("solve {file} --resume", "needs --out"),
    ("solve {file} --out /dev/null/x", "cannot be made a folder"),
    ("solve {file} --write-model model.txt", "written as .lp or .mps"),
    ("solve {file} {file} --write-model m.lp", "names must be unique"),
    ("solve {file} {file}", "2 instances are called 'eva-table-3'"),
    ("gap_study {folder}/empty", "no instance files"),
    ("gap_study {folder}/none.json", "No such file"),
    ("gap_study --quick --out /dev/null/x", "cannot be made a folder"),
    ("gap_study --quick --method magic --out {folder}/o", "method: must be all"),
]


@pytest.mark.parametrize(("command", "message"), BAD)
def test_bad_input_is_one_line_and_status_2(tmp_path: Path, table_3_file: Path, command: str, message: str):
    (tmp_path / "empty").mkdir()
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods" / "pods.json").write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    (tmp_path / "pods" / "prices.csv").write_text("name,usd_per_hour\nm5.large,0.096\n")
    os.mkfifo(tmp_path / "fifo")
    before = sorted(tmp_path.rglob("*"))
    name, *arguments = command.format(file=table_3_file, folder=tmp_path).split()
    done = call(name, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert [p for p in sorted(tmp_path.rglob("*")) if p.name != "o"] == before  # nothing half-written


def test_the_console_script_has_the_same_commands(
    piped: subprocess.CompletedProcess[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert piped.args.count("experiments.cli solve") == 1
    assert json.loads(piped.stdout.splitlines()[0])["objective"] == 16.2
    monkeypatch.setattr("sys.argv", ["gapwise", "--help"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    assert "gap_study" in capsys.readouterr().out
    for main in (cli.main, __main__.main):
        monkeypatch.setattr("sys.argv", ["gapwise", "gap-study", "--help"])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0
        assert gc.isenabled()  # it is off while the command is loaded


def test_the_study_of_a_folder(tmp_path: Path):
    folder, out = tmp_path / "mine", tmp_path / "out"
    folder.mkdir()
    for seed in range(3):
        save(table_7(40, seed), folder / f"{seed}.json.gz")
    done = call("gap_study", folder, "--out", out, "--method", "full-reconfiguration")
    assert done.returncode == 0
    assert re.search(r"mine\s+exact\s+3\s+3\s+0\.00%\s+0\.00%\s+0\.\d+\n", done.stdout)
    assert len(done.stdout.splitlines()) < 10
    done = call("gap_study", folder, "--out", out, "--method", "full-reconfiguration", "--resume", "--tables")
    assert re.search(r"mine\s+exact\s+0\.00%\s+0\.00%\s+0\.00%\s+3/3\s+-\s+3/3", done.stdout)
    rows = list(csv.DictReader((out / "results.csv").open()))
    assert len(rows) == 6
    assert all(float(r["gap_to_optimum"]) == 0 for r in rows if r["method"] == "exact")
    report = (out / "report.html").read_text()
    assert report.count("data-figure='eva-packing-") == 3
    assert "full-reconfiguration" in report
    assert "http" not in re.sub("<script type='application/gzip'.*?</script>", "", report)


@pytest.mark.parametrize("module", ["experiments.gap_study", "experiments gap_study", "experiments gap-study --quick"])
def test_the_first_word_comes_before_anything_large_is_loaded(module: str, tmp_path: Path):
    study = start_elsewhere(tmp_path, "-X", "importtime", "-m", *module.split())
    assert study.stderr is not None
    said = list(takewhile(lambda line: line != "preparing the instances\n", study.stderr))
    study.kill()
    study.communicate()
    assert study.returncode == -signal.SIGKILL  # it had more to do
    loaded = {line.split("|")[-1].strip() for line in said}
    assert not loaded & {"numba", "numpy", "pydantic", "rich", "typer", "instances", "experiments.flags"}


def test_a_run_of_one_file_loads_no_package_that_it_does_not_need(tmp_path: Path):
    save(figure_1(1.0), tmp_path / "tiny.json")
    _, said = start_elsewhere(tmp_path, "-X", "importtime", "-m", "experiments", "solve", "tiny.json").communicate()
    loaded = {line.split("|")[-1].strip() for line in said.splitlines()}
    assert "models.boa.exact" in loaded
    assert not loaded & {"pandas", "numba", "matplotlib", "pyomo", "cvxpy", "networkx"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [("--quick", "results: cannot be made a folder"), ("--quikc", "No such option: --quikc, did you mean '--quick'?")],
)
def test_bad_input_gets_one_line_and_not_the_first_word(words: str, sentence: str, tmp_path: Path):
    if words == "--quick":
        (tmp_path / "results").touch()
    study = start_elsewhere(tmp_path, "-m", "experiments.gap_study", words)
    _, said = study.communicate()
    assert study.returncode == 2
    assert len(said.splitlines()) == 1
    assert sentence in said


def start_elsewhere(folder: Path, *words: str) -> subprocess.Popen[str]:
    """Start Python in a folder, where the project can be imported all the same."""
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen([sys.executable, *words], cwd=folder, env=env, stderr=subprocess.PIPE, text=True)


def test_an_interrupted_study_loses_nothing_and_resumes(tmp_path: Path):
    folder, out = tmp_path / "mine", tmp_path / "out"
    folder.mkdir()
    for seed in range(6):
        save(table_7(40, seed), folder / f"{seed}.json")
    arguments = [str(folder), "--out", str(out), "--method", "exact", "--time-limit", "600"]
    slow = [*arguments, "--method", "tests.user_heuristics:sleeps"]
    line = [sys.executable, "-m", "experiments.gap_study", *slow]
    study = subprocess.Popen(
        line, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=interruptible
    )
    assert study.stderr is not None
    first = study.stderr.readline()
    assert "[1/12]" in first
    os.killpg(study.pid, signal.SIGINT)
    rest = study.communicate(timeout=60)[1]
    assert study.returncode == 130
    assert "go on with --resume" in rest
    assert "Traceback" not in rest
    started = time.monotonic()
    again = call("gap_study", *arguments, "--resume")
    assert again.returncode == 0
    assert time.monotonic() - started < 300
    assert len(list(csv.DictReader((out / "results.csv").open()))) == 6


def test_ended_from_outside_it_leaves_no_process_behind(table_3_file: Path, tmp_path: Path):
    method = "tests.user_heuristics:waits_for_a_file"  # which leaves a file beside it when it begins
    line = [sys.executable, "-m", "experiments.solve", str(table_3_file), "--method", method]
    environment = {**os.environ, "GAPWISE_TEST_FILE": str(tmp_path / "go")}
    command = subprocess.Popen(line, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (begun := list(tmp_path.glob("begun-*"))) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert begun
    ask = ["ps", "-o", "pid=", "--ppid", str(command.pid)]
    children = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split()
    processes = [*children, begun[0].name.removeprefix("begun-")]
    assert children
    command.terminate()
    command.communicate(timeout=60)
    assert command.returncode == 143
    deadline = time.monotonic() + 30
    while (left := [pid for pid in processes if Path(f"/proc/{pid}").exists()]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


def scored_results(*objectives: tuple[str, str, float | None, float | None]):
    from experiments.harness.run import Run
    from experiments.plan import methods_for
    from instances import Options

    instance = table_3().model_copy(update={"reference": None})
    method = methods_for(instance, ["exact"])[0]
    found = []
    for name, status, objective, bound in objectives:
        result = Result(
            instance=instance.name,
            problem="eva-packing",
            method=name,
            status=status,
            termination="finished",
            objective=objective,
            bound=bound,
            sense="minimize",
            unit="USD/h",
            solve_s=1.0,
        )
        found.append((Run(instance, method, Options(), "set"), result))
    return score(found)


def test_gaps_to_a_proven_optimum_are_relative_to_it():
    exact, heuristic = scored_results(("exact", "optimal", 10.0, 10.0), ("h", "feasible", 12.0, None))
    assert exact.gap_to_optimum == 0
    assert heuristic.gap_to_optimum == pytest.approx(0.2)
    assert heuristic.gap_to_bound is None


def test_without_an_optimum_the_gap_is_to_the_best_bound():
    exact, heuristic = scored_results(("exact", "feasible", 11.0, 9.0), ("h", "feasible", 12.0, 8.0))
    assert exact.gap_to_optimum is heuristic.gap_to_optimum is None
    assert heuristic.gap_to_bound == pytest.approx(3 / 12)


def test_no_gap_for_what_breaks_constraints():
    _, broken = scored_results(("exact", "optimal", 10.0, 10.0), ("h", "violates", 9.0, None))
    assert broken.gap_to_optimum is broken.gap_to_bound is None
    (row,) = summarise([broken])
    assert row.notes == "1 break a constraint"


@pytest.mark.parametrize(
    "objectives",
    [
        [("exact", "optimal", 10.0, 10.0), ("h", "feasible", 9.0, None)],
        [("exact", "optimal", 10.0, 10.0), ("literal", "optimal", 9.0, 9.0)],
    ],
)
def test_contradictions_between_methods_are_errors(objectives: list):
    assert "error" in {s.result.status for s in scored_results(*objectives)}


def test_a_loose_proof_does_not_accuse_a_better_heuristic():
    exact, heuristic = scored_results(("exact", "optimal", 11.0, 9.0), ("h", "feasible", 10.0, None))
    assert heuristic.result.status == "feasible"
    assert heuristic.gap_to_optimum is exact.gap_to_optimum is None  # for nothing is proven but to the asked gap
    assert heuristic.gap_to_bound == pytest.approx(0.1)
    assert exact.gap_to_bound == pytest.approx(2 / 11)
    assert not exact.proven


def test_a_wrong_reference_is_found_out(tmp_path: Path):
    wrong = table_3().model_copy(update={"reference": Reference(objective=20.0, bound=20.0)})
    save(wrong, tmp_path / "wrong.json")
    done = call("gap_study", tmp_path / "wrong.json", "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "better than the bound 20.0 of the reference" in done.stderr
    assert "Traceback" not in done.stderr


def test_names_are_printed_as_they_are(tmp_path: Path):
    odd = table_3().model_copy(update={"name": "a [/x] [seed] :star:"})
    save(odd, tmp_path / "odd.json")
    for form in ("table", "csv"):
        done = call("solve", tmp_path / "odd.json", "--format", form)
        assert done.returncode == 0
        assert "a [/x] [seed] :star:" in done.stdout
        assert "a [/x] [seed] :star:" in done.stderr


@pytest.mark.parametrize(
    ("example", "optimum"),
    [(table_2("mean-jct"), 125 / 3), (table_2("jct-reduction"), 110.0), (five_servers(), 3.0), (five_jobs(), 3.0)],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_objective_of_an_exported_model_is_in_the_unit_of_the_results(example, optimum: float, tmp_path: Path):
    import highspy

    export([example], tmp_path / "model.lp")
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    h.readModel(str(tmp_path / "model.lp"))
    h.run()
    assert h.getInfo().objective_function_value == pytest.approx(optimum)


def test_the_help_of_pareto_names_the_methods_that_it_runs():
    said = " ".join(call("pareto", "--help").stdout.replace("│", " ").split())
    for name in ("randomised", "width-calculator", "one-width"):
        assert name in said


HELP = [(name,) for name in cli.COMMANDS if name not in cli.GROUPS]
HELP += [("draw", name) for name in DRAWINGS] + [("study", name) for name in STUDIES]


@pytest.mark.parametrize("command", HELP, ids=" ".join)
def test_help_fits_80_columns_cuts_nothing_and_names_no_type_of_python(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "80")
    said = call(*command, "--help").stdout
    assert max(map(len, said.splitlines())) <= 80
    assert [
        word for word in ("\u2026", "list[", "<str>", "<path>", "<float", "<int", "default: (") if word in said
    ] == []
