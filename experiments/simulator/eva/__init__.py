"""The world of Eva: a cloud where instances are rented for jobs that arrive."""

from experiments.simulator.eva.world import CloudWorld

__all__ = ["CloudWorld"]
