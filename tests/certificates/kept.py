"""Tamper with certificates of the library: `python -m tests.certificates.kept [COUNT] [SEED]`.

The repository holds certificates of worst cases whose optima are recorded. A changed one is rejected in one line, or
its bound is true: not beyond the optimum. Prints every accepted one with its bound.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction

from experiments.harness.records import read_records
from experiments.worst_cases.library import certificate_of, worst_sets
from instances import CheckFailed, InputError, Instance
from instances.proofs import NoCertificate
from instances.registry import PROBLEMS
from tests.certificates.mutants import mutant
from tests.certificates.readings import Case
from tests.certificates.tampering import tampered_json, tampered_vipr


def kept() -> list[Case]:
    """Return the instances with their certificates and optima; their results do not matter here."""
    known = read_records()
    found = []
    for instance in (instance for s in worst_sets() for instance in s.instances):
        file, optimum = certificate_of(instance), known[instance.problem, instance.name].objective
        assert file is not None
        assert optimum is not None
        found.append(Case(instance, "{}", file.read_text(), optimum))
    return found


def proven(instance: Instance, text: str) -> Fraction | None:
    """Return the bound that a certificate proves, `None` if it is refused; other errors pass through."""
    prove = PROBLEMS[instance.problem].prove
    assert prove is not None
    try:
        return prove(instance.data, text).bound
    except (InputError, CheckFailed, NoCertificate) as error:
        if "\n" in str(error):
            raise AssertionError(f"more than one line: {error}") from error
        return None


def run(count: int, seed: int, report: Callable[[str], None]) -> Counter[str]:
    """How many of `count` are refused, prove something true, or something false; a number off by one, or anything."""
    cases, total = kept(), Counter[str]()
    for i in range(count):
        case = cases[i * 7 % len(cases)]
        off = tampered_vipr if case.vipr else tampered_json
        number = seed * count + i
        text = off(case.certificate, number) if i % 2 else mutant(case.certificate, random.Random(number))
        if text == case.certificate:
            total["unchanged"] += 1
            continue
        bound = proven(case.instance, text)
        outcome = "refused" if bound is None else "false" if case.beyond(bound) else "true"
        total[outcome] += 1
        if bound is not None:
            report(f"{case.instance.name}, {i}: {outcome}: {float(bound)!r} is proved, {case.optimum!r} is the optimum")
    return total


if __name__ == "__main__":
    numbers = [int(number) for number in sys.argv[1:]]
    outcomes = run(*(numbers + [300, 0][len(numbers) :]), lambda line: print(line, flush=True))
    print(f"{outcomes.total()} certificates: {dict(outcomes)}")
    sys.exit(min(1, outcomes["false"]))
