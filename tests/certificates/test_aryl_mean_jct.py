"""Test certificates of Aryl's mean JCT against the checker and enumeration, and when tampered with."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

from heuristics.aryl import afs, equal_split, equal_split_sjf, fifo, two_phase
from instances import CheckFailed, InputError, Options
from instances.aryl import elastic_jobs, table_2
from instances.proofs import NoCertificate
from instances.proofs.aryl import prove_elastic
from instances.proofs.aryl.event_intervals import EventProgram
from models.aryl import exact
from models.aryl.certificate import certificate
from models.core.derivation import certify
from tests.aryl_cases import best_mean_jct, elastic
from tests.certificates.tampering import tampered_vipr
from tests.sampling import few

FEW = Options(effort=200)


@pytest.fixture(scope="module")
def proof():
    """Return an instance of five jobs, its result, and a certificate with several leaves."""
    data = elastic_jobs(5, 0, objective="mean-jct", elastic_share=0.75, scaling_loss=0.1).data
    result = exact(data)
    return data, result, certificate(data, result.solution, result.bound, Options())


@settings(max_examples=15, deadline=None)
@given(elastic("mean-jct"))
def test_every_schedule_within_reach_is_a_point_of_the_program(data):
    found = [rule(data) for rule in (fifo, afs, two_phase, equal_split, equal_split_sjf, exact)]
    worst = max(Fraction(result.objective) for result in found) * (1 + Fraction(1, 10**12))
    events = EventProgram(data, worst)
    program = events.program()
    for result in found:
        point = events.point(result.solution)
        assert all(row.holds(point) for row in program.rows)
        assert all(point.get(i, Fraction(0)).denominator == 1 for i in program.integers)
        assert float(program.value(point)) == pytest.approx(result.objective, rel=1e-12)


@settings(max_examples=15, deadline=None)
@given(elastic("mean-jct", most_jobs=3, most_extra=1))
def test_every_mean_jct_is_proved_and_is_that_of_enumeration(data):
    result, best = exact(data), best_mean_jct(data)
    made = certificate(data, result.solution, result.bound, FEW)
    assert prove_elastic(data, made.text).bound == made.bound <= Fraction(best) * (1 + Fraction(1, 10**12))
    assert float(made.bound) == pytest.approx(float(best), rel=1e-6)


def test_a_tree_of_several_leaves_proves_five_jobs_with_losses(proof):
    data, result, made = proof
    assert "1 leaf" not in made.how
    assert prove_elastic(data, made.text).bound == made.bound
    assert result.bound * (1 - 1e-9) <= float(made.bound) <= result.objective


def test_a_tree_that_a_limit_cuts_off_proves_less(proof):
    data, result, _ = proof
    made = certificate(data, result.solution, result.bound, Options(effort=1))
    assert prove_elastic(data, made.text).bound == made.bound < result.bound


@pytest.mark.parametrize("seed", few(range(24), 8))
def test_a_tampered_proof_is_refused(seed: int, proof):
    data, _, made = proof
    with pytest.raises((CheckFailed, InputError)):
        prove_elastic(data, tampered_vipr(made.text, seed))


def test_the_reach_of_a_proof_is_no_more_believed_than_its_numbers(proof):
    data, _, made = proof
    (line,) = [line for line in made.text.splitlines() if line.startswith("% reach ")]
    reach = Fraction(line.split()[2])
    for other in (reach / 2, reach * 2):
        with pytest.raises(CheckFailed, match=r"not (those|the constraint)|the instance has"):
            prove_elastic(data, made.text.replace(line, f"% reach {other}"))
    for other in ("", "0", "-1", "1/0", "nan", "1" * 200):
        with pytest.raises(InputError, match="reach: must be a rational number > 0"):
            prove_elastic(data, made.text.replace(line, f"% reach {other}"))


def test_a_proof_says_no_more_than_that_nothing_is_better_than_its_reach():
    data, reach = table_2().data, Fraction(41)  # the optimum is 125/3
    made = certify(data, EventProgram(data, reach).program(), None, Fraction(83, 2), FEW, {"reach": str(reach)})
    assert made.bound >= Fraction(83, 2)
    assert prove_elastic(data, made.text).bound == reach


def test_a_mean_jct_without_a_schedule_or_of_hundreds_of_jobs_has_no_certificate():
    with pytest.raises(NoCertificate, match="needs a feasible schedule"):
        certificate(table_2().data, None, 1.0, Options())
    data = elastic_jobs(100, 0, objective="mean-jct").data
    with pytest.raises(NoCertificate, match="variables of the event-interval program, more than"):
        certificate(data, fifo(data).solution, 1.0, Options())
