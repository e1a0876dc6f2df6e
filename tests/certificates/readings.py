"""Build small instances of every certified problem, each with a certificate and an independent optimum."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from experiments.harness.entry import select_by_name
from experiments.harness.user_functions import resolve
from experiments.papers import CERTIFIERS, METHODS
from instances import CheckFailed, InputError, Instance, Options, ProblemData, check, conclude
from instances.aryl import ArylPlacement
from instances.proofs import NoCertificate
from instances.proofs.verify import read_result, see_bound, see_result
from instances.reading import parse_json
from instances.registry import PROBLEMS
from instances.result import Answer
from tests.aryl_cases import best_mean_jct, best_reduction, fewest_preemptions, least_cost
from tests.attacks.small import allocation, elastic, oracle, packing, reclaim
from tests.boa_cases import real_widths
from tests.boa_optima import best_paths
from tests.certificates.second.checker import proves
from tests.certificates.second.reading import Refused
from tests.consolidation_cases import least_cost as least_cost_of_nodes
from tests.consolidation_cases import small_cluster
from tests.eva_cases import best_packing
from tests.eva_constrained_cases import FIELDS, best_by_enumeration, random_constrained
from tests.eva_rounds import best_by_brute_force, small_round
from tests.kubernetes_cases import fewest, tiny
from tests.sia_cases import schedules
from tests.sia_local_cases import crowded
from tests.sia_optima import best_local, best_oracle, count_schedules, local_cutoffs

HUGE = "1" + "0" * 400
EFFORT = Options(effort=200)
FEW = 20_000  # schedules that are gone through
Build = Callable[[int], ProblemData]
Optimum = Callable[[Any], float | None] | None


def solve(data: ProblemData) -> Any:
    """Solve `data` with the exact method."""
    (exact,) = select_by_name(METHODS[data.problem], "exact")
    return resolve(exact.target)(data, EFFORT)


def certify(data: ProblemData, solution: Any, bound: float) -> Any:
    """Build a certificate as `solve --certificate` does."""
    return resolve(CERTIFIERS[data.problem])(data, solution, bound, EFFORT)


def lost_hours(seed: int) -> ProblemData:
    """Reclaiming by the work that is lost."""
    rng = random.Random(seed)
    raw = reclaim(seed).data.model_dump()
    for job in raw["jobs"]:
        job["gpu_hours"] = rng.choice([0.5, 1.0, 2.25, 40.0])
        job["workers"] = {server: rng.randint(1, 3) for server in job["servers"]}
        job["min_workers"] = rng.randint(0, sum(job["workers"].values()))
    return PROBLEMS["aryl-reclaim"].data.model_validate(raw | {"objective": "lost-gpu-hours"})


def placement(seed: int) -> ArylPlacement:
    """Up to three servers and two jobs."""
    rng = random.Random(seed)
    servers = []
    for i in range(rng.randint(1, 3)):
        gpus = rng.randint(2, 8)
        servers.append({"id": f"s{i}", "kind": rng.choice(["training", "loaned"]), "gpus": gpus})
        servers[-1]["free_gpus"] = rng.choice([gpus, rng.randint(0, gpus)])
    jobs = []
    for i in range(rng.randint(1, 2)):
        grows = rng.random() < 0.5
        job = {"id": f"j{i}", "gpus_per_worker": rng.randint(1, 4), "base_workers": rng.randint(1, 2), "elastic": grows}
        kinds = rng.choice([["training"], ["loaned"], ["training", "loaned"]])
        jobs.append(job | {"flexible_workers": rng.randint(0, 2) if grows else 0, "kinds": kinds})
    return ArylPlacement.model_validate({"servers": servers, "jobs": jobs})


def fair_schedule(seed: int) -> ProblemData:
    """Draw a problem whose objective includes fairness."""
    rng = random.Random(seed)
    return oracle(seed, rng.choice((0.3, 1.5)), rng.choice(("all-use", "above-share"))).data


def least_local_delay(data: Any) -> float | None:
    """Compute the minimum delay on servers by enumeration, `None` if there are too many schedules."""
    return best_local(data) if count_schedules(data, local_cutoffs(data)) <= FEW else None


def least_delay(data: Any) -> float | None:
    """Compute the minimum delay by enumeration, `None` if there are too many schedules."""
    return best_oracle(data) if schedules(data) <= FEW else None


def most_worth(data: Any) -> float:
    """Return the checker's objective of an optimal round, after comparing it with brute force."""
    best, found = best_by_brute_force(data), check(data, solve(data).solution).objective
    assert found == pytest.approx(best, rel=1e-9, abs=1e-9)
    return found


