"""Test certificates of Aryl's placement against the checker and enumeration, and when tampered with."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from heuristics.aryl import best_fit_decreasing
from instances import CheckFailed, InputError, Options
from instances.aryl import ArylPlacement, HostServer, PlacedJob, placement_moment
from instances.proofs import NoCertificate
from instances.proofs.aryl import prove_placement
from instances.proofs.aryl.filling_program import FillingProgram
from models.aryl import exact
from models.aryl.certificate import certificate
from tests.aryl_cases import least_cost, placements
from tests.certificates.tampering import tampered_vipr
from tests.sampling import few


@settings(max_examples=25, deadline=None)
@given(placements())
def test_every_placement_is_a_point_of_the_program_at_its_cost(data: ArylPlacement):
    filling = FillingProgram(data)
    program = filling.program()
    for result in (best_fit_decreasing(data), exact(data)):
        point = filling.point(result.solution)
        assert all(row.holds(point) for row in program.rows)
        assert float(program.value(point)) == result.objective


@settings(max_examples=25, deadline=None)
@given(placements())
def test_every_placement_is_proved_and_is_that_of_enumeration(data: ArylPlacement):
    result = exact(data)
    made = certificate(data, result.solution, result.bound, Options(effort=200))
    assert prove_placement(data, made.text).bound == made.bound == result.objective == least_cost(data)


@pytest.fixture(scope="module")
def proof():
    """Servers of 8 GPUs, gangs of which not all fit, and a proof of several leaves."""
    data = placement_moment(16, 8, 2, gpus_per_worker=(1, 2, 3, 5)).data
    result = exact(data)
    return data, result, certificate(data, result.solution, result.bound, Options(effort=500))


def test_a_tree_of_several_leaves_proves_gangs_of_uneven_workers(proof):
    data, result, made = proof
    assert "1 leaf" not in made.how
    assert prove_placement(data, made.text).bound == made.bound == result.objective


@pytest.mark.parametrize("seed", few(range(24), 6))
def test_a_tampered_proof_is_refused(seed: int, proof):
    data, _, made = proof
    with pytest.raises((CheckFailed, InputError)):
        prove_placement(data, tampered_vipr(made.text, seed))


def test_jobs_that_differ_in_name_only_are_one_variable():
    servers = tuple(HostServer(id=f"t{i}", kind="training", gpus=8, free_gpus=8) for i in range(3))
    jobs = tuple(PlacedJob(id=f"j{i}", gpus_per_worker=5, base_workers=1) for i in range(4))
    data = ArylPlacement(servers=servers, jobs=jobs)
    filling, result = FillingProgram(data), exact(data)
    assert [name for name in filling.place if name.startswith("on_")] == ["on_0_training"]
    assert result.objective == 3 + 100 * 5
    assert certificate(data, result.solution, result.bound, Options()).bound == result.objective


def test_too_many_ways_to_fill_a_server_are_not_written_down():
    server = HostServer(id="s", kind="training", gpus=400, free_gpus=400)
    jobs = tuple(PlacedJob(id=f"j{g}", gpus_per_worker=g, base_workers=60) for g in range(3, 9))
    with pytest.raises(NoCertificate, match="more than 20,000 ways to fill a server"):
        FillingProgram(ArylPlacement(servers=(server,), jobs=jobs))
