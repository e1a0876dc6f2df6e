"""The one list of papers: their methods, the literal models that can be exported, and the reference study."""

from __future__ import annotations

import importlib
from functools import cache

from experiments.aryl import draw as aryl_draw
from experiments.aryl import methods as aryl
from experiments.aryl import reference as aryl_reference
from experiments.aryl import simulation as aryl_simulation
from experiments.boa import draw as boa_draw
from experiments.boa import methods as boa
from experiments.boa import reference as boa_reference
from experiments.boa import simulation as boa_simulation
from experiments.eva import draw as eva_draw
from experiments.eva import methods as eva
from experiments.eva import reference as eva_reference
from experiments.eva import simulation as eva_simulation
from experiments.harness.entry import Entry
from experiments.harness.experiment import Experiment
from experiments.harness.instance_set import InstanceSet
from experiments.sia import draw as sia_draw
from experiments.sia import methods as sia
from experiments.sia import reference as sia_reference
from experiments.sia import simulation as sia_simulation
from experiments.simulator.online import Online

METHODS: dict[str, tuple[Entry, ...]] = eva.METHODS | boa.METHODS | aryl.METHODS | sia.METHODS
"""The methods of each problem: exact ones first, then the papers' heuristics."""
BUILDERS: dict[str, str] = eva.BUILDERS | boa.BUILDERS | aryl.BUILDERS | sia.BUILDERS
"""Where the literal Pyomo model of a problem is built, `module:function`."""
CERTIFIERS: dict[str, str] = eva.CERTIFIERS | boa.CERTIFIERS | aryl.CERTIFIERS | sia.CERTIFIERS
"""Where the certificate of a bound is made, `module:function`."""
FRONTS: dict[str, str] = aryl.FRONTS
"""Where the Pareto front of two objectives is printed, `module:function`."""
PLANS: dict[str, str] = eva.PLANS
"""Where a solution is put in words, `module:function`; others are shown as tables."""
PLOTS: dict[str, str] = eva.PLOTS | boa.PLOTS | aryl.PLOTS | sia.PLOTS
"""Where the picture of a solution is drawn, `module:function`."""
ONLINE: dict[str, Online] = (
    sia_simulation.ONLINE_OF | eva_simulation.ONLINE_OF | boa_simulation.ONLINE_OF | aryl_simulation.ONLINE_OF
)
"""How the workloads of a problem are simulated."""
DRAWINGS: dict[str, str] = eva_draw.DRAWINGS | boa_draw.DRAWINGS | aryl_draw.DRAWINGS | sia_draw.DRAWINGS
"""What can be drawn: the `module:function` that makes an instance."""
REFERENCES = (eva_reference, boa_reference, aryl_reference, sia_reference)


@cache
def reference_sets(quick: bool = False) -> tuple[InstanceSet, ...]:
    """The instance sets that `gap_study` runs when it is given none; `quick`: fewer instances, for a smoke test."""
    return tuple(made for reference in REFERENCES for made in reference.instance_sets(quick))


def reproduced() -> list[str]:
    """The papers whose tables and figures can be reproduced."""
    return [reference.__name__.split(".")[1] for reference in REFERENCES]


def experiments_of(paper: str) -> tuple[Experiment, ...]:
    """The tables and figures of a paper; they are loaded only where they are asked for, for they run the simulator."""
    found: tuple[Experiment, ...] = importlib.import_module(f"experiments.{paper}.reproduce").EXPERIMENTS
    return found