READINGS: dict[str, tuple[Build, Optimum]] = {
    "eva cost": (lambda s: packing(s).data, best_packing),
    "eva cost, constraints": (lambda s: random_constrained(s, FIELDS, "cost"), best_by_enumeration),
    "eva net saving": (lambda s: packing(s, "net-saving").data, best_packing),
    "eva net saving, constraints": (lambda s: random_constrained(s, FIELDS, "net-saving"), best_by_enumeration),
    "eva round": (small_round, most_worth),
    "boa continuous": (lambda s: allocation(s, rescale=False, widths="continuous").data, None),
    "boa two types": (lambda s: allocation(s, types=2, rescale=False).data, None),
    "boa integer": (lambda s: allocation(s, rescale=False).data, best_paths),
    "boa integer, rescaling": (lambda s: allocation(s).data, best_paths),
    "boa two types, rescaling": (lambda s: allocation(s, types=2).data, best_paths),
    "boa real widths": (lambda s: real_widths(s), None),
    "boa real widths, two types": (lambda s: real_widths(s, types=2), None),
    "aryl jct reduction": (lambda s: elastic(s, "jct-reduction").data, best_reduction),
    "aryl mean jct": (lambda s: elastic(s, "mean-jct").data, best_mean_jct),
    "aryl reclaim": (lambda s: reclaim(s).data, fewest_preemptions),
    "aryl reclaim, lost hours": (lost_hours, fewest_preemptions),
    "aryl placement": (placement, least_cost),
    "node consolidation": (small_cluster, least_cost_of_nodes),
    "sia oracle": (lambda s: oracle(s).data, least_delay),
    "sia oracle, fairness": (fair_schedule, least_delay),
    "sia local oracle": (lambda s: crowded(s, 4), least_local_delay),
    "placements": (tiny, fewest),
}


@dataclass(frozen=True)
class Case:
    """An instance with its result, a certificate, and the `optimum`."""

    instance: Instance[Any]
    result: str
    certificate: str
    optimum: float

    @property
    def vipr(self) -> bool:
        return not self.certificate.startswith("{")

    def beyond(self, bound: Fraction) -> bool:
        """Return whether a bound is false: beyond the optimum by more than rounding of its float."""
        room = Fraction(abs(self.optimum)) / 10**12 + Fraction(1, 10**18)
        off = bound - Fraction(self.optimum)
        return off > room if self.instance.data.sense == "minimize" else -off > room

    def outcome(self, result: str | None = None, certificate: str | None = None) -> str:
        """Return the outcome of `verify` on the files: "refused", "true" or "false". Other errors pass through."""
        try:
            claimed = read_result(parse_json(self.result if result is None else result))
            see_result(self.instance, claimed)
            seen = see_bound(self.instance, claimed, self.certificate if certificate is None else certificate)
        except (InputError, CheckFailed) as error:
            if "\n" in str(error):
                raise AssertionError(f"more than one line: {error}") from error
            return "refused"
        return "false" if self.beyond(seen.proven) or self.beyond(Fraction(repr(seen.bound))) else "true"

    def proves(self, certificate: str) -> str:
        """As `outcome`, of a certificate by itself, whatever the result claims; `verify` ends in one line as well."""
        self.outcome(certificate=certificate)
        try:
            proven = PROBLEMS[self.instance.problem].prove(self.instance.data, certificate)
        except (InputError, CheckFailed, NoCertificate):
            return "refused"
        return "false" if self.beyond(proven.bound) else "true"


@cache
def case(reading: str, seed: int) -> Case | None:
    """Build the case of a seed, `None` if it has no solution."""
    build, best = READINGS[reading]
    data = build(seed)
    found = solve(data)
    if found.solution is None or found.bound is None:
        return None
    made = certify(data, found.solution, found.bound)
    bound = weaker(made.bound, data.sense)
    checked = conclude(data, "exact", Answer(found.solution, bound), Options(gap=0.5), kind="exact")
    optimum = best(data) if best else None
    instance = Instance.of(data, f"{reading} {seed}")
    result = checked.model_copy(update={"instance": instance.name}).model_dump_json()
    return Case(instance, result, made.text, checked.objective if optimum is None else optimum)


def weaker(bound: Fraction, sense: str) -> float:
    """Weaken a bound, so that a certificate that proves slightly less is accepted."""
    room = abs(bound) / 10 + Fraction(1, 10**9)
    return float(bound - room if sense == "minimize" else bound + room)


def cases(reading: str, count: int) -> list[Case]:
    """Return the first `count` cases of a reading."""
    found: list[Case] = []
    for seed in range(20 * count):
        made = case(reading, seed)
        if made is not None:
            found.append(made)
        if len(found) == count:
            break
    return found


def telling(reading: str) -> Case:
    """Return the first case of a reading whose certificate can be forged."""
    made = cases(reading, 16 if reading.startswith("eva cost") else 6)
    if reading.startswith("eva cost"):  # a tree of one node: small instances are proven by totals more often
        return next(c for c in made if '"children": [' not in c.certificate and '"leaf"' in c.certificate)
    return next((c for c in made if c.optimum > 0 and len(c.certificate) > 400), made[0])


def refused(data: Any, text: str) -> str:
    """Return the one-line refusal of a certificate; the second checker of JSON must refuse it, too."""
    with pytest.raises((CheckFailed, InputError, NoCertificate)) as error:
        PROBLEMS[data.problem].prove(data, text)
    if text.startswith("{"):
        with pytest.raises(Refused):
            proves({"problem": data.problem, "data": data.model_dump(mode="json")}, text)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500
    return str(error.value)
