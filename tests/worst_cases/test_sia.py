"""Test small instances that show how far a SIA policy can be from the optimum or its promise."""

from __future__ import annotations

import pytest

from heuristics import sia
from instances.sia import Job, Pool, SiaOracle, five_jobs
from models.sia import exact


def test_figure_6_as_written_breaks_theorem_1():
    result = sia.sia_vc_literal(five_jobs().data)
    assert result.status == "violates"
    assert result.violations == ("job j2 starts at 5, cut-off 2",)
    assert result.gap is None


@pytest.mark.parametrize("wait", [5, 20, 60])
def test_policies_that_never_wait_are_as_bad_as_one_likes(wait):
    """A borrowed GPU is kept for the whole job: the oracle leaves it idle for one slot, for the short jobs to come.

    Pool a's long job borrows b's GPU at 0 under SIA_VC, with a cut-off far away; `wait` short jobs of pool a then
    queue behind it, which the oracle serves first.
    """
    jobs = [Job(id="first", pool="a", submit=0, duration=wait + 2, gpus=1)]
    jobs += [Job(id="long", pool="a", submit=0, duration=wait + 2, gpus=1)]
    jobs += [Job(id=f"short{k}", pool="a", submit=1, duration=1, gpus=1) for k in range(wait)]
    own = (Pool(name="a", gpus=1), Pool(name="b", gpus=1))
    data = SiaOracle(slot_minutes=1.0, pools=own, jobs=tuple(jobs))
    best = exact(data).objective
    greedy = sia.sia_vc(data).objective
    assert greedy / best > 1.9
    assert sia.safe_ssf(data).objective == greedy
