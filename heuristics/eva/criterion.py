"""Full or Partial Reconfiguration? The criterion of section 4.5, equation (1): S_F D - M_F > S_P D - M_P."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heuristics.eva.partial_reconfiguration import Hosted
from heuristics.eva.worth import Worth
from instances import InputError
from instances.eva import EvaPacking

HOUR = 3600.0


@dataclass(frozen=True)
class Delays:
    """Migration delays in seconds: of an instance until it is ready, and of each task, by its key."""

    ready_s: float
    checkpoint_s: Mapping[str, float]
    launch_s: Mapping[str, float]


def provision_saving(data: EvaPacking, configuration: Sequence[Hosted]) -> float:
    """S, USD/h: the sum over instances of TNRP(T) - C_k. Raises InputError for an unknown task or type."""
    worth = Worth(data)
    return math.fsum(worth.saving(h.instance_type, h.tasks) for h in configuration)


def migration_cost(data: EvaPacking, before: Sequence[Hosted], after: Sequence[Hosted], delays: Delays) -> float:
    """M, USD: what is paid for instances while the tasks that move are not running.

    An instance of `after` stays the same where the very object is in `before` (as those that Partial Reconfiguration
    keeps), or else where one of the same type is, matched for the most tasks in common. Each instance that loses tasks
    is paid while the slowest of them is checkpointed, each that gains tasks while the slowest of them is launched, and
    a new one until it is ready. Raises InputError for an unknown task or type.
    """
    worth = Worth(data)
    unmatched = list(before)
    total = 0.0
    for hosted, old in _matched(unmatched, after):
        gained = [key for key, k in hosted.tasks.items() if k > (old.tasks.get(key, 0) if old else 0)]
        lost = [key for key, k in old.tasks.items() if k > hosted.tasks.get(key, 0)] if old else []
        seconds = 0.0 if old else delays.ready_s
        seconds += max((delays.launch_s[key] for key in gained), default=0.0)
        seconds += max((delays.checkpoint_s[key] for key in lost), default=0.0)
        total += seconds / HOUR * worth.price(hosted.instance_type)
    for old in unmatched:
        seconds = max((delays.checkpoint_s[key] for key, k in old.tasks.items() if k), default=0.0)
        total += seconds / HOUR * worth.price(old.instance_type)
    return total


def _matched(before: list[Hosted], after: Sequence[Hosted]) -> list[tuple[Hosted, Hosted | None]]:
    """Each instance of `after` with the one of `before` that it continues; takes those out of `before`."""
    pairs: list[tuple[Hosted, Hosted | None]] = []
    rest = []
    for hosted in after:
        same = next((i for i, old in enumerate(before) if old is hosted), None)
        if same is None:
            rest.append(hosted)
        else:
            pairs.append((hosted, before.pop(same)))
    for hosted in rest:
        common = [
            (sum(min(k, old.tasks.get(key, 0)) for key, k in hosted.tasks.items()), -i)
            for i, old in enumerate(before)
            if old.instance_type == hosted.instance_type
        ]
        shared, index = max(common, default=(0, 0))
        pairs.append((hosted, before.pop(-index) if shared else None))
    return pairs


def expected_duration(events_per_hour: float, probability: float) -> float:
    """D-hat = -1 / (lambda ln(1 - p)), hours: mean time to the next Full Reconfiguration.

    `events_per_hour` is lambda, the rate of arrivals and completions, `probability` is p, the chance that one of them
    brings about a Full Reconfiguration. Raises InputError unless lambda > 0 and 0 <= p <= 1.
    """
    if not (math.isfinite(events_per_hour) and events_per_hour > 0):
        raise InputError(f"events_per_hour: must be > 0, got {events_per_hour}")
    if not 0 <= probability <= 1:
        raise InputError(f"probability: must be in [0, 1], got {probability}")
    if probability == 0:
        return math.inf
    if probability == 1:
        return 0.0
    return -1.0 / (events_per_hour * math.log1p(-probability))


def prefers_full(
    saving_full: float, cost_full: float, saving_partial: float, cost_partial: float, duration_hours: float
) -> bool:
    """Equation (1): whether Full Reconfiguration pays. Savings S in USD/h, migration costs M in USD, D in hours.

    With an infinite D the larger saving wins, and at equal savings the smaller migration cost.
    """
    if math.isinf(duration_hours):
        return (saving_full, -cost_full) > (saving_partial, -cost_partial)
    return saving_full * duration_hours - cost_full > saving_partial * duration_hours - cost_partial
