"""What can be drawn for BOA: workloads of its renting world."""

from __future__ import annotations

from pathlib import Path

from experiments.drawing import Drawing, Flag
from instances.boa import poisson_renting, trace_renting


def _seconds(minutes: float) -> float:
    return 60 * minutes


renting = Drawing(
    "Jobs that arrive at a cloud of rented nodes: of a trace, or Poisson arrivals of newTrace's classes.",
    drawn=poisson_renting,
    traced=trace_renting,
    flags={
        "trace": Flag(help="A job trace in CSV form.", kind=Path, default=None),
        "speedups": Flag(help="Speedups of the jobs of --trace.", kind=Path, shown="measured on NVIDIA T4"),
        "believed": Flag(help="Column of --speedups that policies are told.", shown="the truth"),
        "budget": Flag(help="GPUs on average.", shown="1.25 times the load", least=0),
        "limit": Flag(help="Jobs of --trace.", least=1, shown="all"),
        "c2": Flag(
            help="Squared coefficient of variation of the times between arrivals; they are drawn anew.",
            shown="as in --trace",
        ),
        "hours": Flag(help="Hours of arrivals, without --trace.", default=8.0),
        "rate": Flag(help="What newTrace's rates are multiplied with, without --trace."),
        "gpus_per_node": Flag(help="GPUs of a node.", least=1),
        "acquisition_seconds": Flag("acquisition", "Seconds to get a node.", least=0),
        "reclamation_seconds": Flag("reclamation", "Seconds that a node is billed for after its release.", least=0),
        "rescale_seconds": Flag("rescale", "Seconds of a rescaling.", shown="as measured", least=0),
        "estimate_seconds": Flag(
            "estimate_minutes",
            "Time between two estimates of arrivals and speedups; 0: none.",
            least=0,
            value=_seconds,
        ),
        "window_seconds": Flag(
            "window_minutes", "What estimates are made of; 0: all time before.", least=0, value=_seconds
        ),
        "seed": Flag(help="Seed of what is drawn.", default=0),
    },
    left_out=("budget_over_load", "partial_jobs"),
)
