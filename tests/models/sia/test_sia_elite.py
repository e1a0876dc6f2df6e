"""Test the search near the best schedules of sia-oracle, and its annealing with penalties."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from instances import Options, Stopwatch
from instances.options import ignore
from instances.sia import synthetic
from instances.sia.arrays import oracle_arrays
from models.sia import exact
from models.sia.cutting_loop import EliteSearch
from models.sia.fairness import build_fairness
from models.sia.kernels import Shares, Timeline, anneal_at_penalty, build_jobs
from models.sia.parameters import DEFAULTS
from models.sia.proof import OracleProof
from models.sia.relaxation import StartRelaxation
from models.sia.search import anneal_with_penalties, construct

ALWAYS = replace(DEFAULTS, max_tree_candidates=0, min_search_gap=1, enumeration_jobs=0)
"""Constants with which the search runs on small workloads too."""
BRIEF = replace(DEFAULTS, penalty_tries=300, elite_tries=10, draws=4)
"""Constants of a search that leaves much to the next one."""


def _search(seed: int) -> EliteSearch:
    """Return the search of a workload of one day, at the relaxation without cuts."""
    data = synthetic("base", 11, days=1).data
    arrays, clock = oracle_arrays(data), Stopwatch()
    first = construct(arrays, arrays.cutoff, clock)
    proof = OracleProof(arrays, Options(seed=seed), ignore, clock, first, BRIEF)
    relaxation = StartRelaxation(proof.columns, proof.best)
    relaxation.converge(proof.delay, clock)
    return EliteSearch(proof, relaxation)


def test_the_search_gains_and_keeps_feasible_schedules_that_are_not_alike_the_best_first():
    search = _search(1)
    arrays, before = search.proof.arrays, search.proof.delay
    search.run(Stopwatch(), 12, 8)
    delays = [arrays.delay(kept) for kept in search.elite]
    assert all(arrays.feasible(kept) for kept in search.elite)
    assert delays == sorted(delays)
    for one, other in combinations(search.elite, 2):
        assert np.abs(one - other).sum() >= BRIEF.min_elite_distance * min(arrays.delay(one), arrays.delay(other))
    assert 1 < len(delays) <= DEFAULTS.elite_size
    assert delays[0] == search.proof.delay < before


def test_the_search_is_deterministic_for_a_seed():
    runs = [_search(seed) for seed in (1, 1, 2)]
    for search in runs:
        search.run(Stopwatch(), 3, 2)
    kept = [np.stack(search.elite).tolist() for search in runs]
    assert kept[0] == kept[1] != kept[2]


def test_the_search_ends_with_the_clock():
    search = _search(1)
    before = search.proof.delay
    search.run(Stopwatch(0.0), 10**9)
    assert search.proof.delay == before


@pytest.mark.parametrize("seed", [3, 4])
def test_the_optimum_is_the_same_with_the_search(seed):
    data = synthetic("base", seed, days=0.5, slot_minutes=5.0).data
    one, other = exact(data, parameters=ALWAYS), exact(data)
    assert one.status == other.status == "optimal"
    assert one.objective == other.objective


@pytest.mark.parametrize("weight", [0.0, 3.0])
@pytest.mark.parametrize(("heat", "penalty"), [(30.0, 8.0), (1.0, 200.0), (1e-6, 1e6)])
def test_annealing_keeps_account_of_use_objective_and_excess(heat, penalty, weight):
    data = synthetic("base", 5, days=1, slot_minutes=5.0).data
    arrays = oracle_arrays(data)
    fairness = build_fairness(data.model_copy(update={"fairness_weight": weight}), arrays)
    inverse = arrays.unit / fairness.owned if weight else np.zeros(0)
    shares = Shares(fairness.pool, inverse, fairness.free, np.append(fairness.weight, 0.0))

    def objective(starts):
        return arrays.delay(starts) + float(fairness.weight @ fairness.evaluate_stretch(arrays, starts))

    def of_pools(starts):
        use = np.zeros((len(inverse), arrays.horizon + 1), dtype=np.int64)
        for j, start in enumerate(starts if weight else ()):
            use[fairness.pool[j], start : start + arrays.duration[j]] += arrays.gpus[j]
        return use

    movable = np.flatnonzero(arrays.cutoff > arrays.submit)
    start, use = arrays.submit.copy(), arrays.use(arrays.submit)
    line = Timeline(of_pools(start), use)
    best, over = arrays.cutoff.copy(), int(np.maximum(use - arrays.capacity, 0).sum())
    lead, rng = objective(start) - objective(best), np.random.default_rng(7)
    for _ in range(5):
        how = lead, over, 2_000, 10.0, heat, penalty
        lead, over = anneal_at_penalty(rng, build_jobs(arrays), shares, line, movable, start, best, *how)
    assert (start != arrays.submit).any()
    assert ((arrays.submit <= start) & (start <= arrays.cutoff)).all()
    assert (use == arrays.use(start)).all()
    assert (line.use == of_pools(start)).all()
    assert over == np.maximum(use - arrays.capacity, 0).sum()
    assert lead == pytest.approx(objective(start) - objective(best), abs=1e-6)
    assert arrays.feasible(best)


def test_annealing_with_little_heat_gives_up_neither_delay_nor_width():
    arrays = oracle_arrays(synthetic("base", 5, days=1, slot_minutes=5.0).data)
    first = construct(arrays, arrays.cutoff, Stopwatch())
    cold = replace(DEFAULTS, penalty_warm=1e-9, penalty_cold=1e-9)
    found, last = anneal_with_penalties(arrays, first, Stopwatch(), tries=200, parameters=cold)
    assert found is not None
    assert arrays.feasible(last)
    assert arrays.delay(last) == arrays.delay(found) <= arrays.delay(first)
