"""Aryl's training cluster with loaned servers, as a world of the simulator."""

from experiments.simulator.aryl.world import LoaningWorld

__all__ = ["LoaningWorld"]
