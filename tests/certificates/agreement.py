"""Compare both JSON checkers: `python -m tests.certificates.agreement [COUNT] [SEED]`.

Of certificates as they are, changed at random, tampered with and forged, COUNT of each reading. Prints a row a reading,
and every certificate of which the two say something else. A search that is given up says nothing.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction

from instances import CheckFailed, InputError, Instance, dump
from instances.proofs import NoCertificate
from instances.proofs.certificate import NoSolution
from instances.registry import PROBLEMS
from tests.certificates.forging import FORGERS, forged
from tests.certificates.kept import kept
from tests.certificates.mutants import CASES, mutant
from tests.certificates.readings import READINGS, Case, cases, certify, solve
from tests.certificates.second.boa import rounded
from tests.certificates.second.checker import proves
from tests.certificates.second.reading import GaveUp, Refused
from tests.certificates.tampering import tampered_json
from tests.kubernetes_cases import tiny

Opinion = Fraction | str


def first(case: Case, text: str) -> Opinion:
    """Return the bound that `verify` proves, or the reason if there is none: "refused", or "given up"."""
    prove = PROBLEMS[case.instance.problem].prove
    assert prove is not None
    try:
        proven = prove(case.instance.data, text)
    except NoCertificate:
        return "given up"
    except (CheckFailed, InputError):
        return "refused"
    return "no solution" if isinstance(proven, NoSolution) else proven.bound


def second(case: Case, text: str) -> Opinion:
    """Return the bound that the second checker proves, or the reason if there is none."""
    try:
        found = proves(dump(case.instance), text)
    except GaveUp:
        return "given up"
    except Refused:
        return "refused"
    return "no solution" if found is None else found


def both(case: Case, text: str) -> str:
    """Return the common outcome of the two checkers, or both outcomes if they differ."""
    one, other = first(case, text), second(case, text)
    if one == other:
        return one if isinstance(one, str) else "accepted"
    if "given up" in (one, other):
        return "given up by one"
    if one == "refused" and isinstance(other, Fraction) and rounds(case) and not case.beyond(other):
        return "rounded otherwise"
    return f"{one} against {other}"


AGREED = ("refused", "accepted", "no solution", "given up", "given up by one", "rounded otherwise")


def rounds(case: Case) -> bool:
    """Return whether bounds rest on roots, powers or searches, which each rounds in its own way: either is true."""
    data = case.instance.data
    return data.problem == "boa-allocation" and (data.real or rounded(data.model_dump(mode="json")))


def attacked(reading: str, made: list[Case], count: int, seed: int) -> Iterator[tuple[Case, str]]:
    """Certificates of a reading: as they are, then so many that are not."""
    for case in made:
        yield case, case.certificate
    for i in range(count):
        rng = random.Random(f"{reading} {seed} {i}")
        case, kind = made[i % len(made)], i // len(made) % 3
        if kind == 2 and reading in FORGERS:
            try:
                yield case, forged(case, FORGERS[reading], rng)
            except (CheckFailed, InputError, NoCertificate):
                continue
        elif kind == 1:
            yield case, tampered_json(case.certificate, rng.getrandbits(30))
        else:
            yield case, mutant(case.certificate, rng)


def unplaceable(count: int) -> list[Case]:
    """Pods that have no placement, with the certificates of that."""
    found: list[Case] = []
    for seed in range(40 * count):
        data = tiny(seed)
        if len(found) < count and solve(data).status == "infeasible":
            text = certify(data, None, math.inf).text
            found.append(Case(Instance.of(data, f"no placement {seed}"), "{}", text, math.inf))
    return found


def run(count: int, seed: int, report: Callable[[str], None], most: int = CASES) -> Counter[str]:
    """How many certificates come to what."""
    total = Counter[str]()
    own = {"worst cases": [case for case in kept() if not case.vipr], "no placement": unplaceable(most)}
    for reading in [*READINGS, *own]:
        made = own.get(reading) or cases(reading, most)
        made = [case for case in made if not case.vipr]
        if not made:
            continue
        outcomes, begun = Counter[str](), time.process_time()
        for case, text in attacked(reading, made, count, seed):
            found = both(case, text)
            outcomes[found if found in AGREED else "disagreed"] += 1
            if found not in AGREED:
                report(f"{case.instance.name}: {found}: {text[:3000]}")
        report(f"{reading}: {dict(outcomes)}, {time.process_time() - begun:.1f} CPU s")
        total += outcomes
    return total


if __name__ == "__main__":
    numbers = [int(number) for number in sys.argv[1:]]
    outcomes = run(*(numbers + [300, 0][len(numbers) :]), lambda line: print(line, flush=True))
    print(f"{outcomes.total()} certificates: {dict(outcomes)}")
    sys.exit(min(1, outcomes["disagreed"]))
