"""Test that mutants of certificates and results are rejected or prove what is true."""

from __future__ import annotations

import os
from fractions import Fraction

import pytest

from instances import Options
from instances.aryl import ArylElastic, ArylPlacement
from instances.boa import BoaAllocation, check_allocation
from instances.proofs import NoCertificate
from instances.proofs.aryl import prove_elastic
from instances.proofs.aryl.filling_program import FillingProgram
from instances.proofs.boa.rational import exact, serial, times
from models.aryl import exact as exact_aryl
from models.aryl.certificate import certificate as certify_aryl
from tests.certificates.mutants import run
from tests.sampling import few, sample


def test_mutants_are_refused_or_prove_what_is_true():
    """`python -m tests.certificates.mutants 10000 SEED` for more."""
    seen: list[str] = []
    total = run(sample(120, 10_000), int(os.environ.get("GAPWISE_SEED", "0")), seen.append)
    assert (total["false"], total["traceback"]) == (0, 0), seen
    assert total["true"] > total.total() // 30


def test_any_number_of_widths_of_workers_is_listed_or_refused():
    """Ways to fill a server are found without a call within a call for each width."""
    jobs = [{"id": f"j{i}", "gpus_per_worker": i, "base_workers": 1} for i in range(1001, 2400)]
    server = {"id": "s", "kind": "training", "gpus": 2001, "free_gpus": 2001}
    filling = FillingProgram(ArylPlacement.model_validate({"servers": [server], "jobs": jobs}))
    assert [sum(pattern.values()) for pattern in filling.patterns[0]] == [1] * 1001
    wide = server | {"gpus": 10**6, "free_gpus": 10**6}
    with pytest.raises(NoCertificate, match="to fill a server"):
        FillingProgram(ArylPlacement.model_validate({"servers": [wide], "jobs": jobs}))


@pytest.mark.parametrize(
    "parallel", few([1 - 2**-53, 1 - 3 * 2**-53, 1 - 5 * 2**-53, 1 - 2**-40, 0.9, 0.3, 1e-17, 0.0, 1.0], 4)
)
def test_a_share_of_amdahl_is_no_less_serial_for_the_checker(parallel: float):
    """Next to 1 the decimals of a share and its float are far apart: a bound takes the lesser of what remains."""
    speedup = {"amdahl": parallel}
    raw = {"budget": 1e9, "widths": "integer", "max_width": 100_000}
    job = {
        "name": "a",
        "arrivals_per_hour": 1.0,
        "rescale_hours": 0.0,
        "epochs": [{"size_hours": 1.0, "speedup": speedup}],
    }
    data = BoaAllocation.model_validate(raw | {"classes": [job]})
    run_times = times(data.classes[0].epochs[0].speedup.on("gpu"), data.max_width, 100_000)
    for width in (1, 2, 3, 1000, 100_000):
        checked = Fraction(check_allocation(data, {"widths": {"a": [width]}}).objective)
        assert run_times[width - 1] <= checked * (1 + Fraction(1, 10**15))
    assert serial(parallel) <= 1 - exact(parallel)


HARD = [
    ((9, [(2, 3, 2, 1e6), (3, 3, 1, 1), (3, 4, 1, 10)], 0.1), 1e-6),
    ((9, [(1, 1, 2, 1e-9)], 0.0), 1e-9),
    ((9, [(1, 2, 2, 1e-9), (1, 3, 2, 3e-9)], 0.0), 1e-9),
]


@pytest.mark.parametrize(
    ("said", "short"), HARD, ids=["a better schedule than the bound", "one job of 1e-9 s", "two of them"]
)
def test_a_proof_that_meets_a_better_solution_proves_what_holds(said, short: float):
    capacity, jobs, loss = said
    names = ("min_workers", "max_workers", "gpus_per_worker", "min_running_time")
    listed = [{"id": f"j{i}", **dict(zip(names, job, strict=True))} for i, job in enumerate(jobs)]
    raw = {"capacity_gpus": capacity, "jobs": listed, "objective": "mean-jct", "scaling_loss": loss}
    data = ArylElastic.model_validate(raw)
    found = exact_aryl(data)
    made = certify_aryl(data, found.solution, found.objective * (1 + 1e-7), Options(effort=500))
    assert prove_elastic(data, made.text).bound == made.bound
    assert found.objective * (1 - short) <= float(made.bound) <= found.objective * (1 + 1e-15)
