"""Online policies for Eva's cloud by name, two policies that do not plan, and Eva with another planner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from heuristics.eva.online_owl import Owl
from heuristics.eva.online_plan import Kept
from heuristics.eva.online_stratus import Stratus
from heuristics.eva.online_synergy import Synergy
from instances.eva import EvaCloud
from instances.eva.cloud_arrays import cloud_arrays
from instances.eva.online import CloudView, Configuration, Hosting
from instances.eva.packing import fits
from instances.online import Policy


class NoPacking:
    """Every pending task gets its own instance; empty instances are terminated."""

    def __init__(self, data: EvaCloud) -> None:
        arrays = cloud_arrays(data)
        self._kept = Kept()
        self._type = {name: arrays.types[k] for name, k in zip(arrays.classes, arrays.cheapest_type, strict=True)}

    def decide(self, view: CloudView) -> Configuration:
        if not view.arrived and not view.finished:
            return Configuration()
        kept = self._kept.hostings(view)
        if not view.arrived:
            return Configuration(instances=tuple(kept))
        new = [Hosting(self._type[t.task_class], (t.id,)) for t in view.tasks.values() if t.instance is None]
        return Configuration(instances=(*kept, *new))


Online = Policy[CloudView, Configuration]


def eva_with(data: EvaCloud, planner: Callable[[CloudView], Configuration | None]) -> Online:
    """Return Eva with another planner instead of Full Reconfiguration, which is the fallback if it returns `None`."""
    from heuristics.eva.online_eva import Eva  # imports compiled loops

    return Eva(data, planner=planner)


def _eva(data: EvaCloud, **parameters: bool) -> Online:
    from heuristics.eva.online_eva import Eva, EvaParameters

    return Eva(data, EvaParameters(**parameters))


ONLINE: Mapping[str, Callable[[EvaCloud], Online]] = {
    "no-packing": NoPacking,
    "synergy": Synergy,
    "stratus": Stratus,
    "stratus-remaining": partial(Stratus, true_remaining=True),
    "owl": Owl,
    "eva": _eva,
    "eva-single": partial(_eva, whole_jobs=False),
    "eva-without-full": partial(_eva, full=False),
    "eva-without-partial": partial(_eva, partial=False),
    "eva-without-throughput": partial(_eva, interference=False),
}
"""Online policies, created for each workload."""


class WaitingAlone:
    """Each pending task gets its own instance, the others stay: a policy without state."""

    def decide(self, view: CloudView) -> Configuration:
        kinds = sorted(view.instance_types.values(), key=lambda kind: kind.usd_per_hour)
        kept = [Hosting(i.instance_type, i.tasks, i.id) for i in view.instances.values() if i.tasks]
        new = []
        for task in view.tasks.values():
            if task.instance is None:
                demand = view.classes[task.task_class].demand
                new.append(Hosting(next(kind.name for kind in kinds if fits(demand, kind)), (task.id,)))
        return Configuration(instances=(*kept, *new))
