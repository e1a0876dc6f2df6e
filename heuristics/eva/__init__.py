"""Heuristics of Eva (Chang and Venkataraman, EuroSys'25, doi 10.1145/3689031.3717483).

Renting one instance a task, Full Reconfiguration (Algorithm 1) with two tie-breaks and as in the authors' artifact,
Partial Reconfiguration and the criterion that chooses between the two (section 4.5).
"""

from heuristics.eva.criterion import (
    Delays,
    expected_duration,
    migration_cost,
    prefers_full,
    provision_saving,
)
from heuristics.eva.no_packing import no_packing
from heuristics.eva.partial_reconfiguration import partial_reconfiguration
from heuristics.eva.reconfiguration import (
    full_reconfiguration,
    full_reconfiguration_artifact,
    full_reconfiguration_first,
    reconfigure,
)

__all__ = [
    "Delays",
    "expected_duration",
    "full_reconfiguration",
    "full_reconfiguration_artifact",
    "full_reconfiguration_first",
    "migration_cost",
    "no_packing",
    "partial_reconfiguration",
    "prefers_full",
    "provision_saving",
    "reconfigure",
]
