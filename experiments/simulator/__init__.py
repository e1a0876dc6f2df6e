"""The embedded event simulator: an engine (`kernel`), one world a paper, and the measures of a run."""

from experiments.simulator.kernel import Activity, Calendar, Event, Fleet, Integrals, Records, Rental, World, simulate
from experiments.simulator.online import Decided, Replan
from experiments.simulator.simulated import summary

__all__ = [
    "Activity",
    "Calendar",
    "Decided",
    "Event",
    "Fleet",
    "Integrals",
    "Records",
    "Rental",
    "Replan",
    "World",
    "simulate",
    "summary",
]
