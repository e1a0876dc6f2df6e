"""SIA and the paper's baselines as methods: each runs an online policy to the end of an instance."""

from __future__ import annotations

from collections.abc import Sequence

from heuristics.sia.online import ONLINE, sia
from heuristics.sia.predictors import RECENT, WINDOWS_MINUTES, Perfect, SlidingMaximum
from heuristics.sia.replay import replay
from instances import Options, Solution
from instances.method import ANY, SEEDED, method
from instances.sia import SiaOracle


@method("heuristic", ANY)
def fcfs(data: SiaOracle) -> Solution:
    """Serve each pool first come, first served, without sharing (section 4.1)."""
    return {"starts": {job.id: start for job, start in zip(data.jobs, data.fcfs_starts, strict=True)}}


@method("heuristic", ANY)
def ssf(data: SiaOracle) -> Solution:
    """Start jobs with the shortest service first within each pool, without sharing (section 4.1)."""
    return _online("ssf", data)


@method("heuristic", ANY)
def sjf(data: SiaOracle) -> Solution:
    """Start the shortest jobs first within each pool, without sharing (section 6.1)."""
    return _online("sjf", data)


@method("heuristic", ANY)
def gssf(data: SiaOracle) -> Solution:
    """Start jobs with the shortest service first over all pools, on all GPUs (section 4.1)."""
    return _online("gssf", data)


@method("heuristic", ANY)
def mmfs(data: SiaOracle) -> Solution:
    """Share fairly by max-min between the pools with pending jobs (section 4.1)."""
    return _online("mmfs", data)


@method("heuristic", ANY)
def hived(data: SiaOracle) -> Solution:
    """Run HiveD* without preemption (section 6.1)."""
    return _online("hived", data)


@method("heuristic", ANY)
def themis(data: SiaOracle) -> Solution:
    """Run Themis* with exact durations and without preemption (section 6.1)."""
    return _online("themis", data)


@method("heuristic", ANY)
def sia_perfect(
    data: SiaOracle, *, windows_minutes: Sequence[float] = WINDOWS_MINUTES, apart: bool = False
) -> Solution:
    """Run SIA (Figures 7 and 8) with perfect coarse predictions over any windows; `apart` as in `Sia`."""
    return {"starts": replay(data, sia(data, Perfect(data.jobs), windows_minutes, apart=apart))}


@method("heuristic", ANY)
def sia_fine(data: SiaOracle) -> Solution:
    """Run SIA with perfect predictions, windows that double from 5 minutes on, and `apart` as in `Sia`."""
    return _online("sia-fine", data)


@method("heuristic", ANY)
def sia_sliding(data: SiaOracle, *, recent: int = RECENT) -> Solution:
    """Run SIA with the maximum over `recent` past windows as the estimate of new load (section 5.4.1)."""
    return {"starts": replay(data, sia(data, SlidingMaximum(recent)))}


@method("heuristic", ANY)
def sia_perfect_arrivals(data: SiaOracle) -> Solution:
    """Run SIA with known arrivals, and with the sliding maximum as the estimate of their load (section 5.4.1)."""
    return _online("sia-perfect-arrivals", data)


@method("heuristic", SEEDED)
def sia_random_load(data: SiaOracle, options: Options) -> Solution:
    """Run SIA with random predictions of arrivals: ablation of section 6.3."""
    return _online("sia-random-load", data, options.seed)


@method("heuristic", SEEDED)
def sia_random(data: SiaOracle, options: Options) -> Solution:
    """Run SIA with random predictions of new load and durations: ablation of section 6.3."""
    return _online("sia-random", data, options.seed)


def _online(name: str, data: SiaOracle, seed: int = 0) -> Solution:
    return {"starts": replay(data, ONLINE[name](data, seed))}
