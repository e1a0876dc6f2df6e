"""Test certificates of Eva's rounds against brute force, and with wrong or missing duals."""

from __future__ import annotations

import random
import re
from fractions import Fraction
from itertools import product

import pytest

from instances import CheckFailed, InputError, Options, check
from instances.eva import EvaReconfiguration, random_round
from instances.proofs import NoCertificate
from instances.proofs.eva import prove_reconfiguration
from instances.proofs.eva.round_program import (
    ClassedRound,
    RoundDuals,
    RoundProgram,
    add_duals,
    format_duals,
    read_duals,
)
from models.core.derivation import certify
from models.eva.reconfiguration import exact_reconfiguration
from models.eva.round_certificate import certificate
from tests.certificates.tampering import tampered_vipr
from tests.eva_rounds import best_by_brute_force, small_round
from tests.sampling import few, sample

FEW = Options(effort=200)
MANY = Fraction(10**6)


def test_every_round_is_proved_and_is_that_of_brute_force():
    for seed in range(sample(40, 400)):
        data = small_round(seed)
        best, result = best_by_brute_force(data), exact_reconfiguration(data)
        made = certificate(data, result.solution, result.bound, FEW)
        assert prove_reconfiguration(data, made.text).bound == made.bound
        assert float(made.bound) == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert made.bound >= Fraction(result.objective) - Fraction(1, 10**12)


def dear(round_: ClassedRound) -> RoundDuals:
    """Duals that pay so much for a task that no content is worth more."""
    return RoundDuals(
        (MANY,) * len(round_.members), (Fraction(0),) * len(round_.groups), (Fraction(0),) * len(round_.rows)
    )


def test_duals_that_pay_anything_leave_every_content_that_is_of_use():
    """At a reach that nothing falls short of, the program is that of all contents: the literal one."""
    for seed in range(sample(12, 100)):
        data = small_round(seed)
        round_ = ClassedRound(data)
        duals = dear(round_)
        listed = RoundProgram(round_, duals, round_.pay(duals) - 100 * MANY)
        every = list(product(*(range(n + 1) for n in round_.count)))
        for g, group in enumerate(round_.groups):
            assert {p for h, p in listed.own if h == g} == {p for p in every if round_.holds(group.kind, p)}
        for content in every:
            kinds = [k for k in round_.cheapest if any(content) and round_.holds(k, content)]
            if not kinds:
                continue
            most = max(round_.net_of_new(k, content) for k in kinds)
            apart = sum(n * usd for n, usd in zip(content, listed.alone, strict=True))
            kept = listed.fresh.get((round_.kind_of_new(content), content))
            assert kept == (most if sum(content) == 1 or most > apart else None)


def test_a_round_is_a_point_of_the_program_at_its_worth():
    for seed in range(sample(40, 200)):
        data = small_round(seed)
        round_, solution = ClassedRound(data), exact_reconfiguration(data).solution
        duals = dear(round_)
        listed = RoundProgram(round_, duals, round_.pay(duals) - 100 * MANY)
        program, point = listed.program(), listed.point(solution)
        assert all(row.holds(point) for row in program.rows)
        assert float(program.value(point)) == pytest.approx(check(data, solution).objective, abs=1e-12)


def test_wild_duals_and_any_reach_prove_nothing_false():
    """All that follows is stated right; accepted, it must be true."""
    rng, seen = random.Random(5), 0
    for seed in range(sample(60, 1000)):
        data = small_round(rng.randrange(400))
        round_, best = ClassedRound(data), exact_reconfiguration(data).objective
        scale = rng.choice([1, 7, 1 << 20, 10**30])

        def wild(low: float, high: float, scale: int = scale) -> Fraction:
            return Fraction(round(rng.uniform(low, high) * scale), scale)

        size = rng.choice([0.5, 3.0, 100.0])
        duals = RoundDuals(
            tuple(wild(-size / 4, size) for _ in round_.members),
            tuple(wild(-size, size) for _ in round_.groups),
            tuple(wild(0, size / 4) for _ in round_.rows),
        )
        reach = Fraction(best).limit_denominator(10**9) + rng.choice([0, 0, 1, -1]) * wild(0, 1)
        head = {"reach": str(reach)}
        try:
            listed = RoundProgram(round_, duals, reach)
            made = certify(data, listed.program(), None, reach, Options(effort=30), head, listed.numbers)
        except (CheckFailed, NoCertificate):
            continue
        text = add_duals(made.text, duals, scale)
        assert prove_reconfiguration(data, text).bound >= Fraction(best) - Fraction(1, 10**9), seed
        seen += 1
    assert seen >= sample(10, 200)


