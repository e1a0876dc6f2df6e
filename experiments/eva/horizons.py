"""Eva that takes a configuration to last for a fixed time, in the place of the estimate of section 4.5."""

from __future__ import annotations

from functools import partial

from heuristics.eva.online_eva import Eva, EvaParameters
from instances.eva import EvaCloud


def lasting(seconds: float, data: EvaCloud) -> Eva:
    """The policy `eva` with a fixed D; 0 is Partial Reconfiguration alone."""
    return Eva(data, EvaParameters(horizon_seconds=seconds))


never = partial(lasting, 0.0)
minutes_5 = partial(lasting, 300.0)
minutes_15 = partial(lasting, 900.0)
minutes_30 = partial(lasting, 1_800.0)
hours_1 = partial(lasting, 3_600.0)
hours_2 = partial(lasting, 7_200.0)
hours_4 = partial(lasting, 14_400.0)
hours_8 = partial(lasting, 28_800.0)
hours_24 = partial(lasting, 86_400.0)
ever = partial(lasting, 1e12)  # s; infinite promises could not be told apart
HORIZONS = {
    "0": "never",
    "5 min": "minutes_5",
    "15 min": "minutes_15",
    "30 min": "minutes_30",
    "1 h": "hours_1",
    "2 h": "hours_2",
    "4 h": "hours_4",
    "8 h": "hours_8",
    "24 h": "hours_24",
    "infinite": "ever",
}
"""How long, and the name of the policy in this module."""
