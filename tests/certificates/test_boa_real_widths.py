"""Test certificates of BOA's real widths with rescaling times, and that tampered proofs fail."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from instances import CheckFailed, InputError, Options
from instances.boa import BoaAllocation, newtrace
from instances.proofs import NoCertificate
from instances.proofs.boa import prove_allocation
from instances.proofs.boa.run_proof import LENGTH, RunBounds, RunDecision, RunLengths
from models.boa import exact
from models.boa.certificate import certificate
from tests.boa_cases import real_widths
from tests.certificates.tampering import tampered_json
from tests.sampling import few


def made(data: BoaAllocation, options: Options = Options()):
    result = exact(data)
    return result, certificate(data, result.solution, result.bound, options)


def float_length(data: BoaAllocation, i: int, kind: int, first: int, after: int, price: float, width: float) -> float:
    """Compute the length of a run at a width in floating point."""
    c, t = data.classes[i], data.gpu_types[kind]
    hours = c.rescale_hours
    for epoch in c.epochs[first:after]:
        curve = epoch.speedup.on(t.name)
        if curve.table is not None:
            hours += epoch.size_hours / float(curve.at(np.array([width]), data.max_width)[0])
        elif curve.amdahl is not None:
            hours += epoch.size_hours * (1 - curve.amdahl + curve.amdahl / width)
        else:
            hours += epoch.size_hours * width ** -(curve.power or 0.0)
    value = c.weight * c.arrivals_per_hour / sum(k.weight * k.arrivals_per_hour for k in data.classes)
    return (value + price * c.arrivals_per_hour * t.price * width) * hours


@pytest.mark.parametrize("seed", few(range(12), 5))
def test_the_least_length_of_a_run_is_that_of_the_best_of_many_widths(seed: int):
    data = real_widths(seed, types=1 + seed % 2)
    price = Fraction(1, 3 + seed)
    for i, c in enumerate(data.classes):
        runs = RunLengths(data, i, price)
        for kind, first in product(range(len(data.gpu_types)), range(len(c.epochs))):
            after = len(c.epochs)
            found = runs.least(kind, first, after) / 2**LENGTH
            ends = [h.end for h in runs.hours[kind][first:after] if h.end is not None]
            widths = np.geomspace(1, min(ends, default=10_000), 4_000).tolist()
            best = min(float_length(data, i, kind, first, after, float(price), k) for k in widths)
            assert best * (1 - 1e-3) <= found <= best * (1 + 1e-12)


def test_a_price_of_nothing_makes_a_run_as_wide_as_may_be():
    data = real_widths(1)
    for i, c in enumerate(data.classes):
        runs = RunLengths(data, i, Fraction(0))
        end = min([h.end for h in runs.hours[0] if h.end is not None], default=10**20)
        least = float_length(data, i, 0, 0, len(c.epochs), 0.0, float(end))
        assert runs.least(0, 0, len(c.epochs)) / 2**LENGTH == pytest.approx(least, rel=1e-8)


def test_every_partition_obeys_a_decision_or_its_opposite():
    """Partitions of four epochs into runs, each on one of two types; runs that meet on one type differ in width."""
    for at, kind in product(range(4), (None, 0, 1)):
        if kind is None and at == 0:
            continue
        so, not_so = (RunDecision(0, at, kind, holds) for holds in (True, False))
        for changes in product((False, True), repeat=3):
            starts = [0, *(j for j, change in enumerate(changes, start=1) if change)]
            for kinds in product((0, 1), repeat=len(starts)):
                runs = list(zip(kinds, starts, [*starts[1:], 4], strict=True))
                obeyed = [all(d.allows(*run) for run in runs) for d in (so, not_so)]
                assert sorted(obeyed) == [False, True]


@pytest.mark.parametrize("seed", few(range(16), 6))
def test_the_certificate_proves_the_bound_and_no_more(seed: int):
    data = real_widths(100 + seed, types=1 + seed % 2)
    result, found = made(data)
    assert prove_allocation(data, found.text).bound == found.bound
    assert result.bound * (1 - 3e-9) <= float(found.bound) <= result.objective * (1 + 1e-12)


@pytest.fixture(scope="module")
def proof():
    """Return the instance of newTrace whose proof needs a tree."""
    data = newtrace(1.1).data.model_copy(update={"widths": "continuous"})
    return data, *made(data)


def test_a_tree_proves_what_no_single_price_does(proof):
    data, result, found = proof
    assert found.how == "Lagrangians of runs, 2 leaves"
    root = certificate(data, result.solution, result.bound, Options(time_limit=1e-9))
    assert prove_allocation(data, root.text).bound == root.bound < Fraction(result.bound) * (1 - Fraction(1, 1000))


def test_a_tampered_proof_is_refused(proof):
    data, _, found = proof
    small = real_widths(100)
    proofs = [(data, found.text)] * 8 + [(small, made(small)[1].text)] * 24
    for seed, (of, text) in enumerate(proofs):
        with pytest.raises((CheckFailed, InputError)):
            prove_allocation(of, tampered_json(text, seed))


def at_least(width: Fraction, tenths: int) -> Fraction:
    """No less than the hours that a size of one hour takes at a width, under the speedup width^(tenths/10)."""
    speed = Fraction(int(float(width) ** (tenths / 10) * 10**12) - 1, 10**12)
    assert speed**10 <= width**tenths
    return 1 / speed


def test_two_plans_of_one_class_beat_every_single_plan_over_real_widths_with_rescaling():
    """Lemma 4.3 says that they do not, section 4.3 that this holds with rescaling too. All in rationals."""
    r, budget = Fraction("0.1"), Fraction("6.21992")
    epochs = [{"size_hours": 1.0, "speedup": {"power": a / 10}} for a in (9, 1)]
    kind = {"name": "a", "arrivals_per_hour": 1.0, "rescale_hours": float(r), "epochs": epochs}
    data = BoaAllocation.model_validate({"budget": float(budget), "widths": "continuous", "classes": [kind]})
    single = prove_allocation(data, made(data)[1].text).bound
    one, first, second = Fraction("6.517"), Fraction("15.718"), Fraction("2.240")
    plans = [
        [(one, r + at_least(one, 9) + at_least(one, 1))],  # one width, set up once
        [(first, r + at_least(first, 9)), (second, r + at_least(second, 1))],
    ]
    shares = Fraction(4998, 10_000), Fraction(5002, 10_000)
    time = sum(share * sum(hours for _, hours in plan) for share, plan in zip(shares, plans, strict=True))
    cost = sum(share * sum(k * hours for k, hours in plan) for share, plan in zip(shares, plans, strict=True))
    assert cost <= budget
    assert time < single * (1 - Fraction(56, 10_000))


LEAF = {"price": "1", "bound": "0"}


def branch(epoch: int = 1, job_class: int = 0, children: tuple[int, int] = (1, 2), **more: int) -> dict[str, object]:
    return {"branch": {"job_class": job_class, "epoch": epoch, **more}, "children": children}


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([branch(children=(1, 1)), LEAF], "in the tree twice"),
        ([branch(), LEAF], "in the tree twice"),
        ([LEAF, LEAF], "1 of them are not in the tree"),
        ([{}], "there are policies left, and no price is given"),
        ([branch(epoch=0), LEAF, LEAF], "there is no such class, epoch or type"),
        ([branch(job_class=9), LEAF, LEAF], "there is no such class, epoch or type"),
        ([branch(type=1), LEAF, LEAF], "there is no such class, epoch or type"),
        ([{"price": "1", "bound": "1"}], "1.0 is claimed, the price proves 0.0"),
    ],
)
def test_a_tree_that_leaves_something_out_is_refused(proof, nodes: list[object], said: str):
    data, _, found = proof
    with pytest.raises(CheckFailed, match=said):
        prove_allocation(data, json.dumps(json.loads(found.text) | {"nodes": nodes, "bound": "0"}))


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ({"branch": {"job_class": 0, "epoch": 1}}, "children: must be given with a branch"),
        ({"children": [1, 2]}, "children: must be given with a branch"),
        (branch() | LEAF, "price: must not be given"),
        ({"price": "1"}, "bound: must be given with a price"),
        (LEAF | {"price": "-1"}, "price: must be a rational number"),
        (LEAF | {"bound": "1/0"}, "bound: must be a rational number"),
        ({"more": 1}, "more: unknown field"),
    ],
)
def test_what_is_no_node_is_refused_in_one_line(proof, node: object, said: str):
    data, _, found = proof
    with pytest.raises(InputError, match=said) as refused:
        prove_allocation(data, json.dumps(json.loads(found.text) | {"nodes": [node]}))
    assert "\n" not in str(refused.value)


def test_a_leaf_without_policies_has_no_price():
    """Three epochs of which the second starts and ends no run, and is on neither type."""
    data = next(d for d in (real_widths(s, types=2) for s in range(99)) if len(d.classes[0].epochs) == 3)
    both = [RunDecision(0, 1, kind, False) for kind in (0, 1)]
    assert RunBounds(data).at(Fraction(1), both) is None
    assert RunBounds(data).at(Fraction(1), both[:1]) is not None


def test_too_many_runs_are_not_gone_through():
    data = newtrace(2.0).data
    epochs = data.classes[0].epochs
    long = data.classes[0].model_copy(update={"epochs": epochs * 40})
    wide = data.model_copy(update={"widths": "continuous", "classes": (long,)})
    with pytest.raises(NoCertificate, match="epochs of runs to go through"):
        RunBounds(wide).at(Fraction(1), ())
