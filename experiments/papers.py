"""Read the specifications of the papers. A part of a problem is imported when it is used."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from experiments.spec import PaperSpec
from instances.registry import Loaded

if TYPE_CHECKING:
    from experiments.harness.entry import Entry
    from experiments.harness.experiment import Experiment
    from experiments.harness.instance_set import InstanceSet
    from experiments.harness.overview import OverviewRow

PAPERS = ("eva", "boa", "aryl", "sia", "kubernetes")
"""The names of the folders: one for each of the four papers, and one for Kubernetes."""
BUILDS_ON = {"kubernetes": "eva"}
"""The one paper whose folders those of another may import."""


def _part(paper: str, role: str) -> Any:
    """Return the module of a paper that has a role which every paper has."""
    return importlib.import_module(f"experiments.{paper}.{role}")


SPECS: dict[str, PaperSpec] = {paper: _part(paper, "problems").PAPER for paper in PAPERS}
"""The specification of each paper."""


def _collect_part(part: str) -> dict[str, str]:
    """Return the part of each problem that has it."""
    problems = (problem for spec in SPECS.values() for problem in spec.problems)
    return {problem.name: target for problem in problems if (target := getattr(problem, part)) is not None}


METHODS: Loaded[tuple[Entry, ...]] = Loaded(_collect_part("methods"))
BUILDERS, LITERAL_NAMES = _collect_part("literal"), _collect_part("literal_names")
CERTIFIERS, IN_VIPR = _collect_part("certifier"), _collect_part("vipr")
PLANS, PLOTS, NEXT_BEST = _collect_part("plan"), _collect_part("plot"), _collect_part("next_best")
FRONTS, FRONT_CERTIFIERS, TRACES = _collect_part("front"), _collect_part("front_certifier"), _collect_part("trace")
DRAWINGS = _collect_part("drawing")
ONLINE: Mapping[str, Any] = Loaded(_collect_part("online"))
SPACES: Loaded[Mapping[str, Callable[[], Any]]] = Loaded(_collect_part("spaces"))
"""The parts of problems by the names of the problems (`experiments.spec`)."""
JUDGED: Loaded[Callable[[int], Any]] = Loaded({k: v for spec in SPECS.values() for k, v in spec.judged.items()})
"""The tasks of the judge: a function of each that makes it from the seed of its instances."""
OVERVIEW: Loaded[OverviewRow] = Loaded({paper: spec.overview for paper, spec in SPECS.items() if spec.overview})
"""The row of each paper in the table that a newcomer sees first."""
STUDIES = {study.name: study.target for spec in SPECS.values() for study in spec.studies}
RECORDED = {
    f"{paper}/{recording.name}": (study.name, recording)
    for paper, spec in SPECS.items()
    for study in spec.studies
    for recording in study.records
}
"""The studies of which pages take figures, by the ids of their records."""
CLUSTER = "experiments.kubernetes.cluster"
"""The module that answers for a cluster's dump."""
SAMPLES = "experiments.sia.reference:samples"
"""The generator of workloads for `simulate` itself, by flags of its own."""


def _has(paper: str, role: str) -> bool:
    return importlib.util.find_spec(f"experiments.{paper}.{role}") is not None


def problems_of(paper: str) -> list[str]:
    """Return the problems that the methods of a paper solve."""
    return [problem.name for problem in SPECS[paper].problems if problem.methods is not None]


def reference_sets(quick: bool = False, problems: Sequence[str] = ()) -> tuple[InstanceSet, ...]:
    """Return the instance sets that `gap_study` runs when it is given none.

    Args:
        quick: Draw fewer instances, for a smoke test.
        problems: Draw only the sets of the papers that have one of these problems; without any, those of all papers.
    """
    papers = [paper for paper in PAPERS if not problems or set(problems) & set(problems_of(paper))]
    return tuple(made for paper in papers for made in reference_sets_of(paper, quick))


@cache
def reference_sets_of(paper: str, quick: bool = False) -> Sequence[InstanceSet]:
    """Return those of one paper."""
    found: Sequence[InstanceSet] = _part(paper, "reference").instance_sets(quick)
    return found


def library_sets() -> tuple[InstanceSet, ...]:
    """Return all named instances: those of the reference sets, and the further sets of each paper."""
    more = [_part(paper, "library").instance_sets() for paper in PAPERS if _has(paper, "library")]
    return (*reference_sets(), *(one for sets in more for one in sets))


def experiments_of(paper: str) -> tuple[Experiment, ...]:
    """Return the tables and figures of a paper, if it has any. They are loaded now, because they run the simulator."""
    if not _has(paper, "reproduce"):
        return ()
    found: tuple[Experiment, ...] = _part(paper, "reproduce").EXPERIMENTS
    return found
