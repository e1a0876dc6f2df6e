"""The parts of Eva's exact packing for the cost, and what each is worth."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from experiments.eva.benchmark import EXACT
from experiments.harness.experiment import Quick, Study
from experiments.output.ablation import FIRST_SEED, MethodPart, ablate, say_no, say_yes
from instances import Instance, Options
from instances.eva import EvaPacking, caprara_toth, distinct_tasks, pod_requests, price_list, table_7

HARD = (8, 21, 37)
"""Seeds of draws of 200 tasks of Table 7 whose tree has more than 200 nodes."""
SEARCH = "models.eva.column_generation"
COLUMNS = f"{SEARCH}:ColumnSearch"
TREE = "models.eva.branch_and_price"
ITEMS = "models.eva.item_packing"
TOTALS = "models.eva.totals"
PARAMETERS = "models.eva.parameters"
DEFAULTS = f"{PARAMETERS}:DEFAULTS"


def _as_found(search: Any, found: Any) -> Any:
    """Stand in for the proposals of HiGHS: return the multisets that were found."""
    return found


PARTS = (
    MethodPart("surrogate relaxation", ("models.eva.exact:_solve_surrogate",), say_yes),
    MethodPart("first look at cheap multisets", (f"{TOTALS}:_MultisetSearch.look",), say_no),
    MethodPart("repair of a packing", (f"{TOTALS}:_MultisetSearch._repair",)),
    MethodPart("integer program for a multiset", (f"{TOTALS}:_MultisetSearch._decide",)),
    MethodPart("proposals of HiGHS", (f"{TOTALS}:_MultisetSearch._propose_by_highs",), _as_found),
    MethodPart("listed patterns", ("models.eva.trees:solve_tree",)),
    MethodPart("tree that prices by search", ("models.eva.trees:solve_unlisted",)),
    MethodPart(
        "packing task by task", (f"{PARAMETERS}:ItemParameters.suits",), say_no, entered=(f"{ITEMS}:pack_items",)
    ),
    MethodPart("tree of pairs", (f"{ITEMS}:branch",)),
    MethodPart("resource bound", (f"{COLUMNS}.bound_by_resources",)),
    MethodPart("bound by family", (f"{COLUMNS}.bound_by_family",)),
    MethodPart("bound by type", (f"{COLUMNS}.bound_by_type",)),
    MethodPart("bound by pooling", (f"{SEARCH}:bound_by_pooling",)),
    MethodPart("bound by sharing", (f"{SEARCH}:bound_by_sharing",)),
    MethodPart("dives to the bound", (f"{COLUMNS}.dive_to_bound",)),
    MethodPart("dives with noise", (f"{COLUMNS}.dive_with_noise",)),
    MethodPart("integer program over columns", (f"{COLUMNS}.integer_program",)),
    MethodPart("ruin and recreate from single tasks", (f"{SEARCH}:ruin_alone",)),
    MethodPart("long ruin and recreate", (f"{SEARCH}:ruin_at_length",)),
    MethodPart("short ruin and recreate", (f"{SEARCH}:ruin",)),
    MethodPart("integer program in the tree", (f"{TREE}:_solve_over_columns",)),
    MethodPart("dives in the tree", (f"{TREE}:BranchAndPrice._dive",)),
    MethodPart(
        "restarts of the tree",
        constants={f"{DEFAULTS}.branch_and_price.restarts": 0},
        entered=(f"{TREE}:BranchAndPrice._begin_anew",),
    ),
    MethodPart(
        "strong branching",
        constants={f"{DEFAULTS}.branch_and_price.reliable": 0},
        entered=("models.eva.branching:strong_branching",),
    ),
    MethodPart("patterns ruled out by the root", (f"{TREE}:BranchAndPrice._shrink",)),
    MethodPart(
        "smoothing of duals",
        constants={f"{DEFAULTS}.column_generation.smoothing": 0.0},
        entered=(f"{COLUMNS}.relax",),
    ),
)
JOINT = {
    "all bounds by groups": ("bound by family", "bound by type"),
    "pooling and sharing": ("bound by pooling", "bound by sharing"),
    "pooling, sharing and resources": ("bound by pooling", "bound by sharing", "resource bound"),
    "all dives of columns": ("dives to the bound", "dives with noise"),
    "all ruin and recreate": (
        "ruin and recreate from single tasks",
        "long ruin and recreate",
        "short ruin and recreate",
    ),
    "extras of the tree": ("dives in the tree", "restarts of the tree", "strong branching"),
    "extras of the surrogate relaxation": (
        "first look at cheap multisets",
        "repair of a packing",
        "proposals of HiGHS",
    ),
}
"""Parts that may stand in for one another, left out together."""


DRAWS: dict[str, Callable[..., Instance[EvaPacking]]] = {
    "Table 7, hard draws": lambda seed: table_7(200, HARD[seed - FIRST_SEED]),
    "Table 7, 200 tasks": partial(table_7, 200),
    "EKS, 200 pods": partial(price_list, 200),
    "drawn prices, 1,000 pods": partial(price_list, 1_000, cloud="drawn"),
    "60 distinct pods": partial(pod_requests, 60),
    "200 distinct pods": partial(pod_requests, 200),
    "40 distinct tasks": partial(distinct_tasks, 40),
    "160 distinct tasks": partial(distinct_tasks, 160),
    "1,000 distinct tasks": partial(distinct_tasks, 1_000),
    "Caprara-Toth 7, 50 items": partial(caprara_toth, 7, 50),
    "Caprara-Toth 9, 100 items": partial(caprara_toth, 9, 100),
    "Caprara-Toth 9, 25 items, three types": partial(caprara_toth, 9, 25, types="three"),
}


def ablation(options: Options, quick: Quick = False) -> Study:
    """Leave parts out of the exact packing, and compare proofs, gaps and CPU seconds."""
    return ablate(EXACT, PARTS, DRAWS, options, JOINT, quick)
