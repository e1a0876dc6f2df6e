"""Test the comparison of Figure 5 with FCFS against itself, and with slowed jobs."""

from __future__ import annotations

import pytest

from experiments.harness.entry import select_by_name
from experiments.harness.run import apply
from experiments.sia.methods import METHODS
from experiments.sia.studies import POLICIES, compare
from instances import Instance, Options
from instances.sia import five_jobs, synthetic
from models.sia import exact


def beside_the_oracle(workloads: list[Instance]):
    found = {
        entry.name: [apply(entry, one, Options()).solution["starts"] for one in workloads]
        for entry in select_by_name(METHODS["sia-oracle"], *POLICIES)
    }
    datas = [one.data for one in workloads]
    return {row.policy: row for row in compare(datas, [exact(d).solution["starts"] for d in datas], found)}


def test_fcfs_beside_the_oracle():
    rows = beside_the_oracle([synthetic("base", seed, days=0.5) for seed in (3, 9)])
    oracle, fcfs = rows["oracle"], rows["fcfs"]
    assert (oracle.delay_above, oracle.jct_above, oracle.slowed, oracle.lost) == (0, 0, 0, 0)
    assert (fcfs.speed_up, fcfs.slowed, fcfs.worst, fcfs.lost) == (1, 0, 1, 0)
    assert oracle.speed_up == pytest.approx(1 + fcfs.jct_above, rel=0.5)
    assert oracle.speed_up > 1
    assert oracle.geometric > 1 == fcfs.geometric
    for policy in ("sia-vc", "safe-ssf", "sia-perfect"):
        assert rows[policy].slowed == 0
        assert rows[policy].delay_above >= 0


def test_figures_of_a_slowed_job():
    """Figure 6 read literally starts j2, with a cut-off of 2 and a run time of 1, at slot 5: see `five_jobs`."""
    data = five_jobs().data
    rows = beside_the_oracle([five_jobs()])
    literal = rows["sia-vc-literal"]
    assert literal.slowed == pytest.approx(1 / 5)
    assert literal.worst == pytest.approx((5 + 1) / (2 + 1))
    total = sum(cutoff - job.submit + job.duration for job, cutoff in zip(data.jobs, data.cutoffs, strict=True))
    assert literal.lost == pytest.approx(3 / total)
