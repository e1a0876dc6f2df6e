"""The constants of the method that closes the duality gap, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GapClosingParameters:
    """The constants of gap closing; none changes what is proven, only how fast and within how much memory.

    - `first_of_gap`, `first_of_bound`: the first δ, as a share of the gap and of the bound; the greater counts.
    - `growth`: factor by which δ grows.
    - `probe_labels`: most labels after an epoch in a probe.
    - `probe_policies`: most policies in a merged set of a probe.
    - `target_share`: share of the gap asked for at which the enumeration stops.
    - `most_labels`: most labels of a class; 40 million take about 700 MB.
    - `compiled`: whether the labels are set by a compiled loop, three to seven times as fast, which takes half a second
      to load.
    """

    first_of_gap: float = 1e-9
    first_of_bound: float = 1e-6
    growth: float = 4.0
    probe_labels: int = 150
    probe_policies: int = 1_000
    target_share: float = 0.9
    most_labels: int = 40_000_000
    compiled: bool = False


DEFAULTS = GapClosingParameters()
MANY_BUDGETS = GapClosingParameters(first_of_bound=1e-5, compiled=True)
"""For the budgets of a frontier, which make up for the loading."""
