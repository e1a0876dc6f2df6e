"""Test that SIA's proofs are as strong in VIPR as in JSON, by two checkers and enumeration."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from instances import CheckFailed, InputError, Options, save
from instances.eva import table_3
from instances.proofs import NoCertificate
from instances.proofs.sia import prove_local, prove_oracle
from instances.sia import Job, Pool, SiaOracle, five_jobs, synthetic
from models.sia import exact
from models.sia.certificate import certify_by_multipliers, local_certificate
from models.sia.local_exact import local_exact
from models.sia.parameters import DEFAULTS, OracleParameters
from models.sia.price_derivation import convert_to_vipr
from tests.attacks.small import oracle
from tests.certificates.tampering import tampered_vipr
from tests.certificates.vipr_check import Checker
from tests.commands import call
from tests.sampling import sample
from tests.sia_cases import schedules
from tests.sia_local_cases import crowded
from tests.sia_optima import best_local, best_oracle, count_schedules, local_cutoffs

FEW = Options(effort=200)
BRANCHING = replace(
    DEFAULTS, cut_patience=1, cut_patience_gain=1e9, max_node_cuts=0, max_new_cuts=0
)  # a tree without cuts
MANY, FEW_SCHEDULES = 20_000, 2_000  # schedules that are gone through


def dense(seed: int) -> SiaOracle:
    """Up to nine jobs that are in each other's way, in whole pairs of GPUs for some seeds."""
    rng = random.Random(seed)
    unit = rng.choice((1, 1, 2))
    pools = [Pool(name=f"p{i}", gpus=unit * rng.randint(2, 6)) for i in range(rng.randint(1, 3))]
    jobs = []
    for k in range(rng.randint(4, 9)):
        pool = rng.choice(pools)
        width, submit = unit * rng.randint(1, pool.gpus // unit), rng.randint(0, 4)
        jobs.append(Job(id=f"j{k}", pool=pool.name, submit=submit, duration=rng.randint(1, 5), gpus=width))
    return SiaOracle(slot_minutes=1.0, pools=tuple(pools), jobs=tuple(jobs))


def seen_by_both(text: str, slots: int) -> Fraction:
    """Return the bound in slots, by the checker that knows no instance."""
    return Fraction(Checker(text).check().split()[-1]) * slots


@pytest.mark.parametrize("parameters", [DEFAULTS, BRANCHING], ids=["cuts", "trees"])
@pytest.mark.parametrize("build", [lambda seed: oracle(seed).data, dense], ids=["few jobs", "dense"])
def test_prices_in_vipr_prove_what_they_prove_in_json(build: Callable[[int], SiaOracle], parameters: OracleParameters):
    parts = Counter[str]()
    for seed in range(sample(20, 1_000)):
        data = build(seed)
        result = exact(data, FEW)
        made = certify_by_multipliers(data, result.solution, result.bound, FEW, parameters)
        written, content = convert_to_vipr(data, made.text, result.solution), json.loads(made.text)
        proven = prove_oracle(data, written.text).bound
        assert proven == written.bound == seen_by_both(written.text, content["slots"]) >= made.bound, seed
        if schedules(data) <= FEW_SCHEDULES and (best := best_oracle(data)) is not None:
            assert proven <= best, seed
        parts["cuts"] += sum("divisor" in row for row in content["rows"])
        parts["touching"] += sum("touching" in row for row in content["rows"])
        parts["stages"] += len(content["stages"])
        parts["branches"] += sum("branch" in node for node in content["nodes"])
    assert parts["stages"] > 10
    if build is dense:
        wanted = ("branches",) if parameters is BRANCHING else ("cuts", "touching")
        assert min(parts[part] for part in wanted) > 2, parts


def test_prices_of_the_delay_without_locality_are_proved_on_servers():
    above = 0
    for seed in range(sample(25, 600)):
        data = crowded(seed, 4)
        result = local_exact(data, FEW)
        made = local_certificate(data, result.solution, result.bound, FEW)
        if made.kind == "vipr":
            continue
        written = convert_to_vipr(data, made.text, result.solution)
        proven = prove_local(data, written.text).bound
        assert proven == written.bound == seen_by_both(written.text, json.loads(made.text)["slots"]) >= made.bound
        if count_schedules(data, local_cutoffs(data)) <= MANY:
            assert proven <= best_local(data), seed
        above += proven > 0
    assert above > 1


@pytest.fixture(scope="module")
def written() -> tuple[SiaOracle, Fraction, str]:
    """Return a quarter of a day whose proof has cuts, stages and a tree."""
    data = synthetic("base", 6, days=0.25, slot_minutes=5.0).data
    result = exact(data, FEW)
    made = certify_by_multipliers(data, result.solution, result.bound, FEW, replace(BRANCHING, max_new_cuts=300))
    assert '"divisor"' in made.text
    assert '"branch"' in made.text
    return data, Fraction(result.objective), convert_to_vipr(data, made.text, result.solution).text


def test_a_derivation_that_is_tampered_with_proves_nothing_false(written):
    data, optimum, text = written
    assert prove_oracle(data, text).bound == optimum > 0
    refused = 0
    for seed in range(sample(12, 400)):
        try:
            assert prove_oracle(data, tampered_vipr(text, seed)).bound <= optimum
        except (CheckFailed, InputError):
            refused += 1
    assert refused > sample(8, 300)


@pytest.mark.parametrize(
    ("pattern", "by", "said"),
    [
        (r"^d0 L (\d+) OBJ \{ asm \}", r"d0 L -\1 OBJ { asm }", "do not cover|follow"),  # another reach below
        (r"^d1 G (\d+) OBJ \{ asm \}", r"d1 G 1\1 OBJ { asm }", "do not cover|follow"),  # and above
        (r"\{ uns (\d+) (\d+) (\d+) (\d+) \} -1\n\Z", r"{ lin 1 \1 1 } -1\n", "assumptions|follow"),
        (r"\{ uns (\d+) (\d+) (\d+) (\d+) \} -1\n\Z", r"{ uns \3 \4 \3 \4 } -1\n", "do not cover|assumptions|follow"),
        (r"^RTP range (\d+)", r"RTP range 1\1", "does not prove|no solution|SOL"),
    ],
)
def test_a_forged_derivation_of_prices_is_refused(written, pattern: str, by: str, said: str):
    data, _, text = written
    forged, count = re.subn(pattern, by, text, count=1, flags=re.MULTILINE)
    assert count == 1
    with pytest.raises((CheckFailed, InputError), match=said):
        prove_oracle(data, forged)


def test_too_many_starts_have_no_program():
    jobs = tuple(Job(id=f"j{k}", pool="p", submit=0, duration=1, gpus=1, latest_start=7_000) for k in range(3))
    data = SiaOracle(slot_minutes=1.0, pools=(Pool(name="p", gpus=1),), jobs=jobs)
    result = exact(data, FEW)
    made = certify_by_multipliers(data, result.solution, result.bound, FEW)
    with pytest.raises(NoCertificate, match="21,003 starts, more than 20,000"):
        convert_to_vipr(data, made.text, result.solution)


def test_the_command_writes_both_and_verifies_both(tmp_path: Path):
    for name, instance in (("five", five_jobs()), ("table", table_3())):
        save(instance, tmp_path / f"{name}.json")
    five, table, proofs = tmp_path / "five.json", tmp_path / "table.json", tmp_path / "proofs"
    done = call("solve", five, table, "--certificate", proofs, "--vipr", "--quiet")
    assert done.returncode == 0
    assert "not in VIPR: eva-packing is proved without a program, in JSON alone" in done.stderr
    names = ["sia-five-jobs.exact.certificate.json", "sia-five-jobs.exact.json", "sia-five-jobs.exact.vipr"]
    assert sorted(path.name for path in proofs.glob("sia*")) == names
    for name in (names[0], names[2]):
        seen = call("verify", five, proofs / names[1], proofs / name)
        assert seen.stdout.startswith("verified: sia-five-jobs: objective 3.0 slots, bound 3.0"), seen.stderr
    done = call("solve", five, "--vipr")
    assert (done.returncode, done.stderr) == (2, "gapwise: --vipr: goes with --certificate, whose proofs it writes\n")
