"""Compare `verify` with a verifier of Eva's cost that was written from the page on certificates alone."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from instances import CheckFailed, InputError, ProblemData
from instances.eva import EvaPacking, caprara_toth, distinct_tasks, table_3, table_7
from instances.proofs import NoCertificate
from instances.registry import PROBLEMS
from tests.certificates.mutants import mutant
from tests.certificates.readings import READINGS, certify, solve
from tests.certificates.second_verifier import Packing, plain, verify
from tests.certificates.tampering import at, places

CONSTRAINED = READINGS["eva cost, constraints"][0]
SEEDS = (0, 1, 3, 4, 6, 8, 9, 10)  # of constrained instances that have a packing
PLACES = 6  # numbers and entries of a certificate that are changed


def price_list(seed: int) -> EvaPacking:
    """Draw tasks for two families of types, whose amounts are odd because nodes reserve some of them."""
    rng = random.Random(seed)
    types = [
        {"name": f"{f}{n}", "family": f, "capacity": {"cpu": 4000 * n - 75, "ram": r * n - 1469}, "usd_per_hour": p * n}
        for f, r, p in (("c", 8192, 0.34), ("m", 16384, 0.4))
        for n in (1, 4, 16)
    ]
    demands = [{"cpu": 25 * rng.randint(4, 40), "ram": rng.randint(100, 4000)} for _ in range(4)]
    tasks = [{"workload": f"w{i}", "count": rng.randint(2, 5), "demand": {"default": d}} for i, d in enumerate(demands)]
    return EvaPacking.model_validate(
        {"resources": ["cpu", "ram"], "instance_types": types, "tasks": tasks, "objective": "cost"}
    )


def large_numbers(seed: int) -> EvaPacking:
    """Draw tasks for types with so many CPUs that the certificate has surrogate cover inequalities."""
    rng = random.Random(seed)
    sizes = {"g1": (1, 8, 3.0), "g4": (4, 32, 10.0), "c8": (0, 123456789.123456789, 0.7)}
    types = [
        {"name": name, "family": name[0], "capacity": {"gpu": gpu, "cpu": cpu}, "usd_per_hour": price}
        for name, (gpu, cpu, price) in sizes.items()
    ]
    demands = [{"gpu": gpu, "cpu": rng.randint(2, 6)} for gpu in (1, 1, 0, 0)]
    tasks = [{"workload": f"w{i}", "count": rng.randint(1, 5), "demand": {"default": d}} for i, d in enumerate(demands)]
    return EvaPacking.model_validate(
        {"resources": ["gpu", "cpu"], "instance_types": types, "tasks": tasks, "objective": "cost"}
    )


DRAWN: dict[str, ProblemData] = {
    "table 3": table_3().data,
    **{f"table 7, {n} tasks": table_7(n, seed=n).data for n in (5, 8)},
    **{f"distinct tasks, {n}": distinct_tasks(n, seed=n).data for n in (4, 6)},
    **{f"vector packing, class {c}": caprara_toth(c, 8, seed=c).data for c in (1, 6, 9)},
    **{f"price list {seed}": price_list(seed) for seed in range(3)},
    **{f"large numbers {seed}": large_numbers(seed) for seed in range(1)},
    **{f"constraints {seed}": CONSTRAINED(seed) for seed in SEEDS},
}


@cache
def texts(name: str) -> tuple[str, str]:
    """Return an instance and its certificate."""
    data = DRAWN[name]
    found = solve(data)
    instance = json.dumps({"problem": data.problem, "data": data.model_dump(mode="json")})
    return instance, certify(data, found.solution, found.bound).text


def bounds(name: str, certificate: str) -> tuple[Fraction | None, Fraction | None]:
    """Return the bounds that both verifiers find, `None` for a refusal."""
    try:
        ours = PROBLEMS["eva-packing"].prove(DRAWN[name], certificate).bound
    except (CheckFailed, InputError, NoCertificate):
        ours = None
    try:
        second = verify(texts(name)[0], certificate)
    except (ValueError, TypeError, RecursionError):
        second = None
    return ours, second


def changed(text: str, rng: random.Random) -> Iterator[str]:
    """Change numbers by one, drop entries, swap neighbours and enlarge bounds."""

    def change(place: tuple[Any, ...], value: Any) -> str:
        content = json.loads(text)
        at(content, place[:-1])[place[-1]] = value
        return json.dumps(content)

    content = json.loads(text)
    every = places(content)
    for place in rng.sample(every, min(PLACES, len(every))):
        old = at(content, place)
        if isinstance(old, int):
            yield change(place, old + 1)
            yield change(place, old - 1)
        if isinstance(old, list):
            yield change(place, old[1:])
            yield change(place, [*old[1:2], *old[:1], *old[2:]])
        if isinstance(old, dict):
            yield change(place, dict(list(old.items())[1:]))
    for place in every:
        if place[-1] == "bound":
            old = Fraction(at(content, place))
            yield change(place, str(old + 1) if isinstance(at(content, place), str) else int(old) + 1)
    yield from (mutant(text, rng) for _ in range(PLACES))


@pytest.mark.parametrize("name", DRAWN)
def test_both_verifiers_accept_a_certificate_with_the_same_bound(name: str) -> None:
    ours, second = bounds(name, texts(name)[1])
    assert ours is not None
    assert ours == second


def test_the_certificates_are_of_every_kind() -> None:
    kinds = Counter(kind for name in DRAWN for kind in ("leaf", "totals", "branch") if f'"{kind}"' in texts(name)[1])
    assert set(kinds) == {"leaf", "totals", "branch"}, kinds


@pytest.mark.parametrize("name", DRAWN)
def test_both_verifiers_agree_on_mutants(name: str) -> None:
    for text in changed(texts(name)[1], random.Random(name)):
        ours, second = bounds(name, text)
        assert ours == second, text


@pytest.mark.parametrize("name", [name for name in DRAWN if name.startswith(("price", "large", "constraints"))])
def test_both_verifiers_agree_on_forged_covers(name: str) -> None:
    rng = random.Random(name)
    instance, certificate = (json.loads(text) for text in texts(name))
    text = json.dumps(plain(instance["data"]))
    packing = Packing(json.loads(text, parse_float=lambda amount: round(Fraction(amount) * 10**9)))
    for _ in range(PLACES):
        weights = [[rng.randint(0, 4) for _ in rooms] for _, _, rooms in packing.types]
        searched = rng.sample(packing.kinds, rng.randrange(2))
        cover = {"weights": weights, "divisor": rng.randint(10**4, 10**12), "tasks": None, "searched": searched}
        bound = rng.randrange(certificate["bound"] + 1)
        forged = certificate | {"bound": bound, "nodes": [{"totals": {"covers": [cover], "bound": bound}}]}
        ours, second = bounds(name, json.dumps(forged))
        assert ours == second, forged
