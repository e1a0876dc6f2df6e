"""Forge certificates whose figures agree with the verifier's: `python -m tests.certificates.forging`.

A mutant is mostly refused because a sum is off. These are not: weights, units, prices, rows and duals are drawn wildly,
and what follows from them is written down as the verifier's own functions say. Accepted, they must prove a true bound.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from instances import CheckFailed, InputError
from instances.proofs import NoCertificate, digest
from instances.proofs.boa.certificate import lagrangian
from instances.proofs.boa.run_proof import RunBounds
from instances.proofs.boa.unit_network import Units, fastest, shortest, unit_network
from instances.proofs.eva.certificate import Branch, Packing
from instances.proofs.sia import EXCLUDED, SCALE, Charges, Delays, PriceProof, Shape
from tests.certificates.readings import Case, cases

Content = dict[str, Any]


def wild(rng: random.Random, most: int = 62) -> int:
    """Draw an integer >= 0 of at most so many bits, usually next to a power of 2."""
    bits = rng.randrange(most)
    return rng.choice(
        [rng.randrange(4), (1 << bits) - rng.randrange(2), (1 << bits) + rng.randrange(3), rng.getrandbits(bits + 1)]
    )


def units(case: Case, rng: random.Random) -> Content:
    """Whole widths, in units of any size, at any price."""
    data = case.instance.data
    made = Units(
        rng.randrange(64), rng.randrange(128), 1 + wild(rng, 40) % (1 << 40), rng.choice([0, 0, wild(rng, 60)])
    )
    network = unit_network(data, made)
    length = shortest(network)
    bound: int | None = max(0, -(-(length - made.price * network.budget) // made.scale))
    closed = rng.random() < 0.8
    if closed:
        near = int(case.optimum * 2**made.time)
        bound = fastest(network, rng.choice([near, near + 1, 2 * near, wild(rng)]))
    if bound is None:
        raise NoCertificate("no policy is so fast")
    content = {"time_bits": made.time, "cost_bits": made.cost, "scale": made.scale, "price": made.price}
    return {"kind": "units", **content, "shortest": length, "bound": bound, "closed": closed}


def convex(case: Case, rng: random.Random) -> Content:
    """Forge a Lagrangian certificate at any multiplier."""
    price = rational(rng)
    return {"kind": "lagrangian", "price": str(price), "bound": str(lagrangian(case.instance.data, price))}


def rational(rng: random.Random) -> Fraction:
    """Draw a multiplier of any size."""
    return rng.choice([Fraction(0), Fraction(wild(rng), 1 + wild(rng)), Fraction(wild(rng, 800), 1 + wild(rng, 800))])


def runs(case: Case, rng: random.Random) -> Content:
    """Real widths: leaves at any price, below no branch or one of any kind."""
    data, price = case.instance.data, rational(rng)
    bounds = RunBounds(data)
    bound = bounds.at(price, ())
    return {"kind": "runs", "bound": str(bound), "nodes": [{"price": str(price), "bound": str(bound)}]}


def duals(case: Case, rng: random.Random) -> Content:
    """Forge a packing certificate: leaves with any duals at any scale, below no branch or one."""
    packing = Packing(case.instance.data)
    nodes: list[Content] = [{}]
    decided: list[tuple[Any, ...]] = [packing.limits]
    if rng.random() < 0.5:
        kinds = range(len(packing.price))
        of = tuple(rng.sample(list(kinds), rng.randint(1, len(kinds))))
        kind = rng.choice(["instances", "spent", "placed"])
        tasks = tuple(rng.sample(range(len(packing.count)), 1)) if kind == "placed" else ()
        branch = Branch(kind=kind, of=of, tasks=tasks, amount=wild(rng, 62 if rng.random() < 0.2 else 4))
        decided = [(*packing.limits, side) for side in packing.sides(branch)]
        nodes = [{"branch": branch.model_dump(), "children": [1, 2]}]
    bounds = []
    size = rng.choice([2, 8, 40, 60])
    scale = 1 + wild(rng, size)
    for decisions in decided:
        part = scale * min(packing.price) // rng.choice([1, 2, 3, 8])
        tasks = [rng.choice([0, wild(rng, size), part, part]) for _ in packing.count]
        weighed = [(d, rng.choice([0, 0, part, wild(rng, size)])) for d in decisions]
        value, mu = packing.value(tasks, weighed), packing.worths(tasks, weighed)[1]
        least = {"scale": scale, "tasks": tasks, "decisions": [y for _, y in weighed], "types": mu}
        nodes.append({"leaf": {**least, "bound": str(Fraction(value, scale))}})
        bounds.append(packing.bound(scale, value))
    return {"unit": packing.unit, "bound": min(bounds), "nodes": nodes if len(nodes) == 3 else nodes[1:]}


def priced(case: Case, rng: random.Random) -> Content:
    """SIA: rows of any divisor at any prices, and any reach."""
    delays = Delays(case.instance.data)
    charges, rows = Charges(delays), []
    jobs = range(len(delays.gpus))
    reach = rng.choice(
        [wild(rng), int(case.optimum) // delays.slots, int(case.optimum) // delays.slots + rng.randrange(3)]
    )
    for _ in range(rng.randint(0, 4)):
        content: Content = {"first": rng.randrange(-2, 12), "divisor": rng.choice([0, 0, 1 + wild(rng, 4), wild(rng)])}
        content["last"] = content["first"] + rng.choice([0, 0, 1, 2, 5])
        content["jobs"] = sorted(rng.sample(jobs, rng.randint(0, len(jobs)))) if content["divisor"] else []
        if rng.random() < 0.3:
            content["touching"] = rng.choice(jobs)
        shape = Shape(**content)
        while (narrower := delays.narrower(shape)) is not None:
            shape = narrower
        counted = delays.count_starts(shape)
        charges.rows.append(counted)
        rows.append(shape.model_dump() | {"limit": counted.limit, "starts": counted.starts})
    open_ = np.ones(len(charges.delay), dtype=bool)
    size = rng.choice([3, 21, 30, 61])
    stages: list[Content] = []
    nodes: list[Content]
    for _ in range(rng.randint(1, 3)):
        stated = tuple((k, wild(rng, size)) for k in range(len(rows)) if rng.random() < 0.8)
        least, spent, excess = charges.of(open_, stated)
        stages.append(PriceProof(prices=stated, least=least, spent=spent).model_dump())
        bound = least - spent
        left = open_ & (excess <= min(max((reach - 1) * SCALE - bound, -1), EXCLUDED))
        some = np.logical_or.reduceat(left, delays.offset[:-1])
        if not some.all():
            nodes, proven = [{"without": int(some.argmin())}], reach
            break
        open_ = left
    else:
        nodes, proven = [{"prices": stages.pop()}], min(reach, -(-bound // SCALE))
    return {"slots": delays.slots, "reach": reach, "rows": rows, "stages": stages, "nodes": nodes, "bound": proven}


FORGERS: dict[str, Callable[[Case, random.Random], Content]] = {
    "boa continuous": convex,
    "boa two types": convex,
    "boa integer": units,
    "boa integer, rescaling": units,
    "boa two types, rescaling": units,
    "boa real widths": runs,
    "boa real widths, two types": runs,
    "eva cost": duals,
    "eva cost, constraints": duals,
    "sia oracle": priced,
}


def forged(case: Case, forger: Callable[[Case, random.Random], Content], rng: random.Random) -> str:
    """Forge a certificate with the head of a true one. Raises what the verifier's functions raise."""
    data = case.instance.data
    head = {"gapwise_certificate": 1, "problem": data.problem, "instance": digest(data)}
    return json.dumps(head | forger(case, rng))


def run(readings: Sequence[str], count: int, seed: int, report: Callable[[str], None]) -> Counter[str]:
    """Return the outcomes of `count` forgeries of each reading."""
    total = Counter[str]()
    for reading in readings:
        made, outcomes = cases(reading, 6), Counter[str]()
        for i in range(count):
            rng = random.Random(f"{reading} {seed} {i}")
            case = made[i % len(made)]
            try:
                text = forged(case, FORGERS[reading], rng)
            except (CheckFailed, InputError, NoCertificate):
                outcomes["refused"] += 1
                continue
            outcomes[outcome := case.proves(text)] += 1
            if outcome == "false":
                report(f"{case.instance.name}, forgery {i}: {text[:2000]}")
        report(f"{reading}: {dict(outcomes)}")
        total += outcomes
    return total


def main(count: int, seed: int) -> int:
    """Print the rows. Returns 1 where a false bound was accepted."""
    total = run(list(FORGERS), count, seed, lambda line: print(line, flush=True))
    print(f"{total.total()} forgeries: {dict(total)}")
    return int(total["false"] > 0)


if __name__ == "__main__":
    sys.exit(main(*(int(number) for number in [*sys.argv[1:], *("200", "0")[len(sys.argv) - 1 :]])))
