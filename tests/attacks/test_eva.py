"""Test that no feasible answer beats a claimed bound of Eva's problems."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from heuristics.eva import full_reconfiguration, full_reconfiguration_first, no_packing
from instances import InputError, Options, check
from instances.eva import EvaPacking
from instances.gaps import agree, better
from models.eva import exact, literal
from tests.sampling import sample

ANSWERS = sample(100, 1_000)
AMOUNTS = (0.0, 1e-9, 2e-9, 0.333333333, 0.333333334, 1.0, 1.000000001, 3.0, 1e9 - 1, 1e9)
PRICES = (1e-9, 2e-9, 0.00015, 1.0, 1.000000001, 3.06, 1e9)
SHARES = (0.0, 0.5, 0.95, 0.999999999, 1.0)
NAMES = ("ghost", "a b", "a_b", "ü", "-1")


def extreme(seed: int, objective: str) -> EvaPacking:
    """Amounts and prices from the ends of their ranges; up to seven tasks, or one huge count."""
    draw = random.Random(seed)
    amounts = draw.sample(AMOUNTS, 4)
    prices = draw.sample(PRICES, draw.choice((1, 2, 3)))
    kinds: list[dict[str, Any]] = [
        {
            "name": name,
            "family": draw.choice(("f", "g")),
            "capacity": {r: draw.choice(amounts) for r in ("c", "d")},
            "usd_per_hour": draw.choice(prices),
        }
        for name in NAMES[: draw.randint(1, 5)]
    ]
    families = {k["family"] for k in kinds}
    huge = draw.random() < 0.15
    tasks = []
    for i in range(1 if huge else draw.randint(1, 4)):
        base = draw.choice(kinds)["capacity"]
        part = draw.choice((1, 1, 2, 3))
        demand: dict[str, Any] = {"default": {r: round(q / part, 9) for r, q in base.items()}}
        if draw.random() < 0.4:
            demand[draw.choice(sorted(families))] = {r: draw.choice(amounts) for r in ("c", "d")}
        more = {"job": "j"} if draw.random() < 0.3 else {"tasks_in_job": draw.choice((1, 2, 1_000))}
        count = (1_000 if objective == "net-saving" else 10**6) if huge else draw.randint(1, 2)
        tasks.append({"workload": f"w{i}", "count": count, "demand": demand, **more})
    words = [t["workload"] for t in tasks]
    pairs = {(draw.choice(words), draw.choice(words)): draw.choice(SHARES) for _ in range(3)}
    return EvaPacking.model_validate(
        {
            "resources": ["c", "d"],
            "instance_types": kinds,
            "tasks": tasks,
            "objective": objective,
            "throughput": {"default": draw.choice(SHARES), "pairwise": [(*p, v) for p, v in pairs.items()]},
        }
    )


def instances(objective: str, seeds: range) -> list[EvaPacking]:
    """Return the valid instances of these seeds."""
    found = []
    for seed in seeds:
        try:
            found.append(extreme(seed, objective))
        except ValueError:  # a task that fits nowhere, or more than 64 bits
            continue
    return found


def mutated(data: EvaPacking, solution: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """Change a solution: merge, split or retype some of its instances."""
    names = [kind.name for kind in data.instance_types]
    groups = [[g["type"], g["count"], Counter(g["tasks"])] for g in solution["instances"]]
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(groups))
        kind, count, tasks = groups[at]
        move = draw.random()
        if move < 0.3:
            groups[at] = [draw.choice(names), count, tasks]
        elif move < 0.7 and len(groups) > 1:
            other = draw.choice([i for i in range(len(groups)) if i != at])
            if groups[other][1] == count:
                groups[at] = [
                    draw.choice((kind, groups[other][0], draw.choice(names))),
                    count,
                    tasks + groups[other][2],
                ]
                groups.pop(other)
        elif count > 1 and draw.random() < 0.5:
            part = draw.randint(2, min(count, 1_000))
            if count % part == 0:
                groups[at] = [kind, count // part, Counter({key: k * part for key, k in tasks.items()})]
        elif sum(tasks.values()) > 1:
            key = draw.choice(sorted(tasks))
            k = draw.randint(1, tasks[key])
            groups[at] = [kind, count, tasks - Counter({key: k})]
            groups.append([draw.choice(names), count, Counter({key: k})])
    return {"instances": [{"type": t, "count": n, "tasks": dict(on)} for t, n, on in groups]}


def attack(data: EvaPacking, seed: int, answers: int = ANSWERS) -> int:
    """Try to beat the bound of `exact`; how many answers the checker passed."""
    draw = random.Random(seed)
    options = Options(time_limit=0.5)
    heuristics = [f(data) for f in (full_reconfiguration, full_reconfiguration_first, no_packing)]
    known = (max if data.sense == "maximize" else min)(heuristics, key=lambda r: r.objective)
    results = [exact(data, options), exact(data, options, start=known.solution)]
    if data.objective == "cost" and sum(t.count for t in data.tasks) <= 8:
        with suppress(InputError):  # amounts that HiGHS cannot tell apart
            results.append(literal(data, options))
    bounds = [r.bound for r in results if r.bound is not None]
    for result in results:
        assert result.objective is None or not any(better(result.objective, b, data.sense) for b in bounds)
    proven = [r.objective for r in results if r.status == "optimal"]
    assert all(agree(value, proven[0]) for value in proven)
    assert not better(known.objective, results[1].objective, data.sense)
    pool = [r.solution for r in (*results, *heuristics) if r.solution is not None]
    passed = 0
    for _ in range(answers):
        solution = mutated(data, draw.choice(pool), draw)
        verdict = check(data, solution)
        if verdict.violations:
            continue
        passed += 1
        assert not any(better(verdict.objective, bound, data.sense) for bound in bounds), (verdict.objective, bounds)
        if len(pool) < 60:
            pool.append(solution)
    return passed


@pytest.mark.parametrize("objective", ["cost", "net-saving"])
def test_no_answer_beats_a_claimed_bound(objective):
    cases = instances(objective, range(sample(12, 24)))
    assert len(cases) >= 8
    passed = [attack(data, seed) for seed, data in enumerate(cases)]
    assert sum(passed) > ANSWERS // 10 * len(cases)
