"""The parts of Eva's exact method for the net saving and for rounds, and what each is worth."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

import numpy as np
import typer

from experiments.eva.benchmark import EXACT
from experiments.harness.experiment import Quick, Study
from experiments.output.ablation import MethodPart, ablate, say_no
from instances import Answer, Instance, Options
from instances.eva import EvaPacking, random_round, random_workloads, table_7
from instances.eva.reconfiguration import EvaReconfiguration

EXACT_ROUND = "models.eva.reconfiguration:exact_reconfiguration"
DEFAULTS = "models.eva.parameters:DEFAULTS"
NET_SAVING = "models.eva.net_saving"
SEARCH = "models.eva.saving_search"
SAVING = f"{SEARCH}:SavingSearch"
ROUND = "models.eva.round_search:RoundSearch"
COUNTS = "models.eva.counts:CountBranching"


def _at_once(partition: Any, start: Any, options: Any, clock: Any, watch: Any, parameters: Any) -> Any:
    """Stand in for sifting: the integer program over all columns."""
    from models.core.highs import Solved
    from models.eva.net_saving import _integer

    first = Solved("time_limit", start, partition.value(start), reason="time limit")
    return _integer(partition, np.arange(len(partition.net)), options, clock, watch, first)


def _nothing_solved(*_: Any, **__: Any) -> Any:
    """Stand in for an integer program."""
    from models.core.highs import Solved

    return Solved("time_limit")


def _as_it_is(data: Any, answer: Answer, *_: Any) -> Answer:
    """Stand in for a derivation of what a small instance saves."""
    return answer


PARTS = (
    MethodPart(
        "all patterns first", constants={f"{DEFAULTS}.first_saving_patterns": 0}, entered=(f"{NET_SAVING}:_solve",)
    ),
    MethodPart(
        "all patterns",
        constants={f"{DEFAULTS}.first_saving_patterns": 0, f"{DEFAULTS}.saving_patterns": 0},
        entered=(f"{NET_SAVING}:_solve",),
    ),
    MethodPart("sifting of all patterns", (f"{NET_SAVING}:_solve",), _at_once),
    MethodPart(
        "column generation",
        ("models.eva.parameters:SavingParameters.suits",),
        say_no,
        entered=(f"{NET_SAVING}:_generate_columns",),
    ),
    MethodPart("numbers of instances", (f"{SAVING}._count",)),
    MethodPart(
        "short list before a long one",
        constants={f"{DEFAULTS}.saving.counts.probed": 1 << 60},
        entered=(f"{COUNTS}._leaf",),
    ),
    MethodPart("integer programs over lists", (f"{SAVING}._list",)),
    MethodPart("least cost as a bound", (f"{SAVING}._lower_otherwise",)),
    MethodPart("derivation of a small optimum", ("models.core.derivation:settle_small",), _as_it_is),
)
JOINT = {
    "numbers of instances and integer programs": ("numbers of instances", "integer programs over lists"),
}
"""Parts that may stand in for one another, left out together."""
ROUND_PARTS = (
    MethodPart("numbers of instances in a round", (f"{ROUND}._branch_on_counts",), say_no),
    MethodPart("integer program over a list", (f"{SAVING}._integer",), _nothing_solved),
    MethodPart("longer lists", (f"{ROUND}._longer",)),
    MethodPart(
        "short list before a long one",
        constants={"models.eva.parameters:ROUND.counts.probed": 1 << 60},
        entered=(f"{COUNTS}._leaf",),
    ),
    MethodPart("derivation of a small optimum", ("models.core.derivation:settle_small",), _as_it_is),
)


DRAWS: dict[str, Callable[..., Instance[EvaPacking]]] = {
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


def ablation(
    options: Options,
    rounds: Annotated[bool, typer.Option("--rounds", help="Study the method for rounds instead.")] = False,
    quick: Quick = False,
) -> Study:
    """Leave parts out of the exact method for the net saving, and compare proofs, gaps and CPU seconds."""
    if rounds:
        return ablate(EXACT_ROUND, ROUND_PARTS, ROUND_DRAWS, options, quick=quick)
    return ablate(EXACT, PARTS, DRAWS, options, JOINT, quick)
