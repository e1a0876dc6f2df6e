"""A round of Eva's scheduler as one problem: the compact model, and a fast exact method over columns."""

from models.eva.reconfiguration.exact import exact_reconfiguration, short_list
from models.eva.reconfiguration.literal import (
    build_literal_reconfiguration,
    literal_names_reconfiguration,
    literal_reconfiguration,
    read_literal_reconfiguration,
)

__all__ = [
    "build_literal_reconfiguration",
    "exact_reconfiguration",
    "literal_names_reconfiguration",
    "literal_reconfiguration",
    "read_literal_reconfiguration",
    "short_list",
]
