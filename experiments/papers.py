"""The one list of papers: names, and the `module:name` of what each has. Nothing is loaded before it is asked for."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from instances.registry import Loaded

if TYPE_CHECKING:
    from experiments.harness.entry import Entry
    from experiments.harness.experiment import Experiment
    from experiments.harness.instance_set import InstanceSet
    from experiments.harness.overview import OverviewRow

PAPERS = ("eva", "boa", "aryl", "sia", "kubernetes")
"""What has folders of its own: the four papers, and what Kubernetes does."""
BUILDS_ON = {"kubernetes": "eva"}
"""The one paper whose folders those of another may import."""

METHODS: Loaded[tuple[Entry, ...]] = Loaded(
    {
        "eva-packing": "experiments.eva.methods:METHODS",
        "eva-reconfiguration": "experiments.eva.methods:METHODS",
        "boa-allocation": "experiments.boa.methods:METHODS",
        "aryl-elastic": "experiments.aryl.methods:METHODS",
        "aryl-reclaim": "experiments.aryl.methods:METHODS",
        "aryl-placement": "experiments.aryl.methods:METHODS",
        "sia-oracle": "experiments.sia.methods:METHODS",
        "sia-local-oracle": "experiments.sia.methods:METHODS",
        "node-placement": "experiments.kubernetes.methods:METHODS",
        "node-consolidation": "experiments.kubernetes.methods:METHODS",
    }
)
"""The methods of each problem: exact ones first, then the papers' heuristics."""
BUILDERS = {
    "eva-packing": "models.eva:build_literal",
    "eva-reconfiguration": "models.eva.reconfiguration:build_literal_reconfiguration",
    "boa-allocation": "models.boa:build_literal",
    "aryl-elastic": "models.aryl:build_elastic",
    "aryl-reclaim": "models.aryl:build_reclaim",
    "aryl-placement": "models.aryl:build_placement",
    "sia-oracle": "models.sia:build_literal",
    "sia-local-oracle": "models.sia:build_local_literal",
    "node-placement": "models.kubernetes:build_literal",
    "node-consolidation": "models.kubernetes:build_consolidation",
}
"""Where the literal Pyomo model of a problem is built."""
LITERAL_NAMES = {
    "eva-packing": "models.eva:literal_names",
    "eva-reconfiguration": "models.eva.reconfiguration:literal_names_reconfiguration",
    "boa-allocation": "models.boa:literal_names",
    "aryl-elastic": "models.aryl:literal_names",
    "aryl-reclaim": "models.aryl:literal_names",
    "aryl-placement": "models.aryl:literal_names",
    "sia-oracle": "models.sia:literal_names",
    "sia-local-oracle": "models.sia:literal_names",
    "node-placement": "models.kubernetes:literal_names",
    "node-consolidation": "models.kubernetes:consolidation_names",
}
"""Where the indices of its variables are named."""
CERTIFIERS = {
    "eva-packing": "models.eva.certificate:certificate",
    "eva-reconfiguration": "models.eva.reconfiguration.certificate:certificate",
    "boa-allocation": "models.boa.certificate:certificate",
    "aryl-elastic": "models.aryl.certificate:certificate",
    "aryl-reclaim": "models.aryl.certificate:certificate",
    "aryl-placement": "models.aryl.certificate:certificate",
    "sia-oracle": "models.sia.start_certificate:certificate",
    "sia-local-oracle": "models.sia.start_certificate:local_certificate",
    "node-placement": "models.kubernetes.certificate:certificate",
    "node-consolidation": "models.kubernetes.consolidation_certificate:certificate",
}
"""Where the certificate of a bound is made."""
IN_VIPR = dict.fromkeys(("sia-oracle", "sia-local-oracle"), "models.sia.price_derivation:in_vipr")
"""Where a certificate in JSON is written as VIPR as well, of problems that have a program for it."""
FRONTS = {"boa-allocation": "experiments.boa.front:front", "aryl-reclaim": "experiments.aryl.front:front"}
"""Where the front of two objectives is found and printed, by flags of its own."""
FRONT_CERTIFIERS = {"aryl-reclaim": "experiments.aryl.front_certificates:certify"}
"""Where a front and the certificates of its bounds are written."""
CLUSTER = "experiments.kubernetes.cluster"
"""What answers for a cluster's dump."""
TRACES = {"boa-allocation": "experiments.boa.front:of_trace"}
"""What reads the instance in a job trace."""
SAMPLES = "experiments.sia.workloads:samples"
"""What draws workloads for `simulate` itself, by flags of its own."""
PLANS = {"eva-packing": "experiments.eva.plan:plan"}
"""Where a solution is put in words; others are shown as tables."""
NEXT_BEST = {"eva-packing": "experiments.eva.next_best:NextBest"}
"""What finds out the best plan of another kind than the best one."""
PLOTS = {
    "eva-packing": "experiments.eva.plot:packing",
    "eva-reconfiguration": "experiments.eva.plot:reconfiguration",
    "boa-allocation": "experiments.boa.plot:widths",
    "aryl-elastic": "experiments.aryl.plot:elastic",
    "aryl-reclaim": "experiments.aryl.plot:reclaim",
    "aryl-placement": "experiments.aryl.plot:placement",
    "sia-oracle": "experiments.sia.plot:schedule",
    "sia-local-oracle": "experiments.sia.plot:schedule",
    "node-placement": "experiments.kubernetes.plot:nodes",
    "node-consolidation": "experiments.kubernetes.plot:kept_and_rented",
}
"""Where the picture of a solution is drawn."""
ONLINE: Mapping[str, Any] = Loaded(
    {
        "sia-oracle": "experiments.sia.simulation:ONLINE_OF",
        "eva-cloud": "experiments.eva.simulation:ONLINE_OF",
        "boa-renting": "experiments.boa.simulation:ONLINE_OF",
        "aryl-loaning": "experiments.aryl.simulation:ONLINE_OF",
    }
)
"""How the workloads of a problem are simulated, an `Online` each."""
DRAWINGS = {
    "eva-cloud": "experiments.eva.draw:cloud",
    "eva-packing": "experiments.eva.draw:packing",
    "eva-reconfiguration": "experiments.eva.draw:rounds",
    "boa-renting": "experiments.boa.draw:renting",
    "aryl-loaning": "experiments.aryl.draw:loaning",
    "sia-oracle": "experiments.sia.draw:oracle",
    "sia-local-oracle": "experiments.sia.draw:local_oracle",
    "node-placement": "experiments.kubernetes.draw:placement",
    "node-consolidation": "experiments.kubernetes.draw:consolidation",
    "kubernetes-dump": "experiments.kubernetes.draw:dump",
}
"""What can be drawn: what makes the instance."""
SPACES: Loaded[Mapping[str, Callable[[], Any]]] = Loaded(
    {
        "eva-packing": "experiments.eva.worst:SPACES",
        "boa-allocation": "experiments.boa.worst:SPACES",
        "aryl-elastic": "experiments.aryl.worst:SPACES",
        "aryl-reclaim": "experiments.aryl.worst:SPACES",
        "sia-oracle": "experiments.sia.worst:SPACES",
        "node-consolidation": "experiments.kubernetes.worst:SPACES",
        "node-placement": "experiments.kubernetes.worst:SPACES",
    }
)
"""What makes the spaces of a problem, in which worst cases are looked for, by name; the first is its own."""
JUDGED: Loaded[Callable[[int], Any]] = Loaded(
    {
        "eva-packing": "experiments.eva.judged:TASKS",
        "eva-rounds": "experiments.eva.judged:TASKS",
        "prism": "experiments.eva.judged:TASKS",
        "transactions": "experiments.eva.judged:TASKS",
        "boa-widths": "experiments.boa.judged:TASKS",
        "aryl-reclaim": "experiments.aryl.judged:TASKS",
        "aryl-elastic": "experiments.aryl.judged:TASKS",
        "sia-starts": "experiments.sia.judged:TASKS",
        "node-placement": "experiments.kubernetes.judged:TASKS",
    }
)
"""The tasks of the judge: what makes each, by the seed of its instances."""
OVERVIEW: Loaded[OverviewRow] = Loaded(
    {
        "eva": "experiments.eva.reference:OVERVIEW_ROW",
        "boa": "experiments.boa.reference:OVERVIEW_ROW",
        "aryl": "experiments.aryl.reference:OVERVIEW_ROW",
        "sia": "experiments.sia.reference:OVERVIEW_ROW",
    }
)
"""The row of each paper in the table that a newcomer sees first."""
STUDIES = {
    "eva-benchmark": "experiments.eva.benchmark:benchmarks",
    "eva-moments": "experiments.eva.moments:moments",
    "eva-choices": "experiments.eva.choices:choices",
    "eva-price-lists": "experiments.eva.price_lists:price_lists",
    "eva-evolution": "experiments.eva.evolution:evolution",
    "eva-surrogate": "experiments.eva.surrogate:surrogate",
    "prism-ceiling": "experiments.eva.prism:ceiling",
    "transactions-ceiling": "experiments.eva.transaction_ceiling:ceiling",
    "judge-calls": "experiments.eva.judge_calls:judge_calls",
    "eva-yardstick": "experiments.eva.yardstick:yardsticks",
    "eva-worst": "experiments.eva.worst:worst_cases",
    "eva-peers": "experiments.eva.peers:peers",
    "eva-growth": "experiments.eva.growth:growth",
    "boa-benchmark": "experiments.boa.benchmark:benchmarks",
    "boa-genetic": "experiments.boa.genetic:genetic",
    "boa-worst": "experiments.boa.worst:worst_cases",
    "boa-peers": "experiments.boa.peers:peers",
    "boa-growth": "experiments.boa.growth:growth",
    "aryl-benchmark": "experiments.aryl.benchmark:benchmarks",
    "aryl-excess": "experiments.aryl.pools:excesses",
    "aryl-losses": "experiments.aryl.pools:losses",
    "aryl-rules": "experiments.aryl.rules:rules",
    "aryl-snapshots": "experiments.aryl.reclaims:reclaims",
    "aryl-forced": "experiments.aryl.reclaims:unavoidable",
    "aryl-worst": "experiments.aryl.worst:worst_cases",
    "aryl-peers": "experiments.aryl.peers:peers",
    "aryl-growth": "experiments.aryl.growth:growth",
    "sia-benchmark": "experiments.sia.benchmark:benchmarks",
    "sia-worst": "experiments.sia.worst:worst_cases",
    "cluster-rules": "experiments.kubernetes.rules:rules",
    "node-placement": "experiments.kubernetes.decided:decided",
    "kubernetes-worst": "experiments.kubernetes.worst:worst_cases",
    "sia-peers": "experiments.sia.peers:peers",
    "sia-growth": "experiments.sia.growth:growth",
    "kubernetes-peers": "experiments.kubernetes.peers:peers",
    "kubernetes-growth": "experiments.kubernetes.growth:growth",
}
"""What is measured beside the papers' tables and figures, a `Study` each."""


