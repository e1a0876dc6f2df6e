"""Test BOA's certificates: rational lengths, optima by enumeration, proofs, and tampered proofs."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instances import CheckFailed, InputError, Options
from instances.boa import BoaAllocation, Curve, figure_1, random_allocation
from instances.proofs.boa import prove_allocation
from instances.proofs.boa.rational import bound_length, corners, power_at_most, root_at_most, times
from instances.proofs.boa.unit_network import find_widest_affordable
from models.boa import exact
from models.boa.certificate import certificate
from tests.boa_cases import allocations
from tests.boa_optima import best_paths
from tests.certificates.tampering import tampered_json
from tests.sampling import sample


def made(data: BoaAllocation):
    result = exact(data)
    return result, certificate(data, result.solution, result.bound, Options())


@pytest.mark.parametrize(
    ("curve", "pause", "hours", "widest"),
    [
        (Curve(amdahl=0.5), 0, 2, 3),  # a run on k GPUs costs (k + 1) / 2 hours
        (Curve(amdahl=0.5), 0, Fraction(5, 2) - Fraction(1, 10**6), 3),
        (Curve(amdahl=0.5), Fraction(1, 2), Fraction(5, 2), 2),
        (Curve(power=0.5), 0, 2, 4),  # and the root of k
        (Curve(power=0.5), 1, 6, 4),
        (Curve(power=0.5), 0, Fraction(1, 2), 1),
    ],
)
def test_the_widest_run_that_a_budget_affords(curve: Curve, pause: Fraction, hours: Fraction, widest: int):
    assert find_widest_affordable(curve, Fraction(1), Fraction(pause), Fraction(hours)) == widest


@settings(max_examples=sample(10, 20), deadline=None)
@given(allocations())
def test_the_certificate_of_whole_widths_proves_the_optimum(data):
    _, found = made(data)
    assert prove_allocation(data, found.text).bound == found.bound
    assert float(found.bound) == pytest.approx(best_paths(data), rel=1e-7)
    assert found.bound <= Fraction(best_paths(data)) * (1 + Fraction(1, 10**14))


@settings(max_examples=sample(10, 20), deadline=None)
@given(allocations(types=2, most_epochs=2))
def test_the_certificate_with_several_types_is_no_better_than_any_policy(data):
    result, found = made(data)
    assert prove_allocation(data, found.text).bound == found.bound
    assert result.bound * (1 - 1e-9) <= float(found.bound) <= result.objective * (1 + 1e-14)


CURVES = st.one_of(
    st.floats(0, 1).map(lambda p: Curve(amdahl=p)),
    st.floats(0, 1).map(lambda a: Curve(power=a)),
    st.lists(st.floats(0.5, 9), min_size=1, max_size=5).map(
        lambda s: Curve.model_validate({"table": {"gpus": [1, 2, 4, 7, 9][: len(s)], "speedup": [1.0, *s[1:]]}})
    ),
)


@settings(max_examples=sample(20, 60), deadline=None)
@given(CURVES, st.integers(1, 50), st.integers(1, 50), st.sampled_from([1, 3, 8, 40]), st.booleans())
def test_the_least_length_is_that_of_the_best_of_many_widths(curve, value, price, most, whole):
    found = float(bound_length(curve, Fraction(value), Fraction(price), most, whole))
    end = most if curve.table is None else min(most, curve.table.gpus[-1])
    steps = 1 if whole else 200
    lengths = []
    for i in range((end - 1) * steps + 1):
        width = 1 + i / steps
        if curve.amdahl is not None:
            time = 1 - curve.amdahl + curve.amdahl / width
        elif curve.power is not None:
            time = width**-curve.power
        else:
            time = 1 / float(curve.at(width, most))
        lengths.append((value + price * width) * time)
    assert found <= min(lengths) * (1 + 1e-12)
    assert found >= min(lengths) * (1 - (1e-9 if whole else 1e-4))


def test_irrational_numbers_are_rounded_down_and_hardly():
    for base in (Fraction(1, 3), Fraction(7, 2), Fraction(1)):
        third = power_at_most(base, Fraction(1, 3))
        assert third**3 <= base < (third * (1 + Fraction(1, 10**40))) ** 3
    root = root_at_most(Fraction(2))
    assert root**2 <= 2 < (root + Fraction(1, 10**40)) ** 2


def test_the_times_of_a_table_are_those_of_its_hull():
    curve = Curve.model_validate({"table": {"gpus": [1, 2, 4, 5], "speedup": [1.0, 1.1, 2.5, 2.0]}})
    assert corners(curve, None) == [(1, 1), (4, Fraction(5, 2))]
    assert times(curve, None, 6) == [1, Fraction(2, 3), Fraction(1, 2), Fraction(2, 5), Fraction(2, 5), None]
    assert corners(curve, 3) == [(1, 1), (3, Fraction(9, 5))]


@pytest.fixture(scope="module")
def proofs():
    datas = [random_allocation(2, 5, 8, rescale=0.5, seed=0).data, figure_1(1.5).data]
    return [(data, made(data)[1].text) for data in datas]


@pytest.mark.parametrize("seed", range(40))
def test_a_tampered_proof_is_refused(seed: int, proofs):
    data, text = proofs[seed % 2]
    with pytest.raises((CheckFailed, InputError)):
        prove_allocation(data, tampered_json(text, 4 * (seed // 2) + 1))


def test_the_proof_of_a_gap_that_is_not_closed_is_the_lagrangian(proofs):
    data, text = proofs[0]
    content = json.loads(text)
    content["closed"] = False
    with pytest.raises(CheckFailed, match=r"are claimed, (\d+) are proved") as refused:
        prove_allocation(data, json.dumps(content))
    content["bound"] = int(str(refused.value).split()[-3])
    proven = prove_allocation(data, json.dumps(content))
    assert proven.how == "Lagrangian in whole units"
    assert float(proven.bound) < made(data)[0].bound


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("instance", "2:0", "of another instance"),
        ("problem", "eva-packing", "problem: must be boa-allocation"),
        ("gapwise_certificate", 2, "gapwise: must be 1, got 2"),
        ("scale", 0, "scale: must be >= 1, got 0"),
        ("time_bits", 2.5, "time_bits: "),
        ("more", 1, "more: unknown field"),
    ],
)
def test_what_is_no_such_certificate_is_refused_in_one_line(proofs, name: str, value: object, said: str):
    data, text = proofs[0]
    with pytest.raises(InputError, match=said):
        prove_allocation(data, json.dumps(json.loads(text) | {name: value}))


def test_units_too_fine_for_64_bits_are_refused(proofs):
    data, text = proofs[0]
    with pytest.raises(CheckFailed, match="64 bits"):
        prove_allocation(data, json.dumps(json.loads(text) | {"time_bits": 120}))


def test_a_bound_of_many_digits_is_rounded_to_the_safe_side():
    data = figure_1(2.0).data
    result, found = made(data)
    assert math.isclose(float(found.bound), result.bound, rel_tol=1e-11)
