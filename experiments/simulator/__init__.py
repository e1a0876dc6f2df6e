"""The embedded event simulator: an engine (`kernel`), one world a paper, and the measures of a run."""

from experiments.simulator.fleet import Fleet, Rental
from experiments.simulator.kernel import Activity, Calendar, Event, World, simulate
from experiments.simulator.measures import summary
from experiments.simulator.records import Integrals, Records
from experiments.simulator.replan import Decided, Replan

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