class Recording(NamedTuple):
    """A study whose figures pages take: what it is given for its record, and what instead or besides for the probe."""

    study: str
    given: Mapping[str, Any] = {}
    probe: Mapping[str, Any] = {"quick": True}


RECORDED = {
    "eva/benchmark": Recording("eva-benchmark"),
    "eva/interference": Recording("eva-benchmark", {"net_saving": True}),
    "eva/moments": Recording(
        "eva-moments",
        {"trace": [Path("eva/trace_pai_200.csv"), Path("eva/trace_pai_full.csv")]},
        {"trace": [Path("eva/trace_pai_full.csv")], "number": 5},
    ),
    "eva/evolved": Recording(
        "eva-evolution", {"trace": [Path("eva/trace_pai_full.csv")]}, {"number": 3, "quick": True}
    ),
    "eva/evolution": Recording("eva-evolution", {"evolve": True}),
    "eva/prism": Recording("prism-ceiling"),
    "eva/transactions": Recording("transactions-ceiling"),
    "eva/judge": Recording("judge-calls", probe={"repeats": 1}),
    "eva/worst": Recording("eva-worst"),
    "eva/peers": Recording("eva-peers"),
    "eva/growth": Recording("eva-growth"),
    "boa/benchmark": Recording("boa-benchmark"),
    "boa/worst": Recording("boa-worst"),
    "boa/peers": Recording("boa-peers"),
    "boa/growth": Recording("boa-growth"),
    "aryl/benchmark": Recording("aryl-benchmark"),
    "aryl/excess": Recording("aryl-excess", probe={"seeds": 1, "servers": [50]}),
    "aryl/rules": Recording("aryl-rules", probe={"seeds": 1, "instance_jobs": 4}),
    "aryl/losses": Recording("aryl-losses", probe={"servers": 50, "reclaim": 8, "seeds": 1, "fronts": 1}),
    "aryl/snapshots": Recording(
        "aryl-snapshots", {"trace": Path("traces/philly.csv")}, {"seeds": 1, "days": 2.0, "servers": [12]}
    ),
    "aryl/forced": Recording(
        "aryl-forced", {"trace": Path("traces/philly.csv")}, {"seeds": 1, "days": 2.0, "servers": 12}
    ),
    "aryl/worst": Recording("aryl-worst"),
    "aryl/peers": Recording("aryl-peers"),
    "aryl/growth": Recording("aryl-growth"),
    "sia/benchmark": Recording("sia-benchmark", {"trace": Path("traces/philly.csv")}),
    "sia/worst": Recording("sia-worst"),
    "kubernetes/rules": Recording("cluster-rules", {"rows": 3}),
    "kubernetes/placement": Recording("node-placement", probe={"seeds": 1}),
    "kubernetes/worst": Recording("kubernetes-worst"),
    "sia/peers": Recording("sia-peers"),
    "sia/growth": Recording("sia-growth"),
    "kubernetes/peers": Recording("kubernetes-peers"),
    "kubernetes/growth": Recording("kubernetes-growth"),
}
"""The studies of which pages take figures, by their records. A path is a trace."""


