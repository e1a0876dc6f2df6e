"""What files there are: problems, each with the type of its data and its independent checker, and workloads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from instances.aryl import (
    ArylElastic,
    ArylLoaning,
    ArylPlacement,
    ArylReclaim,
    check_elastic,
    check_placement,
    check_reclaim,
)
from instances.boa import BoaAllocation, BoaRenting, check_allocation
from instances.eva import (
    EvaCloud,
    EvaPacking,
    EvaReconfiguration,
    NodePlacement,
    check_node_placement,
    check_packing,
    check_reconfiguration,
)
from instances.fields import ProblemData, Verdict
from instances.online import Workload
from instances.options import Solution
from instances.proofs.aryl import prove_elastic, prove_placement, prove_reclaim
from instances.proofs.boa import prove_allocation
from instances.proofs.certificate import Proven
from instances.proofs.eva import prove_packing
from instances.proofs.sia import prove_delay
from instances.sia import SiaLocalOracle, SiaOracle, check_local_oracle, check_oracle


@dataclass(frozen=True)
class Problem:
    """A problem's data type and its checker `check(data, solution)`, which raises MalformedSolution.

    `prove(data, text)`: what a certificate proves of a bound; `None` where no certificates are written.
    """

    data: type[ProblemData]
    check: Callable[[Any, Solution], Verdict]
    prove: Callable[[Any, str], Proven] | None = None


PROBLEMS: dict[str, Problem] = {
    "eva-packing": Problem(EvaPacking, check_packing, prove_packing),
    "eva-reconfiguration": Problem(EvaReconfiguration, check_reconfiguration),
    "node-placement": Problem(NodePlacement, check_node_placement),
    "boa-allocation": Problem(BoaAllocation, check_allocation, prove_allocation),
    "aryl-elastic": Problem(ArylElastic, check_elastic, prove_elastic),
    "aryl-reclaim": Problem(ArylReclaim, check_reclaim, prove_reclaim),
    "aryl-placement": Problem(ArylPlacement, check_placement, prove_placement),
    "sia-oracle": Problem(SiaOracle, check_oracle, prove_delay),
    "sia-local-oracle": Problem(SiaLocalOracle, check_local_oracle),
}
WORKLOADS: dict[str, type[Workload]] = {data.problem: data for data in (EvaCloud, BoaRenting, ArylLoaning)}
"""What the simulator runs and no method solves; an instance of `sia-oracle` is a workload too."""
FORMATS: dict[str, type[ProblemData]] = {name: problem.data for name, problem in PROBLEMS.items()} | WORKLOADS
"""The type of the data of every file."""


def check(data: ProblemData, solution: Solution) -> Verdict:
    """Check `solution`, in the form of the file formats page, against `data` alone.

    Raises MalformedSolution where it is not of that form.
    """
    return PROBLEMS[data.problem].check(data, solution)
