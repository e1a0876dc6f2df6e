"""The problems there are: for each the type of its data and its independent checker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from instances.aryl import ArylElastic, ArylReclaim, check_elastic, check_reclaim, prove_elastic, prove_reclaim
from instances.boa import BoaAllocation, check_allocation, prove_allocation
from instances.certificates.certificate import Proven
from instances.eva import EvaPacking, check_packing, prove_packing
from instances.fields import ProblemData
from instances.options import Solution
from instances.sia import SiaOracle, check_oracle
from instances.verdict import Verdict


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
    "boa-allocation": Problem(BoaAllocation, check_allocation, prove_allocation),
    "aryl-elastic": Problem(ArylElastic, check_elastic, prove_elastic),
    "aryl-reclaim": Problem(ArylReclaim, check_reclaim, prove_reclaim),
    "sia-oracle": Problem(SiaOracle, check_oracle),
}


def check(data: ProblemData, solution: Solution) -> Verdict:
    """Check `solution`, in the form of the file formats page, against `data` alone.

    Raises MalformedSolution where it is not of that form.
    """
    return PROBLEMS[data.problem].check(data, solution)
