"""Test the study, the simulator and the figures from a user's script."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments import api
from experiments.papers import PLOTS
from heuristics.eva import no_packing
from instances import PROBLEMS, Answer, InputError, Instance, Options, conclude, save
from instances.aryl import figure_5, five_servers, table_2
from instances.boa import figure_1
from instances.eva import EvaPacking, table_3, table_3_round
from instances.kubernetes import build_two_halves, shrunk_cluster
from instances.sia import five_jobs, six_jobs, synthetic
from instances.sia.online import Start
from models import aryl, boa, eva, kubernetes, sia
from models.eva.reconfiguration import exact_reconfiguration
from tests.commands import ROOT, interruptible, python, workers_copied

SCRIPT = """
import sys
print("loaded", file=sys.stderr)
from experiments.api import study
from heuristics.eva import no_packing
from instances.eva import table_3
def mine(data):
    return no_packing(data).solution
table = study(table_3(), ["full-reconfiguration", mine], jobs=2)
print(table[["method", "gap_to_optimum", "status"]].to_csv(index=False, float_format="%.4f"), end="")
"""
SLOW = """
import time
from experiments.api import solve
from heuristics.eva import no_packing
from instances.eva import table_3
print("started", flush=True)
def exact_in_a_while(data):
    time.sleep(600)
try:
    print(solve(table_3(), exact_in_a_while).termination)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_study_runs_from_a_plain_script_which_is_loaded_once(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = python(script)
    assert done.stderr == "loaded\n"
    assert done.stdout.splitlines() == [
        "method,gap_to_optimum,status",
        "exact,0.0000,optimal",
        "full-reconfiguration,0.0000,feasible",
        "mine,0.2656,feasible",
    ]


def test_an_interrupt_ends_a_run_and_leaves_no_process(tmp_path: Path):
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)}
    line = [sys.executable, script]
    with subprocess.Popen(
        line, stdout=subprocess.PIPE, text=True, env=environment, preexec_fn=interruptible
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        while not list(tmp_path.glob("gapwise-*/run-*/*.pickle")):  # until the run tells that it has begun
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted\n"
    assert list(tmp_path.glob("gapwise-*/*")) == []


def test_what_an_interrupt_cuts_short_is_the_result(monkeypatch: pytest.MonkeyPatch):
    example = table_3()
    kept = conclude(example.data, "exact", Answer(None, 12.0, "interrupted"), Options(), kind="exact")

    def interrupted(tasks, ended):
        ended(0, kept)
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(api, "as_finished", interrupted)
    assert api.solve(example) is kept


def test_finished_runs_are_kept_in_a_folder_and_not_repeated(tmp_path: Path):
    save(table_3(), tmp_path / "three.json")
    with workers_copied():
        first = api.study(tmp_path / "three.json", "no-packing", folder=tmp_path / "out")
        again = api.study(table_3().data, eva.exact)
        second = api.study(tmp_path, ["no-packing"], folder=tmp_path / "out", resume=True)
    assert first["method"].tolist() == ["exact", "no-packing"] == second["method"].tolist()
    assert second["solve_s"].tolist() == first["solve_s"].tolist()  # the very runs
    assert again[["instance", "method", "objective"]].to_numpy().tolist() == [["data", "exact", 12.8]]
    assert first["result"][0].to_frame()["tasks"].sum() == 4


def test_simulations_are_rows():
    with workers_copied():
        rows = api.simulate(synthetic("base", 0, days=0.05), "gssf")
    assert rows["policy"].tolist() == ["fcfs", "gssf"]
    assert rows["mean_jct_h"].notna().all()


class Take:
    """A heuristic with a parameter: an object that is called, or a class of which one is made."""

    def __init__(self, workload: str = "") -> None:
        self.workload = workload

    def __call__(self, data: EvaPacking):
        return no_packing(data).solution


class Narrowest:
    """A policy with a state, which no run may leave to the next."""

    def __init__(self, data=None) -> None:
        self.asked = 0

    def decide(self, view):
        self.asked += 1
        left, starts = view.idle, []
        for job in sorted((job for queue in view.queues.values() for job in queue.values()), key=lambda j: j.gpus):
            if job.gpus <= left:
                left -= job.gpus
                starts.append(job.id)
        return Start(starts)

    def totals(self):
        return {"asked": self.asked}


def test_variants_of_ones_own_have_names_of_ones_own():
    with workers_copied():
        rows = api.study(table_3(), {"a": Take("a"), "b": Take("b"), "class": Take, "no-packing": "no-packing"})
    assert rows["method"].tolist() == ["exact", "no-packing", "a", "b", "class"]
    assert rows["objective"].nunique() == 2
    with pytest.raises(InputError, match=r"^methods: 2 are called 'Take': name them, "):
        api.study(table_3(), [Take("a"), Take("b")])


def test_policies_are_functions_classes_and_objects_too():
    workload = synthetic("base", 0, days=0.05)
    with workers_copied():
        alone = api.simulate(workload, Narrowest, bound=False)
        rows = api.simulate(workload, {"c": Narrowest, "o": Narrowest(), "f": lambda _: Narrowest()})
        again = api.simulate([workload, workload.with_(name="other")], {"o": Narrowest()}, bound=False)
    assert alone["policy"].tolist() == ["fcfs", "Narrowest"]
    assert rows["policy"].tolist() == ["fcfs", "c", "o", "f"]
    own = [alone.iloc[1], *(rows.iloc[k] for k in (1, 2, 3)), again.iloc[1], again.iloc[3]]
    assert {(row["finished"], row["mean_jct_h"], row["decisions"]) for row in own} == {
        (alone["jobs"][0], alone["mean_jct_h"][1], alone["decisions"][1])
    }
    assert again["policy"].tolist() == ["fcfs", "o"] * 2


def test_an_interrupted_study_keeps_its_rows(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    example = table_3()
    kept = conclude(example.data, "exact", Answer(None, 12.0, "interrupted"), Options(), kind="exact")

    def interrupted(tasks, jobs, store, cluster):
        yield 0, kept
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "run_tasks", interrupted)
    assert api.study(example, "no-packing")["bound"].tolist() == [12.0]
    assert "interrupted: 1 of 2 runs are finished" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: api.study(table_3(), {"n": Narrowest()}), "method: n must be a function, or have __call__(data), got"),
        (lambda: api.study(table_3(), {"exact": Take()}), "methods: 'exact' is a method of this project, name yours"),
        (lambda: api.study(table_3(), {"mine": "exact"}), "methods: 'mine' stands for 'exact', which has a name"),
        (lambda: api.study(table_3(), {"a:b": Take()}), "methods: a name must be text without a colon, got 'a:b'"),
        (lambda: api.simulate(synthetic("base", 0), [3]), "policies: must be names or functions, got int"),
        (lambda: api.simulate(synthetic("base", 0), {"fcfs": Take}), "policies: 'fcfs' is a policy of this project"),
        (lambda: api.study(3), "instances: must be an instance, its data or a file, got int"),
        (lambda: api.study("nowhere.json"), "nowhere.json: No such file or directory"),
        (lambda: api.study(table_3(), "no"), "method: must be all, "),
        (lambda: api.study(table_3(), [3]), "methods: must be names or functions, got int"),
        (lambda: api.study(table_3(), jobs=1, gap=2.0), "gap: must be in [0, 1), got 2.0"),
        (lambda: api.study(table_3(), resume=True), "resume: needs a folder"),
        (lambda: api.simulate(table_3()), "eva-table-3: the simulator runs "),
        (lambda: api.plot(table_3(), {"widths": {}}), "plot: eva-table-3: the solution is not of the form"),
    ],
)
def test_what_is_wrong_is_one_line(call, line: str):
    with pytest.raises(InputError) as refused:
        call()
    assert str(refused.value).startswith(line)


