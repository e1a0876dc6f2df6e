"""A schedule that is known beforehand, such as a solver's, as a policy."""

from __future__ import annotations

from collections.abc import Mapping

from instances.sia.online import Start, View


class Scripted:
    """Starts each job at its time in `starts`."""

    def __init__(self, starts: Mapping[str, float]) -> None:
        self._coming = sorted(starts.items(), key=lambda item: item[1], reverse=True)

    def decide(self, view: View) -> Start:
        begun = []
        while self._coming and self._coming[-1][1] <= view.now:
            begun.append(self._coming.pop()[0])
        return Start(begun, self._coming[-1][1] if self._coming else None)
