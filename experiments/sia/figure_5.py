"""The comparison of SIA's Figure 5 with true gaps: every policy against FCFS and against the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from instances.arrays import IntArray
from instances.sia import SiaOracle
from instances.sia.arrays import oracle_arrays

POLICIES = (
    "fcfs",
    "ssf",
    "gssf",
    "mmfs",
    "hived",
    "themis",
    "sia-vc",
    "sia-vc-literal",
    "safe-ssf",
    "sia-perfect",
    "sia-sliding",
)


@dataclass(frozen=True)
class PolicyFigures:
    """A policy over some workloads.

    `delay_above`: median excess of its delay over the oracle's schedule; `jct_above`: mean excess in mean JCT;
    `speed_up`: median over the workloads of mean JCT under FCFS over mean JCT; `geometric`: that of the geometric mean
    of the jobs' own speed-ups, as the paper counts; `slowed`: share of jobs that end later
    than under FCFS; `worst`: the largest JCT over JCT under FCFS of any job; `lost`: what the slowed jobs lose
    together, as a share of all JCT under FCFS.
    """

    policy: str
    delay_above: float
    jct_above: float
    speed_up: float
    geometric: float
    slowed: float
    worst: float
    lost: float


def compare(
    workloads: Sequence[SiaOracle],
    oracle: Sequence[Mapping[str, int]],
    policies: Mapping[str, Sequence[Mapping[str, int]]],
) -> list[PolicyFigures]:
    """The oracle and policies by name, from the starts of the jobs of each of `workloads`."""
    return [_beside(name, workloads, starts, oracle) for name, starts in {"oracle": oracle, **policies}.items()]


def _beside(
    policy: str,
    workloads: Sequence[SiaOracle],
    starts: Sequence[Mapping[str, int]],
    oracle: Sequence[Mapping[str, int]],
) -> PolicyFigures:
    delay, best = (list(map(_delay, workloads, which)) for which in (starts, oracle))
    arrays = [oracle_arrays(data) for data in workloads]
    fcfs, run = [a.cutoff - a.submit for a in arrays], [a.duration for a in arrays]
    ratios = [(d + r) / (f + r) for d, f, r in zip(delay, fcfs, run, strict=True)]
    ratio = np.concatenate(ratios)
    lost = sum(int(np.maximum(d - f, 0).sum()) for d, f in zip(delay, fcfs, strict=True))
    return PolicyFigures(
        policy=policy,
        delay_above=median(d.sum() / b.sum() - 1 for d, b in zip(delay, best, strict=True)),
        jct_above=fmean((d + r).sum() / (b + r).sum() - 1 for d, b, r in zip(delay, best, run, strict=True)),
        speed_up=median((f + r).sum() / (d + r).sum() for d, f, r in zip(delay, fcfs, run, strict=True)),
        geometric=median(float(np.exp(-np.log(one).mean())) for one in ratios),
        slowed=float((ratio > 1).mean()),
        worst=float(ratio.max()),
        lost=lost / sum(int((f + r).sum()) for f, r in zip(fcfs, run, strict=True)),
    )


def _delay(data: SiaOracle, starts: Mapping[str, int]) -> IntArray:
    return np.array([starts[job.id] - job.submit for job in data.jobs])
