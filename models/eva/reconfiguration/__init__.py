"""A round of Eva's scheduler as one problem: the formulation as it stands, and a fast exact method over columns."""

from models.eva.reconfiguration.exact import exact_reconfiguration

__all__ = ["exact_reconfiguration"]
