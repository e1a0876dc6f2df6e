"""The parts of Eva's exact methods for the cost, for the net saving and for rounds, and what each is worth."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer

from experiments.eva.studies import EXACT
from experiments.harness.experiment import Quick, Study
from experiments.output.ablation import FIRST_SEED, MethodPart, ablate, say_no, say_yes
from instances import Answer, Instance, Options
from instances.eva import (
    EvaPacking,
    caprara_toth,
    distinct_tasks,
    pod_requests,
    price_list,
    random_round,
    random_workloads,
    table_7,
)
from instances.eva.reconfiguration import EvaReconfiguration

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


def _replace_constant(name: str, constant: str, value: float, entered: str) -> MethodPart:
    """Return the part that a constant of the parameters switches off."""
    return MethodPart(name, constants={f"{DEFAULTS}.{constant}": value}, entered=(entered,))


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
    _replace_constant("restarts of the tree", "branch_and_price.restarts", 0, f"{TREE}:BranchAndPrice._begin_anew"),
    _replace_constant("strong branching", "branch_and_price.reliable", 0, "models.eva.branching:strong_branching"),
    MethodPart("patterns ruled out by the root", (f"{TREE}:BranchAndPrice._shrink",)),
    _replace_constant("smoothing of duals", "column_generation.smoothing", 0.0, f"{COLUMNS}.relax"),
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


EXACT_ROUND = "models.eva.reconfiguration:exact_reconfiguration"
NET_SAVING = "models.eva.net_saving"
SAVING = "models.eva.saving_search:SavingSearch"
ROUND = "models.eva.round_search:RoundSearch"
COUNTS = "models.eva.counts:CountBranching"


def _solve_at_once(partition: Any, start: Any, options: Any, clock: Any, watch: Any, parameters: Any) -> Any:
    """Stand in for sifting: the integer program over all columns."""
    from models.core.highs import Solved
    from models.eva.net_saving import _integer

    first = Solved("time_limit", start, partition.value(start), reason="time limit")
    return _integer(partition, np.arange(len(partition.net)), options, clock, watch, first)


def _solve_nothing(*_: Any, **__: Any) -> Any:
    """Stand in for an integer program."""
    from models.core.highs import Solved

    return Solved("time_limit")


def _as_it_is(data: Any, answer: Answer, *_: Any) -> Answer:
    """Stand in for a derivation of what a small instance saves."""
    return answer


SAVING_PARTS = (
    _replace_constant("all patterns first", "first_saving_patterns", 0, f"{NET_SAVING}:_solve"),
    MethodPart(
        "all patterns",
        constants={f"{DEFAULTS}.first_saving_patterns": 0, f"{DEFAULTS}.saving_patterns": 0},
        entered=(f"{NET_SAVING}:_solve",),
    ),
    MethodPart("sifting of all patterns", (f"{NET_SAVING}:_solve",), _solve_at_once),
    MethodPart(
        "column generation",
        ("models.eva.parameters:SavingParameters.suits",),
        say_no,
        entered=(f"{NET_SAVING}:_generate_columns",),
    ),
    MethodPart("numbers of instances", (f"{SAVING}._count",)),
    _replace_constant("short list before a long one", "saving.counts.probed", 1 << 60, f"{COUNTS}._leaf"),
    MethodPart("integer programs over lists", (f"{SAVING}._list",)),
    MethodPart("least cost as a bound", (f"{SAVING}._lower_otherwise",)),
    MethodPart("derivation of a small optimum", ("models.core.derivation:settle_small",), _as_it_is),
)
SAVING_JOINT = {"numbers of instances and integer programs": ("numbers of instances", "integer programs over lists")}
ROUND_PARTS = (
    MethodPart("numbers of instances in a round", (f"{ROUND}._branch_on_counts",), say_no),
    MethodPart("integer program over a list", (f"{SAVING}._integer",), _solve_nothing),
    MethodPart("longer lists", (f"{ROUND}._longer",)),
    MethodPart(
        "short list before a long one",
        constants={"models.eva.parameters:ROUND.counts.probed": 1 << 60},
        entered=(f"{COUNTS}._leaf",),
    ),
    MethodPart("derivation of a small optimum", ("models.core.derivation:settle_small",), _as_it_is),
)


SAVING_DRAWS: dict[str, Callable[..., Instance[EvaPacking]]] = {
    "Table 7, 100 tasks": partial(table_7, 100, objective="net-saving"),
    "40 tasks of 20 workloads": partial(random_workloads, 40, 20),
    "100 tasks of 20 workloads": partial(random_workloads, 100, 20),
    "60 tasks of 40 workloads, throughput from 0.8": partial(random_workloads, 60, 40, least_throughput=0.8),
    "120 tasks of 60 workloads": partial(random_workloads, 120, 60),
    "60 tasks of 30 workloads, throughput from 0.9": partial(random_workloads, 60, 30, least_throughput=0.9),
}


ROUND_DRAWS: dict[str, Callable[..., Instance[EvaReconfiguration]]] = {
    "round of 15 tasks": partial(random_round, 15),
    "round of 60 tasks": partial(random_round, 60),
    "round of 60 tasks, jobs of 2": partial(random_round, 60, tasks_per_job=2),
    "round of 150 tasks": partial(random_round, 150),
}


def saving_ablation(
    options: Options,
    rounds: Annotated[bool, typer.Option("--rounds", help="Study the method for rounds instead.")] = False,
    quick: Quick = False,
) -> Study:
    """Leave parts out of the exact method for the net saving, and compare proofs, gaps and CPU seconds."""
    if rounds:
        return ablate(EXACT_ROUND, ROUND_PARTS, ROUND_DRAWS, options, quick=quick)
    return ablate(EXACT, SAVING_PARTS, SAVING_DRAWS, options, SAVING_JOINT, quick)
