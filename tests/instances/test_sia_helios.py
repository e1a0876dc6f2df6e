"""Test that the demand of Helios' pools is read correctly, and the jobs inferred from it."""

from __future__ import annotations

import pandas as pd
import pytest

from experiments.sia.accuracy import class_accuracy
from instances import InputError
from instances.sia import helios_log, philly, trace_instance
from instances.sia.traces import COLUMNS, helios_demand, infer_jobs

ROWS = """time,a_jobs,a_demand_gpus,b_jobs,b_demand_gpus
2020-05-01 00:00:00,1,8,0,0
2020-05-01 00:10:00,3,24,0,0
2020-05-01 00:20:00,2,16,1,4
2020-05-02 00:30:00,0,0,1,4
"""


@pytest.fixture
def demand(tmp_path):
    (tmp_path / "demand.csv").write_text(ROWS)
    return helios_demand(tmp_path / "demand.csv")


def test_a_rise_is_an_arrival_and_a_fall_a_completion(demand):
    day = 86_400 + 30 * 60
    jobs = infer_jobs(demand)
    assert jobs.to_numpy().tolist() == [
        ["a", 600.0, day - 600.0],
        ["a", 600.0, day - 600.0],
        ["b", 1200.0, day - 1200.0],
    ]
    assert demand.gpus.sum(axis=0).tolist() == [48, 8]


def test_gpus_are_those_of_the_day(demand, tmp_path):
    pd.DataFrame({"date": ["2020-05-01", "2020-05-02"], "a": [8, 16], "b": [4, 4]}).to_csv(tmp_path / "g.csv")
    assert demand.read_owned_gpus(tmp_path / "g.csv").tolist() == [[8, 4]] * 3 + [[16, 4]]
    (tmp_path / "g.csv").write_text("date,a,b\n2020-05-01,8,4\n")
    with pytest.raises(InputError, match=r"g\.csv: no row of 2020-05-02"):
        demand.read_owned_gpus(tmp_path / "g.csv")


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("00:20:00", "00:10:00", r"line 4: time: must be a later time, got 2020-05-01 00:10:00"),
        ("3,24", "3,-1", r"line 3: a_demand_gpus: must be a whole number >= 0, got -1"),
        ("3,24", "x,24", r"line 3: a_jobs: must be a whole number >= 0, got x"),
        ("3,24", "2.5,24", r"line 3: a_jobs: must be a whole number >= 0, got 2.5"),
        ("b_demand_gpus", "c", "missing column b_demand_gpus"),
        ("_jobs", "_job", "no column POOL_jobs"),
    ],
)
def test_bad_demand_is_refused_with_line_and_value(tmp_path, before, after, line):
    (tmp_path / "demand.csv").write_text(ROWS.replace(before, after))
    with pytest.raises(InputError, match=line):
        helios_demand(tmp_path / "demand.csv")


LOG = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
2,uA,vcB,4,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:27,2020-06-09 18:45:36,249,0
1,uB,vcA,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0
3,uB,vcA,0,8,1,COMPLETED,2020-06-08 00:00:00,2020-06-08 00:00:00,2020-06-08 00:00:01,1,0
"""


def test_a_job_log_of_helios_has_its_jobs_with_gpus_in_order_of_submission(tmp_path):
    (tmp_path / "cluster_log.csv").write_text(LOG)
    jobs = helios_log(tmp_path / "cluster_log.csv")
    evening = 18 * 3600 + 41 * 60
    assert jobs[list(COLUMNS)].to_numpy().tolist() == [
        ["1", "vcA", evening + 1, 36848, 1],
        ["2", "vcB", evening + 27, 249, 4],
    ]
    data = trace_instance(jobs, {"vcA": 8, "vcB": 8}).data
    assert [job.duration for job in data.jobs] == [615, 5]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("18:41:27,2020", "25:41:27,2020", "line 2: submit_time: must be a time such as .*, got 2020-06-09 25:41:27"),
        ("vcB,4", "vcB,four", "line 2: gpu_num: must be a whole number >= 1, got four"),
        ("36848", "-1", "line 3: duration: must be a number >= 0, got -1"),
        ("1,uB,vcA", "1,uB,", "line 3: vc: missing"),
        ("1,uB", "2,uB", "line 3: job_id: must be unique, got 2"),
    ],
)
def test_a_job_log_that_makes_no_sense_is_refused(tmp_path, old, new, said):
    (tmp_path / "log.csv").write_text(LOG.replace(old, new, 1))
    with pytest.raises(InputError, match=said):
        helios_log(tmp_path / "log.csv")


def test_jobs_of_one_experiment_are_alike(tmp_path):
    """Half of the jobs of a pool are long and half short, by their tags alone."""
    rows = [f"{i},p,{3600 * i},{(60, 30000)[i % 2]},1,{('a', 'b')[i % 2]}" for i in range(40)] + ["40,p,144000,60,1,"]
    (tmp_path / "tags.csv").write_text("\n".join(["job_id,pool,submit_s,duration_s,gpus,tag", *rows]) + "\n")
    jobs = philly(tmp_path / "tags.csv")
    assert jobs["tag"].isna().tolist() == [False] * 40 + [True]
    found = class_accuracy(jobs, (1.0, 2.0))
    assert found["quantile 0.5 of the tag"]["right"] > 0.9
    assert found["quantile 0.5"]["right"] < 0.7
    assert "quantile 0.5 of the tag" not in class_accuracy(jobs.drop(columns="tag"), (1.0, 2.0))
