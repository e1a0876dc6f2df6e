"""Export of a paper's literal model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.harness.own import resolve
from experiments.harness.plan import methods_for
from experiments.papers import BUILDERS
from instances import InputError, Instance


def export(instances: Sequence[Instance], path: Path) -> None:
    """Write the literal model of the one instance to `path`. Raises InputError."""
    from models.literal import write_model  # with Pyomo, only when a model is written

    if len(instances) != 1:
        raise InputError(f"--write-model: takes one instance file, got {len(instances)}")
    instance = instances[0]
    methods_for(instance, ["literal"])
    write_model(resolve(BUILDERS[instance.problem])(instance.data), path)
