"""Exact methods for Aryl (Li et al., "Aryl: An Elastic Cluster Scheduler for Deep Learning", arXiv:2202.07896)."""

from typing import TYPE_CHECKING, Any

from models.aryl.exact import exact
from models.aryl.front import Front, FrontPoint, pareto_front
from models.aryl.literal import literal

if TYPE_CHECKING:
    from models.aryl.literal_elastic import build_elastic, build_knapsack, build_mean_jct
    from models.aryl.literal_placement import build_placement
    from models.aryl.literal_reclaim import build_reclaim

__all__ = [
    "Front",
    "FrontPoint",
    "build_elastic",
    "build_knapsack",
    "build_mean_jct",
    "build_placement",
    "build_reclaim",
    "exact",
    "literal",
    "pareto_front",
]


def __getattr__(name: str) -> Any:
    """A builder of a literal model, imported on demand: Pyomo takes a second to import."""
    if name in ("build_elastic", "build_knapsack", "build_mean_jct"):
        from models.aryl import literal_elastic

        return getattr(literal_elastic, name)
    if name == "build_placement":
        from models.aryl.literal_placement import build_placement

        return build_placement
    if name == "build_reclaim":
        from models.aryl.literal_reclaim import build_reclaim

        return build_reclaim
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
