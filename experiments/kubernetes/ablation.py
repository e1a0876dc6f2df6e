"""The parts of the exact methods for nodes, and what each is worth."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from experiments.harness.experiment import Quick, Study
from experiments.output.ablation import MethodPart, ablate, copy_function, say_no
from instances import Instance, Options
from instances.kubernetes import NodeConsolidation, random_cluster, shrunk_cluster
from instances.kubernetes.generators import Source
from models.core.highs import Solved
from models.kubernetes.consolidation import _ConsolidationSearch

EXACT = {
    "node-placement": "models.kubernetes:exact",
    "node-consolidation": "models.kubernetes:exact_consolidation",
}
PLACEMENT = "models.kubernetes.exact:_PlacementSearch"
PATTERNS = "models.kubernetes.node_patterns"
NODE_PATTERNS = f"{PATTERNS}:NodePatterns"
DRAIN_SETS = "models.kubernetes.drain_sets:enumerate_drain_sets"
NEIGHBOURS = "models.kubernetes.neighbourhood:Neighbourhood.generate"
CONSOLIDATION = "models.kubernetes.consolidation"
SEARCH = f"{CONSOLIDATION}:_ConsolidationSearch"
solve_program = copy_function(_ConsolidationSearch._solve_program)


# Stand-ins: each is called in place of the functions of a part, as PARTS says.


def _pack_anew(search: Any) -> Any:
    return search._repair(search.nodes, search.nodes.pack_by_dot_product())


def _as_packed(rooms: Any, packed: Any, *_: Any) -> Any:
    return packed


def _equal_mix(resources: int) -> Any:
    return np.full((1, resources), 1 / resources)


def _keep_all_limits(totals: Any, best: int) -> Any:
    return totals.lower, totals.upper


def _search_by_node(search: Any, totals: Any, share: float, is_relaxed: bool, kept: Any = None) -> Solved:
    if is_relaxed:
        return Solved("effort_limit")
    found: Solved = solve_program(search, totals, share, is_relaxed, kept)
    return found


PARTS = (
    MethodPart("packing of what waits", (f"{PLACEMENT}._pack_pending",), _pack_anew),
    MethodPart("repair of a packing", ("models.core.fixed_bins:FixedBins.repair_by_ejection",), _as_packed),
    MethodPart("weighted totals", ("models.kubernetes.certificate:find_surrogate_weights",)),
    MethodPart("program over contents", (f"{PLACEMENT}._bound_by_patterns",), say_no),
    MethodPart("dives", (f"{PLACEMENT}._dive",)),
    MethodPart("more than one dive", constants={"models.kubernetes.exact:DIVES": 1}, entered=(f"{PLACEMENT}._dive",)),
    MethodPart("pricing in dives", constants={f"{PATTERNS}:DIVE_ROUNDS": 0}, entered=(f"{NODE_PATTERNS}.dive",)),
    MethodPart("smoothing of duals", constants={f"{PATTERNS}:SMOOTHING": 0.0}, entered=(f"{NODE_PATTERNS}.generate",)),
    MethodPart("denominators of duals", (f"{PATTERNS}:_find_denominator",)),
    MethodPart("mixes of resources", (f"{PATTERNS}:make_mixes",), _equal_mix),
    MethodPart("programs over some nodes", (f"{PLACEMENT}._solve_partial_programs",)),
    MethodPart("program over all nodes", (f"{PLACEMENT}._solve_program",), say_no),
    MethodPart("packing of all pods anew", (f"{SEARCH}._bound_by_repacking",)),
    MethodPart("packing into nodes kept and rented", (f"{SEARCH}._pack",)),
    MethodPart("further nodes for what is left over", (f"{SEARCH}._rent_for",)),
    MethodPart("program of totals", (f"{SEARCH}._solve_program",), _search_by_node),
    MethodPart("sets of drained nodes", (f"{SEARCH}._bound_by_drain_sets",), entered=(DRAIN_SETS,)),
    MethodPart(
        "programs of single sets",
        constants={f"{CONSOLIDATION}:MAX_DRAIN_SETS": 0},
        entered=(f"{SEARCH}._bound_drain_set",),
    ),
    MethodPart("neighbours of plans", (f"{SEARCH}._search_neighbours",), entered=(NEIGHBOURS,)),
    MethodPart("program with a room for each node", (f"{SEARCH}._solve_disaggregated",)),
    MethodPart("limits by the best plan", ("models.kubernetes.aggregated_model:tighten_limits",), _keep_all_limits),
)
JOINT = {
    "sets and neighbours": ("sets of drained nodes", "neighbours of plans"),
    "sets, neighbours and packing anew": (
        "sets of drained nodes",
        "neighbours of plans",
        "packing of all pods anew",
    ),
}
"""Parts that may stand in for one another, left out together."""


def _change_instance(instance: Instance[NodeConsolidation], kind: str, **fields: Any) -> Instance[NodeConsolidation]:
    data = instance.data.model_copy(update=fields)
    return Instance.of(data, f"{instance.name}-{kind}", instance.source)


def _few_evictions(seed: int) -> Instance[NodeConsolidation]:
    return _change_instance(shrunk_cluster(200, seed), "20-evictions", max_evictions=20)


def _dear_evictions(pods: int, cloud: Source, seed: int, **fields: Any) -> Instance[NodeConsolidation]:
    """Evictions cost half a cent an hour, for which packing and totals leave the question open."""
    return _change_instance(shrunk_cluster(pods, seed, cloud=cloud), "dear", eviction_usd_per_hour=0.005, **fields)


DRAWS: dict[str, Callable[..., Instance[Any]]] = {
    "20 nodes, load 1": partial(random_cluster, 20, load=1.0),
    "8 nodes, load 1": partial(random_cluster, 8, load=1.0),
    "12 nodes, pods drawn, load 0.99": partial(random_cluster, 12, load=0.99, planted=False),
    "20 nodes, pods drawn, load 1": partial(random_cluster, 20, load=1.0, planted=False),
    "40 nodes, load 0.97": partial(random_cluster, 40, load=0.97),
    "40 pods of GKE, dear evictions": partial(_dear_evictions, 40, "gke"),
    "100 pods of AKS, dear evictions": partial(_dear_evictions, 100, "aks"),
    "40 pods of Table 7, dear evictions": partial(_dear_evictions, 40, "table-7"),
    "100 pods of Karpenter, dear evictions": partial(_dear_evictions, 100, "karpenter"),
    "40 pods of EKS moved one by one, dear evictions": partial(_dear_evictions, 40, "eks", moves="pods"),
    "200 pods, 20 evictions": _few_evictions,
    "100 pods, any evictions": partial(shrunk_cluster, 100),
    "60 pods of Karpenter, any evictions": partial(shrunk_cluster, 60, cloud="karpenter"),
}


def ablation(options: Options, quick: Quick = False) -> Study:
    """Leave parts out of the exact methods, and compare proofs, gaps and CPU seconds."""
    return ablate(EXACT, PARTS, DRAWS, options, JOINT, quick)
