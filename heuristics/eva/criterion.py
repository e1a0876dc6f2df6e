"""Full or Partial Reconfiguration? The criterion of section 4.5, equation (1): S_F D - M_F > S_P D - M_P."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from heuristics.eva.reservation_price import ReservationPrices
from instances import InputError
from instances.eva import EvaPacking, RentedInstance, continued

SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True)
class Delays:
    """Migration delays in seconds (Table 1): of an instance until ready, and of each task by key."""

    ready_s: float
    checkpoint_s: Mapping[str, float]
    launch_s: Mapping[str, float]


def provision_saving(data: EvaPacking, configuration: Sequence[RentedInstance]) -> float:
    """Provision saving S of a configuration, USD/h: the sum over instances of TNRP(T) - C_k.

    Raises InputError for an unknown task or type.
    """
    prices = ReservationPrices(data)
    return math.fsum(prices.saving(instance) for instance in configuration)


def migration_cost(
    data: EvaPacking, current: Sequence[RentedInstance], planned: Sequence[RentedInstance], delays: Delays
) -> float:
    """Migration cost M (section 4.5), USD: the price of instances while the tasks that move are not running.

    A planned instance continues a current one as `instances.eva.continued` says: by id, or else by tasks in common.
    Each instance that loses tasks is paid while the slowest of them is checkpointed, each that gains tasks while the
    slowest of them is launched, and a new one until it is ready. Raises InputError as `continued` does, for an unknown
    type, and for a task that moves and has no delay.
    """
    prices = ReservationPrices(data)
    after = continued(current, planned)
    before = {instance.id: instance for instance in current}
    seconds_of: list[tuple[str, float]] = []
    for new in after:
        old = None if new.id is None else before.pop(new.id)
        held: Mapping[str, int] = old.tasks if old else {}
        seconds = 0.0 if old else delays.ready_s
        seconds += _slowest(delays.launch_s, (key for key, k in new.tasks.items() if k > held.get(key, 0)))
        seconds += _slowest(delays.checkpoint_s, (key for key, k in held.items() if k > new.tasks.get(key, 0)))
        seconds_of.append((new.instance_type, seconds))
    for given_up in before.values():
        seconds = _slowest(delays.checkpoint_s, (key for key, k in given_up.tasks.items() if k))
        seconds_of.append((given_up.instance_type, seconds))
    return math.fsum(seconds / SECONDS_PER_HOUR * prices.price(name) for name, seconds in seconds_of)


def _slowest(delay_s: Mapping[str, float], keys: Iterable[str]) -> float:
    """The longest delay of some tasks in seconds, 0 for none. Raises InputError where a task has no delay."""
    slowest = 0.0
    for key in keys:
        if key not in delay_s:
            raise InputError(f"delays: none for task {key!r}")
        slowest = max(slowest, delay_s[key])
    return slowest


def expected_duration(events_per_hour: float, probability: float) -> float:
    """Expected duration D-hat = -1 / (lambda ln(1 - p)) until the next Full Reconfiguration, hours (section 4.5).

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
    """Equation (1) of section 4.5: whether Full Reconfiguration pays more than Partial Reconfiguration.

    - `saving_full`, `saving_partial`: provision savings S_F and S_P, USD/h.
    - `cost_full`, `cost_partial`: migration costs M_F and M_P, USD.
    - `duration_hours`: expected duration D of the configuration, hours; with an infinite one the larger saving wins,
      and at equal savings the smaller migration cost.
    """
    if math.isinf(duration_hours):
        return (saving_full, -cost_full) > (saving_partial, -cost_partial)
    return saving_full * duration_hours - cost_full > saving_partial * duration_hours - cost_partial
