"""No-Packing as time goes by: every task alone, on the cheapest type that it fits on, and nothing ever moves."""

from __future__ import annotations

from heuristics.eva.online_kept import Kept
from instances.eva import EvaCloud
from instances.eva.cloud_arrays import cloud_arrays
from instances.eva.online import CloudView, Configuration, Hosting


class NoPacking:
    """Every task that waits gets an instance of its own; an instance that is empty is given up."""

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
