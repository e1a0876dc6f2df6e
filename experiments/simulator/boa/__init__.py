"""The world of BOA: a cloud where nodes of GPUs are rented for jobs that arrive."""

from experiments.simulator.boa.world import RentingWorld

__all__ = ["RentingWorld"]
