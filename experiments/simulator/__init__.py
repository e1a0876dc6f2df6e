"""The embedded event simulator: an engine (`kernel`), worlds, and the tables a run leaves behind."""

from experiments.simulator.kernel import Clock, Event, Policy, SimulationError, Work, World, simulate
from experiments.simulator.policies import NAMES, Scheduled, policy
from experiments.simulator.pools import PoolJob, PoolsView, PoolsWorld
from experiments.simulator.tables import figure_5, jobs_table, summary, timeline_table

__all__ = [
    "NAMES",
    "Clock",
    "Event",
    "Policy",
    "PoolJob",
    "PoolsView",
    "PoolsWorld",
    "Scheduled",
    "SimulationError",
    "Work",
    "World",
    "figure_5",
    "jobs_table",
    "policy",
    "simulate",
    "summary",
    "timeline_table",
]