SOLVED = [
    (table_3(), eva.exact),
    (table_3_round(), exact_reconfiguration),
    (five_servers(), aryl.exact),
    (table_2("jct-reduction"), aryl.exact),
    (table_2("mean-jct"), aryl.exact),
    (figure_5(), aryl.exact),
    (build_two_halves(), kubernetes.exact),
    (shrunk_cluster(12, 0), kubernetes.exact_consolidation),
    (figure_1(1.0), boa.exact),
    (figure_1(1.0), boa.randomised),
    (five_jobs(), sia.exact),
    (six_jobs(), sia.local_exact),
]


@pytest.mark.parametrize(("example", "method"), SOLVED)
def test_every_kind_of_solution_has_a_picture(example, method, tmp_path: Path):
    figure = api.plot(example, method(example.data), tmp_path / "plan.svg")
    drawn = [p for axes in figure.axes for p in (*axes.patches, *axes.collections)]
    assert len(drawn) > 1
    assert (tmp_path / "plan.svg").read_text().startswith("<?xml")


def test_every_problem_that_is_solved_has_a_picture():
    assert {example.problem for example, _ in SOLVED} == set(PLOTS) == set(PROBLEMS)


def test_the_bill_of_a_picture_counts_running_instances_at_their_own_price():
    content = table_3().data.model_dump(mode="json", exclude_none=True)
    kind = content["instance_types"][0]["name"]
    content["running"] = [{"type": kind, "count": 1, "usd_per_hour": 0.0}]
    data = EvaPacking.model_validate(content)
    result = eva.exact(data)
    figure = api.plot(Instance.of(data, "kept"), result)
    assert f"{result.objective:.6g} USD/h" in figure.get_suptitle()
    assert result.objective < eva.exact(table_3().data).objective
    assert any("kept" in str(label.get_text()) for label in figure.axes[0].get_yticklabels())


def test_progress_is_a_line_for_each_run_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]):
    with workers_copied():
        api.study(five_jobs(), "fcfs")
        assert capsys.readouterr().err == ""
        api.study(five_jobs(), "fcfs", progress=True)
        assert [line.split()[:3] for line in capsys.readouterr().err.splitlines()] == [
            ["[1/2]", "sia-five-jobs", "exact"],
            ["[2/2]", "sia-five-jobs", "fcfs"],
        ]
        api.simulate(five_jobs(), ["fcfs", "mmfs"], bound=False, progress=True)
        assert [line.split()[0] for line in capsys.readouterr().err.splitlines()] == ["[1/2]", "[2/2]"]
