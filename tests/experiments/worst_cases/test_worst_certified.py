"""Test that every reported worst-case ratio has a checked solution and a verified certificate."""

from __future__ import annotations

import os
import random

import pytest

from experiments.harness.certification import Certification
from experiments.harness.run import Run, apply, load_method
from experiments.papers import CERTIFIERS, METHODS, SPACES
from experiments.worst import EACH
from experiments.worst_cases.case import Judge, Optima
from experiments.worst_cases.search import Part, Seen, search_part
from instances import Options, check
from instances.proofs.verify import see_bound, see_result

SEEDS = int(os.environ.get("GAPWISE_WORST", "7"))
"""Worst cases that are certified; 200 take some CPU minutes."""
STEPS = 100
PROBLEMS = (
    "eva-packing",
    "aryl-elastic",
    "aryl-reclaim",
    "boa-allocation",
    "sia-oracle",
    "node-consolidation",
    "node-placement",
)
OWN = [(problem, next(iter(SPACES[problem]))) for problem in PROBLEMS]
PLACES = [*OWN, *((problem, name) for problem in PROBLEMS for name in SPACES[problem] if (problem, name) not in OWN)]


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_worst_case_is_what_checker_and_certificate_say(seed: int):
    rng = random.Random(seed)
    problem, name = PLACES[seed % len(PLACES)]
    space, exact = SPACES[problem][name](), METHODS[problem][0]
    first = space.instance((0,)).data  # type: ignore[union-attr]
    rules = [e for e in METHODS[problem] if load_method(e).kind == "heuristic" and e.unfit(first) is None]
    entry, size, seen = rng.choice(rules), rng.randint(2, 4), Seen([], random.Random(0))
    judge = Judge(space, entry, Optima(space, exact, Options(time_limit=60.0)))
    search_part(judge, entry.name, Part(size=size, seed=seed, steps=max(STEPS, EACH * space.things)), seen)
    case = seen.worst[0]
    instance = space.instance(case.chosen)
    assert instance is not None
    if case.broken is not None:
        assert apply(entry, instance, Options()).status in ("violates", "infeasible", "no_solution")
        return
    found, optimum = (apply(one, instance, Options(time_limit=60.0)) for one in (entry, exact))
    verdict = check(instance.data, found.solution)  # type: ignore[arg-type]
    assert not verdict.violations
    assert verdict.objective == pytest.approx(case.heuristic, rel=1e-9)
    assert optimum.status == "optimal"
    task = Certification(Run(instance, exact, Options()), optimum, CERTIFIERS[problem])
    certified = task.outcome(task.work(None))  # type: ignore[arg-type]
    assert certified.text is not None, certified.reason
    assert certified.result.status == "optimal"
    see_result(instance, certified.result)
    see_bound(instance, certified.result, certified.text)
    assert certified.result.objective == pytest.approx(case.best, rel=1e-6)
