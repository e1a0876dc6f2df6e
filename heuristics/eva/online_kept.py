"""Rented instances that go on as they are: what a policy says of them, made once for each state of an instance."""

from __future__ import annotations

from instances.eva.online import CloudView, Hosting, InstanceState


class Kept:
    """The hostings of instances as they are; one without a task is given up."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[InstanceState, Hosting]] = {}

    def hostings(self, view: CloudView) -> list[Hosting]:
        """The instances that hold tasks, in the order of the view."""
        known, self._known = self._known, {}
        found = []
        for name, state in view.instances.items():
            if state.tasks:
                entry = known.get(name)
                if entry is None or entry[0] is not state:
                    entry = state, Hosting(state.instance_type, state.tasks, name)
                self._known[name] = entry
                found.append(entry[1])
        return found
