"""Benchmarks: `python -m experiments.benchmarks.eva` prints CPU seconds of one process, one solver thread."""
