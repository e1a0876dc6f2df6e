"""The demand of Helios' pools: reading it, and the jobs that it tells of."""

from __future__ import annotations

import pandas as pd
import pytest

from instances import InputError
from instances.sia.traces import helios_demand, seen_jobs

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
    jobs = seen_jobs(demand)
    assert jobs.to_numpy().tolist() == [
        ["a", 600.0, day - 600.0],
        ["a", 600.0, day - 600.0],
        ["b", 1200.0, day - 1200.0],
    ]
    assert demand.gpus.sum(axis=0).tolist() == [48, 8]


def test_gpus_are_those_of_the_day(demand, tmp_path):
    pd.DataFrame({"date": ["2020-05-01", "2020-05-02"], "a": [8, 16], "b": [4, 4]}).to_csv(tmp_path / "g.csv")
    assert demand.owned(tmp_path / "g.csv").tolist() == [[8, 4]] * 3 + [[16, 4]]
    (tmp_path / "g.csv").write_text("date,a,b\n2020-05-01,8,4\n")
    with pytest.raises(InputError, match=r"g\.csv: no row of 2020-05-02"):
        demand.owned(tmp_path / "g.csv")


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
