"""Reference sets of BOA, and the workloads of `gapwise draw`.

The sets are Figure 1 of the short paper, newTrace at several budgets, and random classes. The random sets differ in
the ratio of the rescaling time to the length of an epoch, on which the heuristics' gaps turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.drawing import Drawing, Flag
from experiments.harness.instance_set import InstanceSet
from experiments.harness.overview import OverviewRow
from instances import InputError
from instances.boa import figure_1, newtrace, poisson_renting, random_allocation, trace_renting

FIGURE_1_BUDGETS = (1.0, 1.5, 2.0, 3.0)
NEWTRACE_BUDGETS = (1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0)
COMPARED = ("exact", "width-calculator", "width-calculator-whole-job", "one-width", "equal-share")

OVERVIEW_ROW = OverviewRow(
    "BOA",
    "how many GPUs each job gets",
    "boa-allocation",
    "newTrace, 1.1 to 5 x load",
    "5 applications, 42 epochs",
    "width-calculator",
    "Width Calculator",
)


def instance_sets(quick: bool = False) -> list[InstanceSet]:
    """`literal too` is small enough for the literal model; the others compare heuristics with the fast exact method."""
    seeds = range(2 if quick else 8)
    small = [random_allocation(2, 5, 8, rescale=0.5, seed=seed) for seed in range(1 if quick else 3)]
    budgets = NEWTRACE_BUDGETS[1:4] if quick else NEWTRACE_BUDGETS
    sets = [
        InstanceSet("figure 1", [figure_1(b) for b in FIGURE_1_BUDGETS], ("all",)),
        InstanceSet("2x5x8, literal too", small, ("all",)),
        InstanceSet("newTrace, 1.1 to 5 x load", [newtrace(b) for b in budgets], (*COMPARED, "randomised")),
    ]
    for rescale in (0.1, 1.0, 3.0):
        made = [random_allocation(5, 60, 64, rescale=rescale, seed=seed) for seed in seeds]
        sets.append(InstanceSet(f"5x60x64, rescaling {rescale:g} epochs", made, COMPARED))
    return sets


def _seconds(minutes: float) -> float:
    return 60 * minutes


def _read_by_application(said: Sequence[str]) -> float | dict[str, float]:
    """Seconds for all, or `NAME=SECONDS` for each of some applications. Raises InputError."""
    if len(said) == 1 and "=" not in said[0]:
        return _number(said[0], said[0])
    found = {}
    for entry in said:
        name, equals, seconds = entry.partition("=")
        if not equals or name in found:
            raise InputError(f"rescaling: must be SECONDS, or NAME=SECONDS once for an application, got {entry!r}")
        found[name] = _number(seconds, entry)
    return found


def _number(text: str, entry: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InputError(f"rescaling: must be seconds >= 0, got {entry!r}")
    return seconds


renting = Drawing(
    "Jobs that arrive at a cloud of rented nodes: of a trace, or Poisson arrivals of newTrace's classes.",
    drawn=poisson_renting,
    traced=trace_renting,
    flags={
        "trace": Flag(help="A job trace in CSV form.", kind=Path, default=None),
        "speedups": Flag(help="Speedups of the jobs of --trace.", kind=Path, shown="measured on NVIDIA T4"),
        "believed": Flag(help="Column of --speedups that policies believe.", shown="the truth"),
        "applications": Flag(
            "application", "Application whose jobs of --trace are taken; repeatable.", kind=list[str], shown="all"
        ),
        "budget": Flag(help="GPUs on average.", shown="1.25 times the load", least=0),
        "limit": Flag(help="Jobs of --trace.", least=1, shown="all"),
        "c2": Flag(
            help="Squared coefficient of variation of the times between arrivals; they are drawn again.",
            shown="as in --trace",
        ),
        "hours": Flag(help="Hours of arrivals, without --trace.", default=8.0),
        "rate": Flag(help="Factor on newTrace's arrival rates, without --trace."),
        "gpus_per_node": Flag(help="GPUs of a node.", least=1),
        "acquisition_seconds": Flag("acquisition", "Seconds to get a node.", least=0),
        "reclamation_seconds": Flag("reclamation", "Seconds that a node is billed for after its release.", least=0),
        "rescale_seconds": Flag(
            "rescale",
            "Seconds of a rescaling, or NAME=SECONDS of an application's; repeatable.",
            kind=list[str],
            shown="as measured",
            value=_read_by_application,
        ),
        "cold_rescale_seconds": Flag(
            "cold_rescale",
            "Seconds of a rescaling on a node that is new to the application.",
            kind=list[str],
            shown="as on any other",
            value=_read_by_application,
        ),
        "period_seconds": Flag("period", "Seconds between two changes of widths; 0: at every event.", least=0),
        "max_width": Flag(help="Most GPUs of a job.", least=1, shown="as wide as --speedups goes"),
        "estimate_seconds": Flag(
            "estimate_minutes",
            "Time between two estimates of arrivals and speedups; 0: none.",
            least=0,
            value=_seconds,
        ),
        "window_seconds": Flag(
            "window_minutes", "Minutes of the past that estimates use; 0: all.", least=0, value=_seconds
        ),
        "seed": Flag(help="Seed of what is drawn.", default=0),
    },
    left_out=("budget_over_load", "partial_jobs"),
)
