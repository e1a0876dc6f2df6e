"""Heuristics of Eva (Chang and Venkataraman, EuroSys'25, doi 10.1145/3689031.3717483).

They are No-Packing, which rents one instance per task; Full Reconfiguration (Algorithm 1) with two tie-breaks and as in
the authors' artifact; Partial Reconfiguration; and the criterion that chooses between the last two (section 4.5).
"""

from heuristics.eva.partial_reconfiguration import (
    MigrationDelays,
    expected_duration,
    migration_cost,
    partial_reconfiguration,
    prefers_full,
    provision_saving,
)
from heuristics.eva.reconfiguration import (
    full_reconfiguration,
    full_reconfiguration_artifact,
    full_reconfiguration_first,
    no_packing,
    reconfigure,
)

__all__ = [
    "MigrationDelays",
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
