"""Test Aryl's certificates against the checker and enumeration, and that tampered proofs fail."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings

from instances import CheckFailed, InputError, Options, check
from instances.aryl import elastic_jobs, spread_jobs
from instances.proofs import read_vipr
from instances.proofs.aryl.certificate import (
    knapsack_point,
    knapsack_program,
    prove_elastic,
    prove_reclaim,
    reclaim_point,
    reclaim_program,
)
from models.aryl import exact
from models.aryl.certificate import certificate
from tests.aryl_cases import elastic, losses, reclaims
from tests.certificates.tampering import tampered_vipr
from tests.sampling import few, sample

FEW = Options(effort=200)


@settings(max_examples=sample(10, 20), deadline=None)
@given(elastic("jct-reduction"))
def test_the_knapsack_of_an_instance_has_its_solutions_and_objectives(data):
    program = knapsack_program(data)
    for workers in itertools.product(*data.choices()):
        solution = {"workers": {job.id: w for job, w in zip(data.jobs, workers, strict=True)}}
        verdict, point = check(data, solution), knapsack_point(data, solution)
        assert (not verdict.violations) == all(row.holds(point) for row in program.rows)
        if not verdict.violations:
            assert float(program.value(point)) == verdict.objective


@settings(max_examples=sample(10, 20), deadline=None)
@given(reclaims(6, 6))
def test_the_program_of_reclaiming_has_its_solutions_and_objectives(data):
    program = reclaim_program(data)
    for gone in itertools.combinations(data.servers, data.reclaim):
        point = reclaim_point(data, {"servers": list(gone)})
        assert all(row.holds(point) for row in program.rows)
        assert float(program.value(point)) == check(data, {"servers": list(gone)}).objective
        hit = [j for j in point if j < len(data.jobs)]
        if hit:  # no job that is hit may be left out
            assert not all(row.holds({i: v for i, v in point.items() if i != hit[0]}) for row in program.rows)


@settings(max_examples=sample(10, 30), deadline=None)
@given(losses(5, 4))
def test_the_program_of_losses_has_its_solutions_and_objectives_and_is_proved(data):
    program, best = reclaim_program(data), None
    for gone in itertools.combinations(data.servers, data.reclaim):
        point = reclaim_point(data, {"servers": list(gone)})
        assert all(row.holds(point) for row in program.rows)
        assert float(program.value(point)) == check(data, {"servers": list(gone)}).objective
        hit = [j for j in point if j < len(data.jobs)]
        if hit:  # no job that is hit may be left out
            assert not all(row.holds({i: v for i, v in point.items() if i != hit[0]}) for row in program.rows)
        best = program.value(point) if best is None else min(best, program.value(point))
    result = exact(data)
    made = certificate(data, result.solution, result.bound, FEW)
    assert prove_reclaim(data, made.text).bound == made.bound <= best
    assert float(made.bound) == pytest.approx(float(best), rel=1e-6)


@settings(max_examples=sample(10, 20), deadline=None)
@given(elastic("jct-reduction"))
def test_every_knapsack_is_proved(data):
    result = exact(data)
    made = certificate(data, result.solution, result.bound, FEW)
    assert prove_elastic(data, made.text).bound == made.bound
    assert float(made.bound) == pytest.approx(result.objective, rel=1e-9)
    best = max(
        verdict.objective
        for workers in itertools.product(*data.choices())
        if not (
            verdict := check(data, {"workers": {j.id: w for j, w in zip(data.jobs, workers, strict=True)}})
        ).violations
    )
    assert made.bound >= Fraction(best) * (1 - Fraction(1, 10**12))


@settings(max_examples=sample(10, 20), deadline=None)
@given(reclaims(6, 6))
def test_every_reclaiming_is_proved(data):
    result = exact(data)
    made = certificate(data, result.solution, result.bound, FEW)
    assert prove_reclaim(data, made.text).bound == made.bound == result.objective


TREE = spread_jobs(24, 24, 1, 8).data  # seven leaves; the root's linear program proves 8 of 11


def test_a_tree_proves_what_no_single_linear_program_does():
    data, result = TREE, exact(TREE)
    made = certificate(data, result.solution, result.bound, Options())
    assert "1 leaf" not in made.how
    assert prove_reclaim(data, made.text).bound == result.objective


def test_a_tree_that_a_limit_cuts_off_proves_less():
    data, result = TREE, exact(TREE)
    made = certificate(data, result.solution, result.bound, Options(effort=1))
    assert prove_reclaim(data, made.text).bound == made.bound < result.objective


@pytest.mark.parametrize("seed", few(range(40), 10))
def test_a_tampered_proof_is_refused(seed: int, proofs):
    data, text, prove = proofs[seed % 2]
    with pytest.raises((CheckFailed, InputError)):
        prove(data, tampered_vipr(text, seed // 2))


@pytest.fixture(scope="module")
def proofs():
    servers, jobs = spread_jobs(20, 20, 1, 6).data, elastic_jobs(12, 3, spare_gpus=14).data
    return [
        (data, certificate(data, (result := exact(data)).solution, result.bound, Options()).text, prove)
        for data, prove in ((servers, prove_reclaim), (jobs, prove_elastic))
    ]


def test_a_proof_of_another_instance_is_refused(proofs):
    data, _, prove = proofs[0]
    other = data.model_copy(update={"reclaim": data.reclaim + 1})
    with pytest.raises(InputError, match="of another instance"):
        prove(other, proofs[0][1])


def test_a_proof_of_another_version_is_refused(proofs):
    data, text, prove = proofs[0]
    with pytest.raises(InputError, match="gapwise: must be 1, got 2"):
        prove(data, text.replace("% gapwise 1", "% gapwise 2"))


def test_a_digest_that_is_forged_does_not_help(proofs):
    data, text, prove = proofs[0]
    other = data.model_copy(update={"reclaim": data.reclaim - 1})
    from instances.proofs import digest

    with pytest.raises(CheckFailed, match="CON reclaim"):
        prove(other, text.replace(digest(data), digest(other)))


def test_the_file_of_a_proof_is_vipr(proofs):
    file = read_vipr(proofs[1][1])
    assert file.program.sense == "max"
    assert file.lower is not None
    assert file.upper is not None
    assert file.lower <= file.upper
