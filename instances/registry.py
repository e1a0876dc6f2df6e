"""The problems there are: for each the type of its data and its independent checker."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from instances.aryl import ArylElastic, ArylReclaim, check_elastic, check_reclaim
from instances.boa import BoaAllocation, check_allocation
from instances.eva import EvaPacking, check_packing
from instances.fields import ProblemData
from instances.options import Solution
from instances.sia import SiaOracle, check_oracle
from instances.verdict import Verdict


@dataclass(frozen=True)
class Problem:
    """A problem's data type and its checker `check(data, solution)`, which raises MalformedSolution."""

    data: type[ProblemData]
    check: Callable[[Any, Solution], Verdict]


PROBLEMS: dict[str, Problem] = {
    "eva-packing": Problem(EvaPacking, check_packing),
    "boa-allocation": Problem(BoaAllocation, check_allocation),
    "aryl-elastic": Problem(ArylElastic, check_elastic),
    "aryl-reclaim": Problem(ArylReclaim, check_reclaim),
    "sia-oracle": Problem(SiaOracle, check_oracle),
}


def check(data: ProblemData, solution: Solution) -> Verdict:
    """Check `solution`, in the form of the file formats page, against `data` alone.

    Raises MalformedSolution where it is not of that form.
    """
    return PROBLEMS[data.problem].check(data, solution)
