"""The parts of SIA's exact oracle, and what each is worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer

from experiments.harness.experiment import Quick, Study
from experiments.output.ablation import MethodPart, ablate, say_no
from experiments.sia.reference import on_servers
from experiments.sia.studies import EXACT
from instances import Instance, Options
from instances.arrays import IntArray
from instances.sia import VARIANTS, SiaLocalOracle, SiaOracle, synthetic
from instances.sia.arrays import OracleArrays

LOCAL_EXACT = "models.sia:local_exact"
DEFAULTS = "models.sia.parameters:DEFAULTS"
COMPONENTS = "models.sia.exact:ComponentProof"
LOOP = "models.sia.cutting_loop:CuttingLoop"
ELITE = "models.sia.cutting_loop:EliteSearch"
TIME_INDEXED = "models.sia.time_indexed:_TimeIndexedSolve"
LOCAL = "models.sia.local_exact:_LocalProof"


def _shorten_windows(arrays: OracleArrays, best: IntArray) -> tuple[OracleArrays, IntArray, IntArray]:
    """Stand in for the presolve: no job waits longer than all jobs of the schedule, and all jobs are one part."""
    cutoff = np.minimum(arrays.cutoff, arrays.submit + arrays.delay(best))
    return replace(arrays, cutoff=cutoff), np.zeros(len(best), dtype=np.int64), best


def _same_cutoff(arrays: OracleArrays, cutoff: IntArray, best: IntArray) -> IntArray:
    """Stand in for the search of full steps, which ends windows."""
    return cutoff


def _return_one_part(arrays: OracleArrays, cutoff: IntArray) -> IntArray:
    """Stand in for the division into parts."""
    return np.zeros(len(cutoff), dtype=np.int64)


def _return_no_rows(*_: Any, **__: Any) -> list[Any]:
    """Stand in for a function that separates rows."""
    return []


def _skip_trees(proof: Any, relaxation: Any) -> str:
    """Stand in for the trees."""
    return "time_limit"


def _skip_annealing(arrays: OracleArrays, starts: IntArray, clock: Any, **_: Any) -> tuple[IntArray | None, IntArray]:
    """Stand in for annealing with penalties."""
    return None, starts


def _skip_improvement(arrays: OracleArrays, starts: IntArray, clock: Any, **_: Any) -> IntArray:
    """Stand in for the neighbourhood search."""
    return starts


def _return_finished(*_: Any) -> str:
    """Stand in for a step that says how it ended."""
    return "finished"


def _model_without_solution(*_: Any) -> tuple[str, None]:
    """Stand in for the model with servers."""
    return "finished", None


def _replace_constant(name: str, constant: str, value: float, entered: str) -> MethodPart:
    """Return the part that a constant of the parameters switches off."""
    return MethodPart(name, constants={f"{DEFAULTS}.{constant}": value}, entered=(entered,))


PARTS = (
    MethodPart("presolve", ("models.sia.presolve:presolve",), _shorten_windows),
    MethodPart("windows that end behind full steps", ("models.sia.presolve:_shorten_windows",), _same_cutoff),
    MethodPart("division into parts", ("models.sia.presolve:_find_components",), _return_one_part),
    MethodPart("all orders of small parts", (f"{COMPONENTS}._enumerate_orders",), say_no),
    _replace_constant("parts proven one by one", "component_starts", -1, f"{COMPONENTS}._prove_components"),
    MethodPart("trees", ("models.sia.start_tree:branch",), _skip_trees),
    MethodPart("volume algorithm in the tree", ("models.sia.start_tree:StartTree._bound_by_ascent",), say_no),
    MethodPart("schedules from nodes", ("models.sia.start_tree:_offer_sample",)),
    MethodPart("cuts", ("models.sia.cuts:separate",), _return_no_rows),
    _replace_constant(
        "early end of column generation", "bound_accuracy", 0.0, "models.sia.relaxation:StartRelaxation.converge"
    ),
    _replace_constant("several turns", "round_gain", 1.0, f"{LOOP}._search"),
    MethodPart("neighbourhood search", ("models.sia.search:improve",), _skip_improvement),
    _replace_constant("moves to distant places", "relocation_share", 0.0, "models.sia.search:improve"),
    _replace_constant("repairs of a move", "move_repairs", 0, "models.sia.search:improve"),
    _replace_constant("several draws", "draws", 1, f"{ELITE}.draw"),
    MethodPart("elite search", (f"{LOOP}._has_many_candidates",), say_no, entered=(f"{ELITE}.run",)),
    _replace_constant("searches that begin with the elite", "draw_share", 1.0, f"{ELITE}.run"),
    _replace_constant("last search", "failures_last", 0, f"{ELITE}.run"),
    MethodPart("annealing with penalties", ("models.sia.search:anneal_with_penalties",), _skip_annealing),
    MethodPart("prices of fairness", (f"{TIME_INDEXED}._exclude_starts",)),
    MethodPart("schedules by backfilling, with fairness", (f"{TIME_INDEXED}._construct",)),
)
JOINT = {
    "presolve and all orders": ("presolve", "all orders of small parts"),
    "extras of the elite search": ("searches that begin with the elite", "several draws", "last search"),
    "annealing with penalties and elite": ("annealing with penalties", "searches that begin with the elite"),
    "extras of a move": ("moves to distant places", "repairs of a move"),
}
"""Parts that may stand in for one another, left out together."""
LOCAL_PARTS = (
    *(part for part in PARTS if part.name in JOINT["presolve and all orders"]),
    MethodPart("servers for the schedule without locality", ("models.sia.local_exact:assign_servers",)),
    MethodPart("schedules near it", (f"{LOCAL}._search_servers",)),
    MethodPart("bound without locality", (f"{LOCAL}._solve_without_locality",), _return_finished),
    MethodPart(
        "cuts with locality",
        constants={"models.sia.local_exact:LOCAL_DEFAULTS.max_cut_rounds": 1},
        entered=(f"{LOCAL}._exclude_starts",),
    ),
    MethodPart("model with servers", (f"{LOCAL}._solve_placement_model",), _model_without_solution),
)
LOCAL_JOINT = {"presolve and all orders": JOINT["presolve and all orders"]}


base = VARIANTS["base"]
low, high = replace(base, load=(0.7, 0.7)), replace(base, load=(1.0, 1.0))
DRAWS: dict[str, Callable[..., Instance[SiaOracle]]] = {
    "half a day, load 0.7": lambda seed: synthetic(low, seed, days=0.5),
    "half a day, load 1.0": lambda seed: synthetic(high, seed, days=0.5),
    "a day": lambda seed: synthetic("base", seed, days=1.0),
    "three days of 5-minute slots": lambda seed: synthetic("base", seed, slot_minutes=5.0),
    "two days of 5-minute slots": lambda seed: synthetic("base", seed, days=2.0, slot_minutes=5.0),
    "two days, load 1.0": lambda seed: synthetic(high, seed, days=2.0),
    "a quarter of a day with fairness": lambda seed: synthetic("base", seed, days=0.25, fairness_weight=1.0),
}


LOCAL_DRAWS: dict[str, Callable[..., Instance[SiaLocalOracle]]] = {
    "0.35 days on servers": partial(on_servers, days=0.35),
    "half a day on servers": partial(on_servers, days=0.5),
}


def ablation(
    options: Options,
    local: Annotated[bool, typer.Option("--local", help="Study the method with locality instead.")] = False,
    quick: Quick = False,
) -> Study:
    """Leave parts out of the exact oracle, and compare proofs, gaps and CPU seconds."""
    if local:
        return ablate(LOCAL_EXACT, LOCAL_PARTS, LOCAL_DRAWS, options, LOCAL_JOINT, quick)
    return ablate(EXACT, PARTS, DRAWS, options, JOINT, quick)