@pytest.fixture(scope="module")
def proof():
    """Return a round of 8 tasks in jobs of two, some of them on several instances, and its proof."""
    data = random_round(8, 1, tasks_per_job=2).data
    result = exact_reconfiguration(data)
    return data, certificate(data, result.solution, result.bound, Options())


@pytest.mark.parametrize("seed", few(range(24), 6))
def test_a_tampered_proof_is_refused(seed: int, proof):
    data, made = proof
    with pytest.raises((CheckFailed, InputError)):
        prove_reconfiguration(data, tampered_vipr(made.text, seed))


def changed(data: EvaReconfiguration, text: str, part: str, place: int, usd: Fraction) -> str:
    """Return the file with a dual of another size."""
    _, duals = read_duals(ClassedRound(data), "0", text)
    some = list(getattr(duals, part))
    some[place] += usd
    stated = format_duals(RoundDuals(**{**vars(duals), part: tuple(some)}), 1 << 40)
    return re.sub("% duals .*", f"% duals {stated}", text)


def test_duals_are_no_more_believed_than_other_numbers(proof):
    data, made = proof
    for part, usd, said in (
        ("tasks", Fraction(-1, 1 << 20), "worth more than they pay"),
        ("tasks", Fraction(-(10**6)), "worth more than they pay|pay no more"),
        ("tasks", Fraction(10**6), "variables|CON|NoCert|contents"),
        ("groups", Fraction(-1, 1 << 20), "worth more than they pay"),
        ("groups", Fraction(-(10**9)), "pay no more"),
        ("kept", Fraction(10**3), "worth more than they pay"),
        ("kept", Fraction(-(10**3)), "below 0"),
    ):
        with pytest.raises((CheckFailed, NoCertificate), match=said):
            prove_reconfiguration(data, changed(data, made.text, part, 0, usd))


DUALS = [
    ("", "duals: must be a scale"),
    ("1:", "duals: must be a scale"),
    ("0:1,2", "duals: must be a scale"),
    ("1:1,,2", "duals: must be a scale"),
    ("-1:1,2", "duals: must be a scale"),
    ("1:1/2", "duals: must be a scale"),
    ("1:1e9", "duals: must be a scale"),
    ("1:٣", "duals: must be a scale"),
    ("1:nan", "duals: must be a scale"),
    ("1:" + "9" * 41, "duals: must be a scale"),
    ("1:0", "duals: 1 are stated"),
    ("1:" + ",".join("0" * 10_000), "duals: 10000 are stated"),
    ("1:0\n% duals 1:0", "duals: named twice"),
]


@pytest.mark.parametrize(("stated", "said"), DUALS)
def test_duals_that_are_none_are_refused(stated: str, said: str, proof):
    data, made = proof
    with pytest.raises((CheckFailed, InputError), match=said) as error:
        prove_reconfiguration(data, re.sub("% duals .*", f"% duals {stated}", made.text))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("reach", ["", "inf", "1/0", "٣", "1e9", "1" * 101, "--1", "1 \n% reach 2"])
def test_a_reach_that_is_none_is_refused(reach: str, proof):
    data, made = proof
    with pytest.raises(InputError, match="reach: "):
        prove_reconfiguration(data, re.sub("% reach .*", f"% reach {reach}", made.text))


def test_another_reach_makes_another_program_or_a_weaker_bound(proof):
    data, made = proof
    (line,) = [line for line in made.text.splitlines() if line.startswith("% reach ")]
    reach = Fraction(line.split()[2])
    near = prove_reconfiguration(data, made.text.replace(line, f"% reach {reach - Fraction(1, 10**9)}"))
    assert near.bound == made.bound
    for other in (-reach, Fraction(-(10**9))):
        with pytest.raises((CheckFailed, NoCertificate)):
            prove_reconfiguration(data, made.text.replace(line, f"% reach {other}"))
    with pytest.raises(CheckFailed, match="pay no more"):
        prove_reconfiguration(data, made.text.replace(line, f"% reach {10**9}"))


def test_a_proof_of_another_round_is_refused(proof):
    data, made = proof
    for change in ({"horizon_hours": 0.25}, {"existing": data.existing[1:]}, {"throughput": None}):
        with pytest.raises(InputError, match="of another instance"):
            prove_reconfiguration(type(data).model_validate({**data.model_dump(), **change}), made.text)


def test_a_round_without_a_solution_has_no_certificate(proof):
    with pytest.raises(NoCertificate, match="begins from a solution"):
        certificate(proof[0], None, 10.0, FEW)


def test_a_proof_that_a_limit_cuts_off_proves_less():
    data = random_round(40, 1).data
    result = exact_reconfiguration(data)
    made = certificate(data, result.solution, result.bound, Options(effort=3))
    assert prove_reconfiguration(data, made.text).bound == made.bound
    assert float(made.bound) > result.bound * (1 + 1e-6)
