"""Test certificates of Eva's net saving against enumeration, and that tampered proofs fail."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings

from instances import CheckFailed, InputError, Options, check
from instances.eva import EvaPacking, table_7
from instances.eva.checker import Book
from instances.eva.checker import exact as decimal
from instances.proofs import NoCertificate
from instances.proofs.eva import prove_packing
from instances.proofs.eva.saving_program import LimitedSavingProgram, SavingProgram, saving_program
from models.eva import exact
from models.eva.certificate import certificate
from tests.certificates.tampering import tampered_vipr
from tests.eva_cases import best_packing, packings, requests
from tests.eva_constrained_cases import FIELDS, best_by_enumeration, random_constrained
from tests.sampling import few, sample

FEW = Options(effort=200)


@settings(max_examples=sample(10, 30), deadline=None)
@given(packings("net-saving"))
def test_the_patterns_are_all_that_save(data: EvaPacking):
    program, book = SavingProgram(data), Book(data)
    for counts in product(*(range(t.count + 1) for t in data.tasks)):
        on_it = {t.key: n for t, n in zip(data.tasks, counts, strict=True) if n}
        holding = [
            decimal(kind.usd_per_hour)
            for kind in data.instance_types
            if not book.overfull(kind, on_it) and all(book.is_allowed(key, kind) for key in on_it)
        ]
        pattern = tuple(t for t, n in enumerate(counts) for _ in range(n))
        worth = sum((n * book.normalise_price(key, on_it) for key, n in on_it.items()), Fraction(0))
        net = worth - min(holding) if on_it and holding else Fraction(0)
        assert program.nets.get(pattern, Fraction(0)) == max(net, Fraction(0))


@settings(max_examples=sample(10, 25), deadline=None)
@given(packings("net-saving"))
def test_every_net_saving_is_proved_and_is_that_of_enumeration(data: EvaPacking):
    result, best = exact(data), best_packing(data)
    made = certificate(data, result.solution, result.bound, FEW)
    assert prove_packing(data, made.text).bound == made.bound
    assert float(made.bound) == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert made.bound >= Fraction(best) * (1 - Fraction(1, 10**12)) - Fraction(1, 10**12)


@pytest.fixture(scope="module")
def proof():
    """200 tasks of Table 7 beside one another, and a proof of several leaves."""
    data = table_7(200, 3, objective="net-saving").data
    result = exact(data)
    return data, result, certificate(data, result.solution, result.bound, Options())


def test_a_tree_of_several_leaves_proves_the_net_saving_of_200_tasks(proof):
    data, result, made = proof
    assert "1 leaf" not in made.how
    assert prove_packing(data, made.text).bound == made.bound
    assert result.objective <= float(made.bound) * (1 + 1e-15) <= result.bound * (1 + 1e-9)


def test_a_packing_is_a_point_of_the_program_at_its_net_saving(proof):
    data, result, _ = proof
    program = SavingProgram(data)
    point = program.point(result.solution)
    assert all(row.holds(point) for row in program.program().rows)
    assert float(program.program().value(point)) == check(data, result.solution).objective


@pytest.mark.parametrize("seed", few(range(24), 8))
def test_a_tampered_proof_is_refused(seed: int, proof):
    data, _, made = proof
    with pytest.raises((CheckFailed, InputError)):
        prove_packing(data, tampered_vipr(made.text, seed))


@pytest.mark.parametrize("fields", [FIELDS, *((field,) for field in FIELDS)], ids="-".join)
def test_every_net_saving_with_constraints_is_proved_and_is_that_of_enumeration(fields: tuple[str, ...]):
    for seed in range(sample(12, 25)):
        data = random_constrained(seed, fields, "net-saving")
        best = best_by_enumeration(data)
        if best is None:
            continue
        result = exact(data)
        made = certificate(data, result.solution, result.bound, FEW)
        proven = prove_packing(data, made.text)
        assert proven.bound == made.bound
        assert float(made.bound) == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert made.bound >= Fraction(best) - (1 + abs(Fraction(best))) / 10**12


@pytest.fixture(scope="module")
def limited():
    """Tasks of Table 7 on limited types, some of which run already, and a proof of what they save."""
    full = table_7(10, 3, objective="net-saving").data
    kinds = [k.model_copy(update={"max_instances": 2}) for k in full.instance_types if k.capacity["cpu"] <= 16]
    kinds += [k for k in full.instance_types if k.family == "p3" and k.capacity["cpu"] > 16]
    running = [{"type": kinds[0].name, "count": 2, "usd_per_hour": 0.0}]
    data = EvaPacking.model_validate({**full.model_dump(), "instance_types": kinds, "running": running})
    result = exact(data)
    return data, result, certificate(data, result.solution, result.bound, Options())


def test_a_packing_with_limits_is_a_point_of_the_program_at_its_net_saving(limited):
    data, result, _ = limited
    program = saving_program(data)
    assert isinstance(program, LimitedSavingProgram)
    point = program.point(result.solution)
    assert all(row.holds(point) for row in program.program().rows)
    assert float(program.program().value(point)) == check(data, result.solution).objective


@pytest.mark.parametrize("seed", few(range(12), 4))
def test_a_tampered_proof_of_a_net_saving_with_limits_is_refused(seed: int, limited):
    data, _, made = limited
    with pytest.raises((CheckFailed, InputError)):
        prove_packing(data, tampered_vipr(made.text, seed))


@pytest.mark.parametrize("change", ["limit", "running"])
def test_a_proof_for_other_limits_is_refused(change: str, limited):
    data, _, made = limited
    raw = data.model_dump()
    if change == "limit":
        raw["instance_types"][0]["max_instances"] = 3
    else:
        raw["running"][0]["count"] = 1
    with pytest.raises((CheckFailed, InputError)):
        prove_packing(EvaPacking.model_validate(raw), made.text)


def test_too_many_patterns_have_no_certificate(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("instances.proofs.eva.saving_program.MOST", 5_000)
    with pytest.raises(NoCertificate, match="patterns"):
        SavingProgram(requests(60, 0, "net-saving"))
    raw = requests(60, 0, "net-saving").model_dump()
    raw["instance_types"][0]["max_instances"] = 1
    with pytest.raises(NoCertificate, match="patterns, all of which count"):
        saving_program(EvaPacking.model_validate(raw))
