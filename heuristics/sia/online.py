"""Online policies for SIA's pools by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from heuristics.sia.baselines import Fcfs, Hived, MaxMinFair, ShortestFirst, Themis, length, service
from heuristics.sia.predictors import (
    FINE_WINDOWS_MINUTES,
    WINDOWS_MINUTES,
    Decomposed,
    Perfect,
    Predictor,
    RandomArrivals,
    RandomClass,
    SlidingMaximum,
    windows_in_slots,
)
from heuristics.sia.sia_scheduler import Sia
from instances.online import Policy
from instances.sia import SiaOracle
from instances.sia.online import PoolsView, Start


def sia(
    data: SiaOracle, predictor: Predictor, minutes: Sequence[float] = WINDOWS_MINUTES, *, apart: bool = False
) -> Sia:
    """Return SIA for the slots of an instance, over windows in minutes; `apart` as in `Sia`."""
    return Sia(predictor, windows_in_slots(data.slot_minutes, minutes), apart=apart)


def _random_arrivals(data: SiaOracle, seed: int) -> RandomArrivals:
    return RandomArrivals(seed, every=windows_in_slots(data.slot_minutes)[0])


ONLINE: Mapping[str, Callable[[SiaOracle, int], Policy[PoolsView, Start]]] = {
    "fcfs": lambda data, seed: Fcfs(),
    "ssf": lambda data, seed: ShortestFirst(service),
    "sjf": lambda data, seed: ShortestFirst(length),
    "gssf": lambda data, seed: ShortestFirst(service, shared=True),
    "mmfs": lambda data, seed: MaxMinFair(),
    "hived": lambda data, seed: Hived(),
    "themis": lambda data, seed: Themis(
        {job.id: start for job, start in zip(data.jobs, data.fcfs_starts, strict=True)}
    ),
    "sia-perfect": lambda data, seed: sia(data, Perfect(data.jobs)),
    "sia-fine": lambda data, seed: sia(data, Perfect(data.jobs), FINE_WINDOWS_MINUTES, apart=True),
    "sia-sliding": lambda data, seed: sia(data, SlidingMaximum()),
    "sia-perfect-arrivals": lambda data, seed: sia(data, Decomposed(Perfect(data.jobs), Perfect(data.jobs))),
    "sia-random-load": lambda data, seed: sia(data, Decomposed(_random_arrivals(data, seed), Perfect(data.jobs))),
    "sia-random": lambda data, seed: sia(data, Decomposed(_random_arrivals(data, seed), RandomClass(seed))),
}
"""Online policies, created for each instance and seed."""
