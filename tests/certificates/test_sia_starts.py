"""Test certificates of SIA with fairness or locality against enumeration, and when forged."""

from __future__ import annotations

import json
import random
from fractions import Fraction

import pytest

from instances import CheckFailed, InputError, Options, check
from instances.proofs import NoCertificate, digest
from instances.proofs.sia import prove_local, prove_oracle
from instances.proofs.sia.start_program import StartProgram
from instances.sia import Job, LocalJob, Pool, SiaLocalOracle, SiaOracle, five_jobs, six_jobs, synthetic
from models.core.derivation import certify
from models.sia import exact
from models.sia.certificate import certificate, local_certificate
from models.sia.local_exact import local_exact
from tests.certificates.tampering import tampered_vipr
from tests.sampling import few, sample
from tests.sia_local_cases import crowded
from tests.sia_optima import best_local, best_oracle, count_schedules, cutoffs, local_cutoffs

MANY = 4_000  # schedules that are not gone through
FEW = Options(effort=300)


def fair(seed: int) -> SiaOracle:
    """Draw a few jobs in steps of one to three slots; own cut-offs may lie between steps."""
    rng = random.Random(seed)
    step = rng.choice((1, 2, 3))
    pools = tuple(Pool(name=f"p{i}", gpus=rng.randint(1, 4)) for i in range(rng.randint(1, 3)))
    jobs = []
    for k in range(rng.randint(1, 4)):
        pool = rng.choice(pools)
        submit, duration = step * rng.randint(0, 3), step * rng.randint(1, 3)
        latest = submit + rng.randint(0, 5) if rng.random() < 0.4 else None
        width = rng.randint(1, pool.gpus)
        jobs.append(Job(id=f"j{k}", pool=pool.name, submit=submit, duration=duration, gpus=width, latest_start=latest))
    return SiaOracle(
        slot_minutes=1.0,
        pools=pools,
        jobs=tuple(jobs),
        fairness_weight=rng.choice((0.1, 0.7, 1.3, 4.0)),
        fair_share=rng.choice(("all-use", "above-share")),
    )


def crossed(seed: int, step: int) -> SiaLocalOracle:
    """Jobs on servers, in steps of so many slots."""
    data = crowded(seed, 4)
    jobs = [j.model_copy(update={"submit": step * j.submit, "duration": step * j.duration}) for j in data.jobs]
    return SiaLocalOracle.model_validate({**data.model_dump(), "jobs": tuple(jobs)})


def huge(seed: int, fairness_weight: float) -> SiaOracle:
    """Draw a few jobs on about 10^9 GPUs, whose widths have no common divisor."""
    rng = random.Random(seed)
    pools = tuple(Pool(name=name, gpus=5 * 10**8 - rng.randrange(1000)) for name in "ab")
    jobs = tuple(
        Job(
            id=f"j{k}",
            pool=rng.choice("ab"),
            submit=rng.randint(0, 3),
            duration=rng.randint(1, 6),
            gpus=rng.randint(1, pools[0].gpus - 1000),
        )
        for k in range(rng.randint(3, 5 if fairness_weight else 9))
    )
    return SiaOracle(slot_minutes=5.0, pools=pools, jobs=jobs, fairness_weight=fairness_weight)


def by_starts(data: SiaLocalOracle) -> str:
    """Prove by the program of starts, even if multipliers suffice."""
    starts, found = StartProgram(data), local_exact(data)
    program = starts.program()
    point = starts.point(found.solution)
    return certify(data, program, point, Fraction(found.objective) / starts.slots, FEW).text


def test_every_schedule_with_fairness_is_proved_and_is_that_of_enumeration():
    seen = 0
    for seed in range(sample(75, 2_000)):
        data = fair(seed)
        if count_schedules(data, cutoffs(data)) > MANY or (best := best_oracle(data)) is None:
            continue
        result = exact(data)
        made = certificate(data, result.solution, result.bound, FEW)
        proven = prove_oracle(data, made.text).bound
        assert proven == made.bound
        assert best * (1 - Fraction(1, 10**6)) <= proven <= best, seed
        seen += 1
    assert seen > sample(35, 1_000)


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_the_optimum_on_a_billion_gpus_is_proved(weight: float):
    for seed in range(sample(10, 300)):
        data = huge(seed, weight)
        found = exact(data)
        proof = certificate(data, found.solution, found.objective, Options(effort=2_000))
        assert float(prove_oracle(data, proof.text).bound) == pytest.approx(found.objective, rel=1e-9), seed


def test_every_schedule_on_servers_is_proved_and_is_that_of_enumeration():
    seen = 0
    for seed in range(sample(40, 300)):
        data = crossed(seed, 1 + seed % 3)
        if count_schedules(data, local_cutoffs(data)) > MANY:
            continue
        best, result = best_local(data), local_exact(data)
        assert prove_local(data, by_starts(data)).bound == best
        made = local_certificate(data, result.solution, result.bound, FEW)
        assert prove_local(data, made.text).bound == made.bound == best
        seen += 1
    assert seen > sample(15, 100)


def test_a_schedule_is_a_point_of_the_program_at_its_objective():
    for seed in range(sample(60, 400)):
        data = fair(seed)
        result = exact(data)
        if result.solution is None:
            continue
        starts = StartProgram(data)
        program, point = starts.program(), starts.point(result.solution)
        if point is not None:
            assert all(row.holds(point) for row in program.rows)
            assert float(program.value(point) * starts.slots) == check(data, result.solution).objective


