"""Test pandas tables and numpy numbers as input, and their one-line errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from instances import Answer, InputError, Options, Result, conclude
from instances.eva import EvaPacking, InstanceType, Task, table_3
from instances.solution_table import solution_table

TYPES = pd.DataFrame({"name": ["small", "large"], "usd_per_hour": [1.0, 3.5], "gpu": [1, 4], "cpu": [8, 32]})
TASKS = pd.DataFrame({"workload": ["train"] * 5 + ["prepare"] * 3, "gpu": [1] * 5 + [0] * 3, "cpu": [4] * 5 + [6] * 3})


def test_two_tables_are_an_instance_whose_equal_rows_are_added_up():
    data = EvaPacking.from_frames(TASKS, TYPES)
    counted = pd.DataFrame({"gpu": [1, 0], "cpu": [4, 6], "count": [5, 3]}, index=["train", "prepare"])
    assert EvaPacking.from_frames(counted, TYPES.set_index("name")) == data
    assert [(task.key, task.count, dict(task.demand_on("small"))) for task in data.tasks] == [
        ("train", 5, {"gpu": 1.0, "cpu": 4.0}),
        ("prepare", 3, {"gpu": 0.0, "cpu": 6.0}),
    ]
    assert [(k.name, k.family, k.usd_per_hour) for k in data.instance_types] == [
        ("small", "small", 1.0),
        ("large", "large", 3.5),
    ]


def test_jobs_families_and_throughput_have_columns():
    tasks = TASKS.iloc[[0, 5]].assign(job=["a", None], **{"cpu@large": [2, np.nan]})
    beside = pd.DataFrame({"train": [0.8], "prepare": [0.9]}, index=["train"])
    data = EvaPacking.from_frames(tasks, TYPES, throughput=beside, objective="net-saving")
    assert [task.key for task in data.tasks] == ["train@a", "prepare"]
    assert data.tasks[0].demand_on("large")["cpu"] == 2
    assert data.tasks[1].demand_on("large")["cpu"] == 6
    assert data.throughput is not None
    assert data.throughput.pairwise == (("train", "train", 0.8), ("train", "prepare", 0.9))


def test_constraints_of_types_and_tasks_have_columns():
    types = TYPES.assign(max_instances=[np.nan, 2])
    allowed = TASKS.iloc[[0, 5]].assign(max_per_instance=[1, None], allowed_types=["small, large", None])
    data = EvaPacking.from_frames(allowed, types)
    assert [k.max_instances for k in data.instance_types] == [None, 2]
    assert [(t.max_per_instance, t.allowed_types) for t in data.tasks] == [(1, ("small", "large")), (None, None)]
    assert EvaPacking.from_frames(allowed.assign(allowed_types=[["small", "large"], None]), types) == data
    with pytest.raises(InputError, match="tasks: row 1: workload: must have the same constraints in all rows"):
        EvaPacking.from_frames(TASKS.assign(max_per_instance=range(1, 9)), types)


@pytest.mark.parametrize(
    ("tasks", "types", "line"),
    [
        (TASKS.assign(gpu=np.nan), TYPES, "tasks: row 0: gpu: must be a number, got nan"),
        (TASKS.assign(gpu="two"), TYPES, "tasks: row 0: gpu: must be a number, got 'two'"),
        (TASKS.assign(count=np.inf), TYPES, "tasks: row 0: count: must be a whole number, got inf"),
        (TASKS.assign(gpus=1), TYPES, "tasks: gpus: unknown column, must be one of workload, job, count"),
        (TASKS.drop(columns="cpu"), TYPES, "tasks: missing column cpu"),
        (TASKS.drop(columns="workload"), TYPES, "tasks: needs a column workload, or the names as its index"),
        (TASKS.assign(cpu=range(8)), TYPES, "tasks: row 1: workload: must have one demand in all rows"),
        (TASKS, TYPES.drop(columns="usd_per_hour"), "types: missing column usd_per_hour"),
        (TASKS, TYPES[["name", "usd_per_hour"]], "types: needs a column of amounts for each resource"),
        (TASKS, TYPES.assign(gpu=-1), "instance_types[0].capacity.gpu: must be >= 0, got -1.0"),
        ([], TYPES, "tasks: must be a DataFrame, got list"),
    ],
)
def test_tables_that_do_not_fit_are_one_line(tasks, types, line: str):
    with pytest.raises(InputError) as refused:
        EvaPacking.from_frames(tasks, types)
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


def test_numbers_and_rows_of_numpy_and_pandas_are_taken():
    rows = TYPES.set_index("name")[["gpu", "cpu"]]
    task = Task(workload=np.str_("a"), count=np.int64(3), demand={"default": rows.loc["small"]})
    assert (task.workload, task.count, dict(task.demand["default"])) == ("a", 3, {"gpu": 1.0, "cpu": 8.0})
    assert type(task.count) is int
    kind = InstanceType(name="k", family="f", capacity=rows.loc["large"], usd_per_hour=np.float32(0.5))
    assert kind.usd_per_hour == 0.5
    with pytest.raises(InputError, match="must be a valid integer, got"):
        Task(workload="a", count=np.float64(2.5), demand={})


def test_whoever_makes_a_record_is_told_in_one_line_what_is_wrong():
    with pytest.raises(InputError) as refused:
        Task(workload="a", count=-1, demand={})
    assert str(refused.value) == "count: must be >= 1, got -1"
    content = table_3().data.model_dump()
    content["tasks"][1]["demand"]["default"]["cpu"] = -6
    for read in (EvaPacking.model_validate, lambda said: EvaPacking(**said)):
        with pytest.raises(InputError) as refused:
            read(content)
        assert str(refused.value) == "tasks[1].demand.default.cpu: must be >= 0, got -6"
    with pytest.raises(InputError, match=r"^status: "):
        Result.model_validate_json("{}".replace("{}", '{"problem": "p", "method": "m"}'))


def test_what_runs_and_what_is_kept_apart_are_tables_too():
    running = pd.DataFrame({"type": ["a", "b"], "count": [2, 1], "usd_per_hour": [0.5, None]})
    types = pd.DataFrame({"name": ["a", "b"], "cpu": [4, 8], "usd_per_hour": [1.0, 1.9]})
    tasks = pd.DataFrame({"workload": ["t", "u"], "cpu": [2, 3], "count": [3, 2]})
    data = EvaPacking.from_frames(tasks, types, running=running, spread=[("t", "u")])
    plain = EvaPacking.from_frames(tasks, types)
    assert data == plain.with_(
        running=[{"type": "a", "count": 2, "usd_per_hour": 0.5}, {"type": "b", "count": 1}],
        spread=[{"tasks": ["t", "u"]}],
    )
    with pytest.raises(InputError, match=r"^running: price: unknown column, must be one of type, count, usd_per_hour"):
        EvaPacking.from_frames(tasks, types, running=running.rename(columns={"usd_per_hour": "price"}))
    with pytest.raises(InputError, match=r"^running\[0\]\.type: unknown type"):
        plain.with_(running=[{"type": "c", "count": 1}])
    with pytest.raises(InputError, match=r"^colour: "):
        plain.with_(colour=1)


SOLUTIONS = [
    ({"instances": [{"type": "a", "count": 2, "tasks": {"t": 1, "u": 3}}]}, [[0, "a", 2, "t", 1], [0, "a", 2, "u", 3]]),
    (
        {"existing": {"a": {"t": 2}}, "instances": [{"type": "b", "tasks": {"u": 1}}]},
        [["a", "existing", 1, "t", 2], [0, "b", 1, "u", 1]],
    ),
    (
        {"nodes": {"n": {"p": 2}}, "instances": [{"type": "b", "tasks": {"p": 1}}]},
        [["n", "existing", 1, "p", 2], [0, "b", 1, "p", 1]],
    ),
    ({"nodes": {"n": {"p": 2}}}, [["n", "existing", 1, "p", 2]]),
    ({"base": {"j": {"s": 2}}, "flexible": {"j": {"r": 1}}}, [["j", "base", "s", 2], ["j", "flexible", "r", 1]]),
    ({"flexible": {"j": {"r": 1}}}, [["j", "flexible", "r", 1]]),
    ({"starts": {"j": 3}}, [["j", 3]]),
    ({"starts": {"j": 3}, "servers": {"j": 1}}, [["j", 3, 1]]),
    ({"widths": {"c": [1, 2.5]}}, [["c", 0, 1.0], ["c", 1, 2.5]]),
    ({"paths": {"c": [{"probability": 0.5, "widths": [2]}]}}, [["c", 0, 0.5, 0, 2]]),
    ({"assignment": {"c": [[{"type": "g", "width": 2, "fraction": 1}]]}}, [["c", 0, "g", 2, 1]]),
    ({"workers": {"j": 2}}, [["j", 2]]),
    ({"intervals": [{"length": 2, "workers": {}}, {"length": 1, "workers": {"j": 4}}]}, [[1, 2.0, 1, "j", 4]]),
    ({"servers": ["s"]}, [["s"]]),
    ({"moved": {"a": ["b"]}}, [["moved.a[0]", "b"]]),
    (None, []),
]


@pytest.mark.parametrize(("solution", "rows"), SOLUTIONS)
def test_every_solution_is_a_table(solution, rows):
    assert solution_table(solution).to_numpy().tolist() == rows


def test_a_result_shows_itself():
    data = table_3().data
    plan = {"instances": [{"type": "it1", "count": 4, "tasks": {}}]}
    broken = conclude(data, "mine", Answer(plan), Options(), kind="heuristic")
    assert str(broken).splitlines()[0].startswith("mine: violates, 48 USD/h (")
    none = conclude(data, "<b>", Answer(None, 12.8, reason="a < b"), Options(), kind="heuristic")
    assert str(none) == "<b>: no solution (a < b)"
    assert none._repr_html_() == "<p>&lt;b&gt;: no solution (a &lt; b)</p>"
    assert len(none.to_frame()) == 0
