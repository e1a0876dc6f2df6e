"""Test branch-and-price against the literal program, HiGHS and all patterns."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from instances import Options
from models.eva.branch_and_price import branch_and_price, pack_alone
from models.eva.configuration import Column, holds, missing, price
from models.eva.covering import Patterns, solve_covering
from models.eva.parameters import BranchAndPriceParameters
from models.eva.pricer import Priced
from models.eva.pricers import ListedPricer, list_patterns
from tests.branch_and_price_cases import check_proof, every_pattern, linear_prices
from tests.eva_cases import literal_optimum, random_packing
from tests.sampling import few

EXACT = Options(gap=0.0)
USUAL = BranchAndPriceParameters()
ONE_TRY = BranchAndPriceParameters(dive_steps=0, candidates_each_kind=1)  # more is left to the tree


def pricer(arrays, parameters=USUAL):
    listed = list_patterns(arrays, parameters)
    assert listed is not None
    return listed


def solve(arrays, options=EXACT, parameters=USUAL, **more):
    outcome = branch_and_price(arrays, pricer(arrays, parameters), options, parameters=parameters, **more)
    assert (missing(arrays, outcome.configuration) == 0).all()
    assert all(holds(arrays, column) for column in outcome.configuration)
    assert price(arrays, outcome.configuration) == outcome.cost
    assert outcome.proof.bound <= outcome.bound <= outcome.cost
    return outcome


@pytest.mark.parametrize("seed", few(range(30), 8))
def test_small_packings_end_at_the_literal_optimum(seed):
    arrays = random_packing(seed)
    if arrays.count.sum() > 7:
        pytest.skip("the literal program would be slow")
    outcome = solve(arrays)
    assert outcome.cost == outcome.bound == literal_optimum(arrays)
    check_proof(arrays, outcome.proof)


@pytest.mark.parametrize("seed", few(range(12), 3))
@pytest.mark.parametrize("parameters", [USUAL, ONE_TRY], ids=["usual", "one try"])
def test_the_tree_agrees_with_an_integer_program_over_all_patterns(seed, parameters):
    arrays = linear_prices(seed)
    listed = pricer(arrays)
    every = Patterns(listed.kind, listed.on_it.astype(np.int64))
    outcome = solve(arrays, parameters=parameters)
    assert outcome.termination == "finished"
    assert outcome.cost == outcome.bound == solve_covering(arrays, every, EXACT).bound


@pytest.mark.parametrize("seed", range(6))
def test_a_proof_holds_against_every_pattern(seed):
    arrays = linear_prices(seed, classes=5)
    outcome = solve(arrays, parameters=ONE_TRY)
    assert outcome.proof.bound == outcome.cost
    check_proof(arrays, outcome.proof)


def test_trees_of_the_tests_are_more_than_a_root():
    assert sum(solve(linear_prices(seed), parameters=ONE_TRY).info["nodes"] for seed in range(12)) > 30


@pytest.mark.parametrize("seed", [8, 11, 14, 19, 21, 22])
def test_proofs_by_the_spending_from_some_price_up_hold(seed):
    arrays = linear_prices(seed, classes=5)
    proof = solve(arrays, parameters=ONE_TRY).proof
    check_proof(arrays, proof)
    cheapest = [int(arrays.price[arrays.family == f].min()) for f in range(2)]
    decisions = [zip(leaf.decisions, leaf.duals.decisions, strict=True) for leaf in proof.leaves]
    assert any(y and d.kind == "spend" and d.of[1] > cheapest[d.of[0]] for path in decisions for d, y in path)


@pytest.mark.parametrize("effort", [1, 2, 5])
def test_a_tree_that_is_cut_short_proves_what_it_says(effort):
    arrays = linear_prices(3, classes=5)
    outcome = solve(arrays, Options(gap=0.0, effort=effort), ONE_TRY)
    check_proof(arrays, outcome.proof)
    assert outcome.info["nodes"] <= effort


def test_a_false_proof_is_seen():
    """The check of these tests is one that can fail."""
    trees = [(arrays, solve(arrays, parameters=ONE_TRY).proof) for arrays in (linear_prices(s, 5) for s in range(6))]
    arrays, proof = max(trees, key=lambda tree: len(tree[1].leaves))
    assert len(proof.leaves) > 2
    check_proof(arrays, proof)
    cut_off = replace(proof, leaves=proof.leaves[1:])
    doubled = [replace(f.duals, cover=tuple(2 * y for y in f.duals.cover)) for f in proof.leaves]
    too_dear = tuple(replace(f, duals=d) for f, d in zip(proof.leaves, doubled, strict=True))
    raised = tuple(replace(f, bound=2 * f.bound) for f in proof.leaves)
    for false in (cut_off, replace(proof, leaves=too_dear), replace(proof, ceiling=2 * proof.ceiling, leaves=raised)):
        with pytest.raises(AssertionError):
            check_proof(arrays, false)


class EveryPattern:
    """Pricing over all patterns, maximal or not, as one without any idea would do it; it can keep pairs."""

    pairs, subset_rows, holdings, dominated = True, False, False, False

    def __init__(self, arrays):
        self.arrays = arrays
        self.patterns = {k: every_pattern(arrays, k) for k in np.flatnonzero(arrays.fits.any(axis=1)).tolist()}

    def scale(self, value, target):
        return 2**20

    def price(self, prices, columns_each, exact=True):
        bound, columns = [0] * len(self.arrays.price), []
        for k, patterns in self.patterns.items():
            held = patterns > 0
            keeps = np.ones(len(patterns), dtype=bool)
            for i, j in prices.together:
                keeps &= held[:, i] == held[:, j]
            for i, j in prices.apart:
                keeps &= ~(held[:, i] & held[:, j])
            worth = np.where(keeps, patterns @ prices.value[k], 0)
            bound[k] = int(worth.max())
            if bound[k] > prices.target[k]:
                columns.append(Column.of(k, enumerate(patterns[worth.argmax()].tolist())))
        return Priced(tuple(bound), columns)


@pytest.mark.parametrize("seed", few(range(12), 3))
def test_a_pricer_that_keeps_pairs_leads_to_the_same_optimum(seed):
    arrays = linear_prices(seed, classes=7, tasks=1)
    outcome = branch_and_price(arrays, EveryPattern(arrays), EXACT, parameters=ONE_TRY)
    assert outcome.termination == "finished"
    assert outcome.cost == outcome.bound == solve(arrays).cost


def test_a_proof_is_plain_data():
    proof = solve(linear_prices(1, classes=5)).proof
    assert json.loads(json.dumps(asdict(proof)))["ceiling"] == proof.ceiling


def test_the_same_effort_gives_the_same_answer():
    arrays = linear_prices(7)
    one, two = (solve(arrays, Options(gap=0.0, effort=4), ONE_TRY) for _ in range(2))
    assert (one.configuration, one.bound, one.proof) == (two.configuration, two.bound, two.proof)


def test_the_outcome_is_never_worse_than_the_start():
    arrays = linear_prices(5)
    best = solve(arrays)
    again = solve(arrays, Options(gap=0.0, effort=1), start=best.configuration)
    assert again.cost == best.cost


def test_without_time_every_task_is_alone_and_the_bound_holds():
    arrays = linear_prices(5)
    outcome = solve(arrays, Options(time_limit=1e-9))
    assert outcome.termination == "time_limit"
    assert outcome.cost <= price(arrays, pack_alone(arrays))


def test_a_wide_gap_is_not_overstated():
    """A bound that closes a wide gap may leave out only patterns of packings cheaper than the incumbent."""
    for seed in range(8):
        arrays = linear_prices(seed)
        optimum = solve(arrays).cost
        outcome = solve(arrays, Options(gap=0.05), ONE_TRY)
        assert outcome.bound <= optimum <= outcome.cost <= 1.06 * optimum


def test_patterns_that_are_too_many_are_not_listed():
    arrays = linear_prices(0)
    assert list_patterns(arrays, BranchAndPriceParameters(listed_patterns=3)) is None
    assert list_patterns(arrays, BranchAndPriceParameters(listing_steps=3)) is None
    assert isinstance(list_patterns(arrays, BranchAndPriceParameters()), ListedPricer)


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_that_begins_anew_loses_no_proof(seed):
    arrays = linear_prices(seed)
    often = replace(ONE_TRY, restart_nodes=4, restarts=2)
    for nodes in (5, 6):
        outcome = solve(arrays, Options(gap=0.0, effort=nodes), often)
        assert outcome.proof.bound == outcome.bound
        check_proof(arrays, outcome.proof)
