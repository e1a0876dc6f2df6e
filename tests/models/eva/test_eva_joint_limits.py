"""Test that a new joint limit on types needs only its rows in `limits`."""

from __future__ import annotations

import random

import pytest

from heuristics.eva import full_reconfiguration, full_reconfiguration_artifact, full_reconfiguration_first, no_packing
from instances import InputError, Options, check
from instances.eva import EvaPacking, constraints_of, packing_arrays
from instances.eva.constraints import Limit
from instances.options import ignore
from instances.proofs.eva import prove_packing
from models.eva import exact, literal
from models.eva.certificate import certificate
from models.eva.covering import solve_covering
from models.eva.totals import solve_totals
from models.eva.trees import solve_unlisted
from models.eva.true_speed import maximise_true_saving
from tests.branch_and_price_cases import listed
from tests.eva_constrained_cases import FIELDS, best_by_enumeration, random_constrained
from tests.sampling import few

HEURISTICS = (no_packing, full_reconfiguration, full_reconfiguration_first, full_reconfiguration_artifact)


class Zoned(EvaPacking):
    """A packing with `zones`: names of types, and how many instances of these types there may be in all."""

    zones: tuple[tuple[tuple[str, ...], int], ...] = ()

    @property
    def limits(self) -> tuple[Limit, ...]:
        place = {kind.name: k for k, kind in enumerate(self.instance_types)}
        rows = [Limit(tuple(place[name] for name in names if name in place), most) for names, most in self.zones]
        return (*super().limits, *(row for row in rows if row.types))


def zoned(seed: int, objective: str = "cost") -> Zoned:
    """Draw an instance with overlapping zones and one zone of no type, half of them with all other constraints."""
    draw = random.Random(seed)
    data = random_constrained(seed, FIELDS if seed % 2 else (), objective, most_tasks=5)
    names = [kind.name for kind in data.instance_types]
    zones = [(draw.sample(names, draw.randint(min(2, len(names)), len(names))), draw.choice((0, 1, 1, 2, 2, 3)))]
    zones += [(draw.sample(names, draw.randint(0, len(names))), draw.randint(1, 3)), (["none"], 0)]
    return Zoned.model_validate({**data.model_dump(), "zones": zones})


@pytest.mark.parametrize("seed", few(range(198), 12))
def test_all_methods_find_the_least_cost_that_enumeration_finds(seed: int):
    data = zoned(seed)
    optimum, arrays = best_by_enumeration(data), packing_arrays(data)
    results = [exact(data), literal(data)]
    if optimum is None:
        assert [result.status for result in results] == ["infeasible"] * 2
        assert solve_unlisted(arrays, Options(effort=300), ignore).solution is None
    else:
        for found in (*results, solve_unlisted(arrays, Options(effort=300), ignore)):
            assert found.bound == pytest.approx(optimum)
            assert check(data, found.solution or {}).objective == pytest.approx(optimum)
            assert not check(data, found.solution or {}).violations
        made = certificate(data, results[0].solution, optimum, Options())
        assert float(made.bound) == pytest.approx(optimum)
        assert prove_packing(data, made.text).bound == made.bound
    covered = solve_covering(arrays, listed(arrays), Options())
    assert (arrays.usd(covered.bound or 0) if covered.groups else None) == (optimum and pytest.approx(optimum))
    for start in (None, results[0].solution):
        totals = solve_totals(arrays, Options(effort=300), start=None if start is None else arrays.groups(start))
        if totals is not None and totals.solution is not None:
            assert not check(data, totals.solution).violations
            assert optimum is not None
            assert (totals.bound or 0.0) <= optimum + 1e-9
    for heuristic in HEURISTICS:
        found = heuristic(data)
        assert found.solution is None or not check(data, found.solution).violations


@pytest.mark.parametrize("seed", few(range(100), 12))
def test_exact_and_its_certificate_find_the_net_saving_that_enumeration_finds(seed: int):
    data = zoned(seed, "net-saving")
    optimum, result = best_by_enumeration(data), exact(data)
    if optimum is None:
        assert result.status == "infeasible"
        return
    assert result.objective == pytest.approx(optimum, abs=1e-7)
    assert result.bound == pytest.approx(optimum, abs=1e-5)
    made = certificate(data, result.solution, result.bound or 0.0, Options())
    assert prove_packing(data, made.text).bound == made.bound
    assert float(made.bound) == pytest.approx(optimum, abs=1e-5)


def test_methods_that_know_no_limits_refuse_the_field():
    data = zoned(0, "net-saving")
    assert constraints_of(data) == ["zones"]
    with pytest.raises(InputError, match=r"data\.zones: the saving at true speeds has no such constraint"):
        maximise_true_saving(data)
