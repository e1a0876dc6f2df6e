"""Benchmarks: each prints a table of CPU seconds of one process, one solver thread. `python -m experiments.benchmarks.eva`."""
