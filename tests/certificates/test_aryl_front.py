"""Test certificates of reclaiming fronts against all choices of servers, by commands, and when forged."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from experiments.aryl.front import state_front
from experiments.verify import verify
from instances import CheckFailed, InputError, Instance, Options, save
from instances.aryl import ArylReclaim, check_reclaim
from instances.boa import figure_1
from instances.proofs import digest
from instances.proofs.aryl.front import (
    FrontProgram,
    FrontProofs,
    StatedFront,
    exact_loss,
    minimise_hours,
    minimise_jobs,
    prove_loss,
)
from models.aryl import pareto_front
from models.aryl.front_certificate import front_certificates
from models.core.derivation import certify
from tests.certificates.readings import HUGE
from tests.certificates.tampering import tampered_vipr
from tests.commands import call
from tests.sampling import sample

Content = dict[str, Any]


def several_jobs(seed: int) -> ArylReclaim:
    """Up to seven servers and seven jobs, of which some may lose a worker, with losses far apart."""
    rng = random.Random(seed)
    servers = [f"s{s}" for s in range(rng.randint(3, 7))]
    jobs = []
    for j in range(rng.randint(2, 7)):
        on = rng.sample(servers, rng.randint(1, 3))
        workers = {server: rng.randint(1, 3) for server in on}
        least = rng.randint(0, sum(workers.values()))
        hours = rng.choice([0.0, 0.5, 1.0, 2.25, 7.0, 40.0, 0.1])
        jobs.append({"id": f"j{j}", "servers": on, "workers": workers, "min_workers": least, "gpu_hours": hours})
    raw = {"servers": servers, "jobs": jobs, "reclaim": rng.randint(1, len(servers) - 1)}
    return ArylReclaim.model_validate(raw)


def best_choices(data: ArylReclaim) -> list[tuple[float, float]]:
    """Jobs and GPU-hours of all choices that no other beats in both."""
    found = set()
    for servers in combinations(data.servers, data.reclaim):
        chosen = {"servers": list(servers)}
        found.add(
            (
                check_reclaim(minimise_jobs(data), chosen).objective,
                check_reclaim(minimise_hours(data), chosen).objective,
            )
        )
    return sorted(p for p in found if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in found))


def proved(data: ArylReclaim, front: StatedFront | Any, texts: list[str]) -> str:
    proofs = FrontProofs(Instance.of(data, "small"))
    for text in texts:
        proofs.add(text)
    return proofs.see(json.loads(front.model_dump_json()) if isinstance(front, StatedFront) else front)


def made(data: ArylReclaim, name: str = "small") -> tuple[StatedFront, list[str]]:
    instance, front = Instance.of(data, name), pareto_front(data)
    certificates = front_certificates(data, front, Options())
    return state_front(instance, front, certificates), [proof.text for proof in certificates]


def test_every_front_is_proved_complete_and_is_that_of_enumeration():
    for seed in range(sample(60, 500)):
        data = several_jobs(seed)
        front, texts = made(data)
        assert proved(data, front, texts).endswith("complete")
        assert front.complete
        assert [(p.preempted_jobs, p.lost_gpu_hours) for p in front.points] == best_choices(data)
        assert all(p.bound_gpu_hours == p.lost_gpu_hours for p in front.points)


@pytest.fixture(scope="module")
def several() -> tuple[ArylReclaim, StatedFront, list[str]]:
    """Two of five servers go back; the more jobs are on one, the less they lose. A front of several points."""
    hours = ([64.0], [12.5, 12.5], [4.0, 4.0, 0.5], [1.0, 0.25, 0.25, 0.25], [0.1] * 5)
    jobs = [
        {"id": f"j{s}{i}", "servers": [f"s{s}"], "gpu_hours": lost}
        for s, on in enumerate(hours)
        for i, lost in enumerate(on)
    ]
    raw = {"servers": [f"s{s}" for s in range(5)], "jobs": jobs, "reclaim": 2}
    data = ArylReclaim.model_validate(raw)
    assert len(best_choices(data)) >= 4
    return data, *made(data)


def test_the_loss_of_the_program_is_whole_and_every_choice_is_a_point(several):
    data, front, _ = several
    for point in front.points:
        listed = FrontProgram(data, point.preempted_jobs)
        program = listed.program()
        assert all(c.denominator == 1 for c in program.objective.values())
        assert exact_loss(data, point.servers) == Fraction(repr(point.lost_gpu_hours))


def test_without_one_of_its_certificates_a_front_is_refused(several):
    data, front, texts = several
    for k in range(len(texts)):
        with pytest.raises(CheckFailed, match="is proved"):
            proved(data, front, texts[:k] + texts[k + 1 :])


FORGED: list[tuple[str, Callable[[Content], Any], str]] = [
    ("a point left out", lambda c: c | {"points": [c["points"][0], *c["points"][2:]]}, "complete: with at most"),
    ("the last left out", lambda c: c | {"points": c["points"][:-1]}, "complete: with any number"),
    ("the first left out", lambda c: c | {"points": c["points"][1:]}, "complete: that . jobs are the fewest"),
    ("a point twice", lambda c: c | {"points": [c["points"][0], *c["points"]]}, "must preempt more"),
    ("backwards", lambda c: c | {"points": c["points"][::-1]}, "must preempt more"),
    ("no point", lambda c: c | {"points": []}, "points: must not be empty"),
    ("fewer jobs", lambda c: first(c, preempted_jobs=0), "jobs: 0 are claimed"),
    ("less lost", lambda c: first(c, lost_gpu_hours=0.125), "hours: 0.125 are claimed"),
    ("stronger bound", lambda c: first(c, bound_gpu_hours=c["points"][0]["lost_gpu_hours"] * 1.001), "is claimed"),
    ("bound of another point", lambda c: last(c, bound_gpu_hours=c["points"][0]["bound_gpu_hours"]), "is claimed"),
    ("bound below 0", lambda c: first(c, bound_gpu_hours=-1), "must be >= 0"),
    ("huge bound", lambda c: first(c, bound_gpu_hours=int(HUGE)), "bound_gpu_hours: "),
    ("bound a text", lambda c: first(c, bound_gpu_hours="1"), "bound_gpu_hours: "),
    ("jobs a truth", lambda c: first(c, preempted_jobs=True), "preempted_jobs: "),
    ("jobs below 0", lambda c: first(c, preempted_jobs=-1), "preempted_jobs: "),
    ("servers of another point", lambda c: first(c, servers=c["points"][1]["servers"]), "are claimed"),
    ("a server twice", lambda c: first(c, servers=c["points"][0]["servers"] * 2), "named twice"),
    ("no server", lambda c: first(c, servers=[]), "0 servers are reclaimed"),
    ("another server", lambda c: first(c, servers=["nobody"]), "unknown server"),
    ("of another instance", lambda c: c | {"instance": "other"}, "instance: must be"),
    ("an unknown field", lambda c: c | {"proven": True}, "proven: unknown field"),
]


def first(content: Content, **changes: Any) -> Content:
    return content | {"points": [content["points"][0] | changes, *content["points"][1:]]}


def last(content: Content, **changes: Any) -> Content:
    return content | {"points": [*content["points"][:-1], content["points"][-1] | changes]}


@pytest.mark.parametrize(("hole", "forge", "said"), FORGED, ids=[hole for hole, _, _ in FORGED])
def test_a_forged_front_is_refused(hole: str, forge: Callable[[Content], Any], said: str, several):
    data, front, texts = several
    with pytest.raises((CheckFailed, InputError), match=said) as error:
        proved(data, forge(json.loads(front.model_dump_json())), texts)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("jobs", ["-1", "1/2", "1e3", "٣", "inf", "1" * 11, "", "G 1"])
def test_a_number_of_jobs_that_is_none_is_refused(jobs: str, several):
    data, _, texts = several
    with pytest.raises((CheckFailed, InputError)):
        prove_loss(data, re.sub(r"^jobs L \S+", f"jobs L {jobs}", texts[1], flags=re.MULTILINE))


def test_a_proof_for_other_numbers_of_jobs_is_refused(several):
    data, _, texts = several
    ((row, k),) = re.findall(r"^(jobs L (\d+) .*\n)", texts[1], re.MULTILINE)
    count = int(re.findall(r"^CON (\d+)", texts[1], re.MULTILINE)[0])
    assert prove_loss(data, texts[1]).jobs == int(k)
    named = texts[1].replace(row, row.replace("jobs", "rows"))
    gone = texts[1].replace(row, "").replace(f"CON {count}", f"CON {count - 1}")
    for text in (named, gone):
        with pytest.raises((CheckFailed, InputError)):
            prove_loss(data, text)


def test_a_proof_of_one_objective_is_none_of_the_other(several):
    data, front, texts = several
    swapped = [texts[0].replace(digest(minimise_jobs(data)), digest(minimise_hours(data))), *texts[1:]]
    with pytest.raises(CheckFailed):
        proved(data, front, swapped)
    swapped = [text.replace(digest(minimise_hours(data)), digest(minimise_jobs(data))) for text in texts]
    with pytest.raises(CheckFailed):
        proved(data, front, swapped)


@pytest.mark.parametrize("seed", range(24))
def test_a_tampered_proof_of_a_loss_is_refused_or_true(seed: int, several):
    data, front, texts = several
    place = 1 + seed % (len(texts) - 1)
    try:
        found = prove_loss(data, tampered_vipr(texts[place], seed))
    except (CheckFailed, InputError):
        return
    assert found.hours <= exact_loss(data, front.points[place - 1].servers)


def test_a_weaker_proof_makes_a_front_that_does_not_say_it_is_complete(several):
    data, front, texts = several
    listed = FrontProgram(data, front.points[1].preempted_jobs - 1)
    weak = certify(listed.data, listed.program(), None, Fraction(1), Options(effort=1)).text
    hours = float(prove_loss(data, weak).hours)
    some = [texts[0], weak, *texts[2:]]
    stated = json.loads(front.model_dump_json())
    if hours < front.points[0].lost_gpu_hours:
        with pytest.raises(CheckFailed, match="bound_gpu_hours"):
            proved(data, front, some)
    less = StatedFront.model_validate(first(stated, bound_gpu_hours=hours) | {"complete": False})
    assert proved(data, less, some).endswith("perhaps not complete")


def test_pareto_writes_a_front_that_verify_accepts(tmp_path, several, capsys):
    data, front, _ = several
    file, proofs = tmp_path / "small.json", tmp_path / "proofs"
    save(Instance.of(data, "small"), file)
    done = call("pareto", file, "--certificate", proofs, "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    names = ["fewest", *(f"{p.preempted_jobs}-jobs" for p in front.points)]
    assert sorted(p.name for p in proofs.iterdir()) == sorted(
        ["small.front.json", *(f"small.front.{n}.vipr" for n in names)]
    )
    assert StatedFront.model_validate_json((proofs / "small.front.json").read_bytes()) == front
    given = [proofs / f"small.front.{n}.vipr" for n in names]
    verify(file, proofs / "small.front.json", given[0], given[1:])
    points = len(front.points)
    assert capsys.readouterr().out == f"verified: small: a front of {points} points, complete\n"
    done = call("verify", file, proofs / "small.front.json", *given[:-1])
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


def test_only_a_front_has_more_than_one_certificate(tmp_path):
    boa = tmp_path / "boa.json"
    save(figure_1(1.5), boa)
    done = call("solve", boa, "--certificate", tmp_path / "proofs", "--quiet")
    assert done.returncode == 0, done.stderr
    result, proof = (tmp_path / "proofs" / f"figure-1-budget-1.5.exact.{end}" for end in ("json", "certificate.json"))
    with pytest.raises(InputError, match="a result has one certificate"):
        verify(boa, result, proof, [proof])
    (tmp_path / "front.json").write_text(json.dumps({"instance": "x", "points": [], "complete": True}))
    with pytest.raises(InputError, match="boa-allocation has no fronts"):
        verify(boa, tmp_path / "front.json", proof)
    done = call("pareto", boa, "--certificate", tmp_path / "other", "--points", "2")
    assert (done.returncode, done.stderr) == (2, "gapwise: --certificate: goes with aryl-reclaim, got boa-allocation\n")
