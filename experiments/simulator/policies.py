"""Policies by name for the pools world, and schedules as policies."""

from __future__ import annotations

from collections.abc import Mapping

import experiments.simulator.kernel as kernel
from experiments.methods.method import always
from experiments.methods.sia import METHODS
from heuristics.sia import ONLINE, PLANNED, Decision, View
from instances import InputError, Options, Result
from instances.sia import SiaOracle


class Scheduled:
    """Starts each job at its slot in a schedule that is known beforehand, such as a solver's."""

    def __init__(self, starts: Mapping[str, float]) -> None:
        self._coming = sorted(starts.items(), key=lambda item: item[1], reverse=True)

    def decide(self, view: View) -> Decision:
        begun = []
        while self._coming and self._coming[-1][1] <= view.now:
            begun.append(self._coming.pop()[0])
        return Decision(begun, self._coming[-1][1] if self._coming else None)


def _oracle(data: SiaOracle, options: Options) -> Result:
    from models.sia import exact

    return exact(data, options)


NAMES = (*ONLINE, *PLANNED, "oracle")


def policy(name: str, data: SiaOracle, options: Options) -> kernel.Policy:
    """The policy called `name`, new, for `data`. `oracle`: the exact method's best schedule within the time limit.

    Raises InputError for an unknown name, and where the method of that name cannot take `data`.
    """
    unfit = next((method.unfit for method in METHODS["sia-oracle"] if method.name == name), always)
    why = unfit(data)
    if why is not None:
        raise InputError(why)
    if name in ONLINE:
        return ONLINE[name](data, options.seed)
    if name in PLANNED:
        return Scheduled(_starts(PLANNED[name](data)))
    if name == "oracle":
        return Scheduled(_starts(_oracle(data, options)))
    raise InputError(f"policy: must be one of {', '.join(NAMES)} or package.module:function, got {name!r}")


def _starts(result: Result) -> Mapping[str, float]:
    if result.solution is None:
        raise InputError(f"policy: {result.method} finds no schedule: {result.reason or result.status}")
    starts: Mapping[str, float] = result.solution["starts"]
    return starts