@pytest.fixture(scope="module")
def proofs():
    """Twelve jobs with fairness, and the six jobs on servers, whose delay prices do not prove."""
    data = synthetic("base", 4, days=0.15, slot_minutes=5.0, fairness_weight=0.7).data
    result, local = exact(data), six_jobs().data
    solved = local_exact(local)
    return (
        (data, result, certificate(data, result.solution, result.bound, Options()), prove_oracle),
        (local, solved, local_certificate(local, solved.solution, solved.bound, Options()), prove_local),
    )


def test_both_keep_their_optimum(proofs):
    for data, result, made, prove in proofs:
        assert made.kind == "vipr"
        assert prove(data, made.text).bound == made.bound
        assert float(made.bound) == pytest.approx(result.objective, rel=1e-9)


@pytest.mark.parametrize("seed", few(range(24), 8))
def test_a_tampered_proof_is_refused(seed: int, proofs):
    for data, _, made, prove in proofs:
        with pytest.raises((CheckFailed, InputError)):
            prove(data, tampered_vipr(made.text, seed))


def test_a_proof_of_other_data_under_its_digest_is_refused(proofs):
    """The program is built anew, so that a digest that is put in the place of another does not help."""
    (data, _, made, _), (local, _, on_servers, _) = proofs
    for change in (
        {"fairness_weight": 0.8},
        {"fair_share": "above-share"},
        {"pools": (data.pools[0].model_copy(update={"gpus": data.pools[0].gpus + 1}), *data.pools[1:])},
        {"jobs": data.jobs[1:]},
    ):
        other = SiaOracle.model_validate({**data.model_dump(), **change})
        with pytest.raises(InputError, match="of another instance"):
            prove_oracle(other, made.text)
        with pytest.raises(CheckFailed, match=r"not th|the instance has"):
            prove_oracle(other, made.text.replace(digest(data), digest(other)))
    more = SiaLocalOracle.model_validate({**local.model_dump(), "pools": (*local.pools, Pool(name="more", gpus=8))})
    with pytest.raises(CheckFailed, match=r"not th|the instance has"):
        prove_local(more, on_servers.text.replace(digest(local), digest(more)))


def test_a_proof_with_fairness_and_one_without_are_not_taken_for_each_other(proofs):
    data, _, made, _ = proofs[0]
    plain = SiaOracle.model_validate({**data.model_dump(), "fairness_weight": 0.0})
    with pytest.raises(CheckFailed, match="variables: not those of the instance"):
        prove_oracle(plain, made.text.replace(digest(data), digest(plain)))
    result = exact(plain)
    prices = certificate(plain, result.solution, result.bound, Options())
    with pytest.raises(InputError, match="VER"):
        prove_oracle(data, prices.text.replace(digest(plain), digest(data)))


def test_prices_of_a_delay_on_any_gpus_prove_no_more_on_servers(proofs):
    """Of the six jobs they prove 3 slots of 6."""
    local, result, _, _ = proofs[1]
    alone = exact(local.without_locality)
    text = certificate(local.without_locality, alone.solution, alone.bound, Options()).text
    with pytest.raises(InputError, match="problem: must be sia-local-oracle"):
        prove_local(local, text)
    named = json.loads(text) | {"problem": local.problem, "instance": digest(local)}
    assert prove_local(local, json.dumps(named)).bound == 3 < result.objective
    for claim in (6, 4, 1 << 61):
        with pytest.raises(CheckFailed):
            prove_local(local, json.dumps(named | {"bound": claim, "reach": max(claim, named["reach"])}))


def test_a_quarter_of_a_day_on_servers_is_proved_by_prices():
    data = SiaLocalOracle.of(synthetic("base", 3, days=0.25).data)
    result = local_exact(data)
    made = local_certificate(data, result.solution, result.bound, Options())
    assert (made.kind, made.how.endswith("without locality")) == ("json", True)
    assert prove_local(data, made.text).bound == made.bound == result.objective


def test_too_many_starts_have_no_certificate():
    far = SiaOracle(
        slot_minutes=1.0,
        pools=(Pool(name="p", gpus=1),),
        jobs=(Job(id="a", pool="p", submit=0, duration=1, gpus=1, latest_start=10**9),),
        fairness_weight=1.0,
    )
    with pytest.raises(NoCertificate, match="starts, more than"):
        certificate(far, {"starts": {"a": 0}}, 0.0, FEW)
    with pytest.raises(NoCertificate, match="starts, more than"):
        prove_oracle(far, "")
    raw = five_jobs().data.model_dump() | {"fairness_weight": 1.0}
    for i, job in enumerate(raw["jobs"]):
        job["duration"] += 10**7 if i else 1
    with pytest.raises(NoCertificate, match="more than"):
        StartProgram(SiaOracle.model_validate(raw))


def test_jobs_on_one_server_each_are_numbered_in_order():
    jobs = tuple(LocalJob(id=f"j{k}", pool="p", submit=0, duration=2, gpus=8) for k in range(3))
    data = SiaLocalOracle(slot_minutes=1.0, pools=(Pool(name="p", gpus=24),), jobs=jobs)
    starts = StartProgram(data)
    point = starts.point({"starts": {"j0": 0, "j1": 0, "j2": 0}, "servers": {"j0": 2, "j1": 0, "j2": 1}})
    assert all(row.holds(point) for row in starts.program().rows)
    assert {(j, s) for j, s, _ in starts.place} == {(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)}