def _part(paper: str, role: str) -> Any:
    """The module of a paper that has a role which every paper has."""
    return importlib.import_module(f"experiments.{paper}.{role}")


def _has(paper: str, role: str) -> bool:
    return importlib.util.find_spec(f"experiments.{paper}.{role}") is not None


def problems_of(paper: str) -> list[str]:
    """The problems that the methods of a paper solve."""
    return [name for name, table in METHODS.targets.items() if table.startswith(f"experiments.{paper}.")]


@cache
def reference_sets(quick: bool = False) -> tuple[InstanceSet, ...]:
    """The instance sets that `gap_study` runs when it is given none; `quick`: fewer instances, for a smoke test."""
    return tuple(made for paper in PAPERS for made in reference_sets_of(paper, quick))


def reference_sets_of(paper: str, quick: bool = False) -> Sequence[InstanceSet]:
    """Those of one paper."""
    found: Sequence[InstanceSet] = _part(paper, "reference").instance_sets(quick)
    return found


def library_sets() -> tuple[InstanceSet, ...]:
    """All named instances: those of the reference sets, and what a paper has beside them."""
    more = [_part(paper, "library").instance_sets() for paper in PAPERS if _has(paper, "library")]
    return (*reference_sets(), *(one for sets in more for one in sets))


def experiments_of(paper: str) -> tuple[Experiment, ...]:
    """The tables and figures of a paper; they are loaded only where they are asked for, for they run the simulator.

    A paper need not have any.
    """
    if not _has(paper, "reproduce"):
        return ()
    found: tuple[Experiment, ...] = _part(paper, "reproduce").EXPERIMENTS
    return found
