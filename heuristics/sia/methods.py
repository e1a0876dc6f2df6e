"""SIA's heuristics and its competitors as methods: data in, checked result out."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from heuristics.sia.baselines import Fcfs, Hived, MaxMinFair, ShortestFirst, Themis, length, service
from heuristics.sia.sia_scheduler import Sia
from heuristics.sia.predictors import Perfect, Random, SlidingMaximum, windows_in_slots
from heuristics.sia.replay import replay
from heuristics.sia.safe import keep_cutoffs
from instances.online import Policy
from heuristics.sia.virtual_clock import LiteralVirtualClock
from instances import Answer, Options, Result, Stopwatch, conclude
from instances.sia import SiaOracle

PLAIN = Options()


def fcfs(data: SiaOracle) -> Result:
    """No sharing: each pool first come, first served (section 4.1)."""
    return _result("fcfs", data, lambda: _named(data, data.fcfs_starts))


def sia_vc(data: SiaOracle) -> Result:
    """SIA_VC (section 5.1, Figure 6) with virtual start times fixed at the cut-offs, for which Theorem 1 holds."""
    return _result("sia-vc", data, lambda: _named(data, keep_cutoffs(data, list(data.cutoffs))))


def sia_vc_literal(data: SiaOracle) -> Result:
    """SIA_VC with virtual start times computed afresh at every event, as Figure 6 is written; breaks Theorem 1."""
    return _result("sia-vc-literal", data, lambda: _named(data, LiteralVirtualClock(data).run()))


def safe_ssf(data: SiaOracle) -> Result:
    """Safe shortest-first: least GPU time first, started only where everyone can still meet his cut-off. Our own."""
    return _result("safe-ssf", data, lambda: _named(data, keep_cutoffs(data, [service(job) for job in data.jobs])))


ONLINE: Mapping[str, Callable[[SiaOracle, int], Policy]] = {
    "fcfs": lambda data, seed: Fcfs(),
    "ssf": lambda data, seed: ShortestFirst(service),
    "sjf": lambda data, seed: ShortestFirst(length),
    "gssf": lambda data, seed: ShortestFirst(service, shared=True),
    "mmfs": lambda data, seed: MaxMinFair(),
    "hived": lambda data, seed: Hived(),
    "themis": lambda data, seed: Themis(
        {job.id: start for job, start in zip(data.jobs, data.fcfs_starts, strict=True)}
    ),
    "sia-perfect": lambda data, seed: Sia(Perfect(data.jobs), windows_in_slots(data.slot_minutes)),
    "sia-sliding": lambda data, seed: Sia(SlidingMaximum(), windows_in_slots(data.slot_minutes)),
    "sia-random-load": lambda data, seed: Sia(Random(seed, durations=False), windows_in_slots(data.slot_minutes)),
    "sia-random": lambda data, seed: Sia(Random(seed), windows_in_slots(data.slot_minutes)),
}
"""Policies that decide as time goes by, made afresh for an instance and a seed."""

PLANNED: Mapping[str, Callable[[SiaOracle], Result]] = {
    "sia-vc": sia_vc,
    "sia-vc-literal": sia_vc_literal,
    "safe-ssf": safe_ssf,
}
"""Policies that know all jobs to come, and so amount to a schedule."""


def ssf(data: SiaOracle) -> Result:
    """Shortest service first within each pool, nothing shared (section 4.1)."""
    return _online("ssf", data)


def sjf(data: SiaOracle) -> Result:
    """Shortest job first within each pool, nothing shared (section 6.1)."""
    return _online("sjf", data)


def gssf(data: SiaOracle) -> Result:
    """Shortest service first over all pools, on all GPUs (section 4.1)."""
    return _online("gssf", data)


def mmfs(data: SiaOracle) -> Result:
    """Max-min fair sharing between the pools with pending jobs (section 4.1)."""
    return _online("mmfs", data)


def hived(data: SiaOracle) -> Result:
    """HiveD* without preemption (section 6.1)."""
    return _online("hived", data)


def themis(data: SiaOracle) -> Result:
    """Themis* with exact durations and without preemption (section 6.1)."""
    return _online("themis", data)


def sia_perfect(data: SiaOracle) -> Result:
    """SIA (Figures 7 and 8) with perfect coarse predictions."""
    return _online("sia-perfect", data)


def sia_sliding(data: SiaOracle) -> Result:
    """SIA with the conservative sliding maximum as its estimate of new load (section 5.4.1)."""
    return _online("sia-sliding", data)


def sia_random_load(data: SiaOracle, options: Options = PLAIN) -> Result:
    """SIA's ablation: whether jobs will come is drawn at random (section 6.3)."""
    return _online("sia-random-load", data, options)


def sia_random(data: SiaOracle, options: Options = PLAIN) -> Result:
    """SIA's ablation: new load and durations drawn at random (section 6.3)."""
    return _online("sia-random", data, options)


def _online(name: str, data: SiaOracle, options: Options = PLAIN) -> Result:
    return _result(name, data, lambda: replay(data, ONLINE[name](data, options.seed)), options)


def _named(data: SiaOracle, starts: tuple[int, ...] | list[int]) -> dict[str, int]:
    return {job.id: start for job, start in zip(data.jobs, starts, strict=True)}


def _result(name: str, data: SiaOracle, run: Callable[[], dict[str, int]], options: Options = PLAIN) -> Result:
    with Stopwatch() as clock:
        starts = run()
    return conclude(data, name, Answer({"starts": starts}, solve_s=clock.cpu_s), options, kind="heuristic")
