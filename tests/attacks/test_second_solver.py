"""Test that SCIP finds the optimum of `exact` in each exported literal model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from experiments.harness.run import apply
from experiments.harness.user_functions import resolve
from experiments.papers import BUILDERS, METHODS
from instances import InputError, Instance, Options
from models.core.pyomo_model import write_model
from tests.attacks.small import CONVEX, NET_SAVING, READINGS, examples
from tests.sampling import sample

SCIP = Path(__file__).with_name("scip.py")
SEEDS = sample(3, 12)


def exact_optimum(instance: Instance) -> float:
    (method,) = (m for m in METHODS[instance.problem] if m.name == "exact")
    result = apply(method, instance, Options())
    assert result.status == "optimal", (instance.name, result.reason)
    assert result.objective is not None
    return result.objective


def export(instance: Instance, *paths: Path) -> None:
    model = resolve(BUILDERS[instance.problem])(instance.data)
    for path in paths:
        write_model(model, path)


@pytest.mark.parametrize("reading", READINGS)
def test_scip_finds_the_optimum_that_exact_proves(reading: str, tmp_path: Path):
    """In both forms of a file, from which one process of SCIP reads all models."""
    cases = examples(READINGS, reading, SEEDS)
    files = [[tmp_path / f"{i}.{ending}" for ending in ("lp", "mps")] for i in range(len(cases))]
    for instance, both in zip(cases, files, strict=True):
        export(instance, *both)
    asked = [sys.executable, str(SCIP), *(str(file) for both in files for file in both)]
    optima = [float(line) for line in subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()]
    proven = {i.name: pytest.approx(exact_optimum(i), rel=1e-6, abs=1e-9) for i in cases}
    for ending in (0, 1):
        assert dict(zip((i.name for i in cases), optima[ending::2], strict=True)) == proven


@pytest.mark.parametrize("reading", [*CONVEX, *NET_SAVING])
def test_a_reading_without_a_linear_model_is_refused(reading: str, tmp_path: Path):
    for instance in examples(CONVEX | NET_SAVING, reading, 2):
        with pytest.raises(InputError) as refused:
            export(instance, tmp_path / "model.lp")
        assert "\n" not in str(refused.value)
