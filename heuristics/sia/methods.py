"""SIA's heuristics and the paper's baselines as methods: data in, checked result out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from heuristics.sia.baselines import service
from heuristics.sia.online import ONLINE, sia
from heuristics.sia.predictors import RECENT, WINDOWS_MINUTES, Perfect, SlidingMaximum
from heuristics.sia.replay import replay
from heuristics.sia.reservations import keep_cutoffs
from heuristics.sia.virtual_clock_literal import LiteralVirtualClock
from instances import Options, Solution
from instances.method import ANY, SEEDED, Solve, method
from instances.sia import SiaOracle


@method("heuristic", ANY)
def fcfs(data: SiaOracle) -> Solution:
    """No sharing: each pool first come, first served (section 4.1)."""
    return _starts(data, data.fcfs_starts)


@method("heuristic", ANY)
def sia_vc(data: SiaOracle) -> Solution:
    """SIA_VC (section 5.1, Figure 6) with virtual start times fixed at the cut-offs, for which Theorem 1 holds."""
    return _starts(data, keep_cutoffs(data, list(data.cutoffs)))


@method("heuristic", ANY)
def sia_vc_literal(data: SiaOracle) -> Solution:
    """SIA_VC with virtual start times computed afresh at every event, as Figure 6 is written; breaks Theorem 1."""
    return _starts(data, LiteralVirtualClock(data).run())


@method("heuristic", ANY)
def safe_ssf(data: SiaOracle) -> Solution:
    """Safe shortest-first, a policy of our own: least GPU time first, ahead of reservations at all cut-offs."""
    return _starts(data, keep_cutoffs(data, [service(job) for job in data.jobs]))


PLANNED: Mapping[str, Solve[SiaOracle]] = {"sia-vc": sia_vc, "sia-vc-literal": sia_vc_literal, "safe-ssf": safe_ssf}
"""Policies that know all jobs to come, and so amount to a schedule."""


@method("heuristic", ANY)
def ssf(data: SiaOracle) -> Solution:
    """Shortest service first within each pool, nothing shared (section 4.1)."""
    return _online("ssf", data, 0)


@method("heuristic", ANY)
def sjf(data: SiaOracle) -> Solution:
    """Shortest job first within each pool, nothing shared (section 6.1)."""
    return _online("sjf", data, 0)


@method("heuristic", ANY)
def gssf(data: SiaOracle) -> Solution:
    """Shortest service first over all pools, on all GPUs (section 4.1)."""
    return _online("gssf", data, 0)


@method("heuristic", ANY)
def mmfs(data: SiaOracle) -> Solution:
    """Max-min fair sharing between the pools with pending jobs (section 4.1)."""
    return _online("mmfs", data, 0)


@method("heuristic", ANY)
def hived(data: SiaOracle) -> Solution:
    """HiveD* without preemption (section 6.1)."""
    return _online("hived", data, 0)


@method("heuristic", ANY)
def themis(data: SiaOracle) -> Solution:
    """Themis* with exact durations and without preemption (section 6.1)."""
    return _online("themis", data, 0)


@method("heuristic", ANY)
def sia_perfect(
    data: SiaOracle, *, windows_minutes: Sequence[float] = WINDOWS_MINUTES, apart: bool = False
) -> Solution:
    """SIA (Figures 7 and 8) with perfect coarse predictions over any windows; `apart` as in `Sia`."""
    return {"starts": replay(data, sia(data, Perfect(data.jobs), windows_minutes, apart=apart))}


@method("heuristic", ANY)
def sia_fine(data: SiaOracle) -> Solution:
    """SIA with perfect predictions, windows that double from 5 minutes on, and a candidate apart from pending load."""
    return _online("sia-fine", data, 0)


@method("heuristic", ANY)
def sia_sliding(data: SiaOracle, *, recent: int = RECENT) -> Solution:
    """SIA with the maximum over `recent` windows of the past as the estimate of new load (section 5.4.1)."""
    return {"starts": replay(data, sia(data, SlidingMaximum(recent)))}


@method("heuristic", ANY)
def sia_perfect_arrivals(data: SiaOracle) -> Solution:
    """SIA that knows whether jobs will come, and estimates their load by the sliding maximum (section 5.4.1)."""
    return _online("sia-perfect-arrivals", data, 0)


@method("heuristic", SEEDED)
def sia_random_load(data: SiaOracle, options: Options) -> Solution:
    """SIA's ablation: whether jobs will come is drawn at random (section 6.3)."""
    return _online("sia-random-load", data, options.seed)


@method("heuristic", SEEDED)
def sia_random(data: SiaOracle, options: Options) -> Solution:
    """SIA's ablation: new load and durations drawn at random (section 6.3)."""
    return _online("sia-random", data, options.seed)


def _online(name: str, data: SiaOracle, seed: int) -> Solution:
    return {"starts": replay(data, ONLINE[name](data, seed))}


def _starts(data: SiaOracle, starts: Iterable[int]) -> Solution:
    return {"starts": {job.id: start for job, start in zip(data.jobs, starts, strict=True)}}
