"""Register the file formats: problems, each with its data type and its independent checker, and workloads."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from instances.fields import ProblemData, Verdict
    from instances.options import Solution
    from instances.proofs.certificate import FrontProved, Proven


T = TypeVar("T")


@cache
def _load(target: str) -> Any:
    """Import the object `module:name`, so that a paper is loaded only when one of its problems is used."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


class Loaded(Mapping[str, T]):
    """Map names to the objects `module:name`, imported at lookup.

    If the object is itself a mapping, the value is its entry under the name.
    """

    def __init__(self, targets: Mapping[str, str]) -> None:
        self.targets = targets

    def __getitem__(self, name: str) -> T:
        found = _load(self.targets[name])
        of_it: T = found[name] if isinstance(found, Mapping) else found
        return of_it

    def __contains__(self, name: object) -> bool:
        return name in self.targets

    def __iter__(self) -> Iterator[str]:
        return iter(self.targets)

    def __len__(self) -> int:
        return len(self.targets)


@dataclass(frozen=True)
class Problem:
    """A problem; each string has the form `module:name`.

    - `of`: the data type.
    - `checker`: the independent checker.
    - `proof`: the verifier of certificates, `None` if the problem has no certificates.
    - `proves_empty`: whether a certificate may prove infeasibility.
    - `fronts`: the verifier of the certificates of a Pareto front.
    """

    of: str
    checker: str
    proof: str | None = None
    proves_empty: bool = False
    fronts: str | None = None

    @property
    def data(self) -> type[ProblemData]:
        """Return the data type of the problem."""
        found: type[ProblemData] = _load(self.of)
        return found

    @property
    def check(self) -> Callable[[Any, Solution], Verdict]:
        """Return the checker `check(data, solution)`, which raises MalformedSolution."""
        found: Callable[[Any, Solution], Verdict] = _load(self.checker)
        return found

    @property
    def prove(self) -> Callable[[Any, str], Proven] | None:
        """Return the verifier `prove(data, text)`, which returns the bound that a certificate proves."""
        found: Callable[[Any, str], Proven] | None = None if self.proof is None else _load(self.proof)
        return found

    @property
    def front(self) -> Callable[[Any], FrontProved] | None:
        """Return the constructor `front(instance)` of a verifier of a Pareto front, without certificates at first."""
        found: Callable[[Any], FrontProved] | None = None if self.fronts is None else _load(self.fronts)
        return found


PROBLEMS: dict[str, Problem] = {
    "eva-packing": Problem(
        "instances.eva:EvaPacking", "instances.eva:check_packing", "instances.proofs.eva:prove_packing"
    ),
    "eva-reconfiguration": Problem(
        "instances.eva:EvaReconfiguration",
        "instances.eva:check_reconfiguration",
        "instances.proofs.eva:prove_reconfiguration",
    ),
    "boa-allocation": Problem(
        "instances.boa:BoaAllocation", "instances.boa:check_allocation", "instances.proofs.boa:prove_allocation"
    ),
    "aryl-elastic": Problem(
        "instances.aryl:ArylElastic", "instances.aryl:check_elastic", "instances.proofs.aryl:prove_elastic"
    ),
    "aryl-reclaim": Problem(
        "instances.aryl:ArylReclaim",
        "instances.aryl:check_reclaim",
        "instances.proofs.aryl:prove_reclaim",
        fronts="instances.proofs.aryl.front:FrontProofs",
    ),
    "aryl-placement": Problem(
        "instances.aryl:ArylPlacement", "instances.aryl:check_placement", "instances.proofs.aryl:prove_placement"
    ),
    "sia-oracle": Problem("instances.sia:SiaOracle", "instances.sia:check_oracle", "instances.proofs.sia:prove_oracle"),
    "sia-local-oracle": Problem(
        "instances.sia:SiaLocalOracle", "instances.sia:check_local_oracle", "instances.proofs.sia:prove_local"
    ),
    "node-placement": Problem(
        "instances.kubernetes:NodePlacement",
        "instances.kubernetes:check_placement",
        "instances.proofs.kubernetes:prove_placement",
        proves_empty=True,
    ),
    "node-consolidation": Problem(
        "instances.kubernetes:NodeConsolidation",
        "instances.kubernetes:check_consolidation",
        "instances.proofs.kubernetes:prove_consolidation",
    ),
}
WORKLOADS: Loaded[type[ProblemData]] = Loaded(
    {
        "eva-cloud": "instances.eva:EvaCloud",
        "boa-renting": "instances.boa:BoaRenting",
        "aryl-loaning": "instances.aryl:ArylLoaning",
    }
)
"""The data types that the simulator runs and no method solves; an instance of `sia-oracle` is a workload, too."""
FORMATS: Loaded[type[ProblemData]] = Loaded(
    {name: problem.of for name, problem in PROBLEMS.items()} | dict(WORKLOADS.targets)
)
"""The data type of every file, by problem or workload."""


def check(data: ProblemData, solution: Solution) -> Verdict:
    """Check `solution`, in the form of the file formats page, against `data` alone.

    Raises MalformedSolution if it does not have that form.
    """
    return PROBLEMS[data.problem].check(data, solution)
