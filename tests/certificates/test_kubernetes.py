"""Test certificates of placements on tiny and on full clusters, and their rejections."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from instances import CheckFailed, InputError, Options, save
from instances import load as read_file
from instances.kubernetes import NodePlacement, build_two_halves, random_cluster
from instances.proofs import NoCertificate
from instances.proofs.certificate import NoSolution
from instances.proofs.kubernetes import prove_consolidation, prove_placement
from models.core.linear_program import LinearProgram, Optimum
from models.kubernetes import exact, exact_consolidation
from models.kubernetes.certificate import certificate
from models.kubernetes.consolidation_certificate import certificate as certify_consolidation
from tests.commands import call
from tests.consolidation_cases import small_cluster
from tests.kubernetes_cases import fewest, tiny
from tests.sampling import sample

FOUND = Path(__file__).parents[1] / "attacks" / "found"


def written(data: NodePlacement) -> dict[str, Any]:
    result = exact(data, Options(gap=0.0))
    bound = math.inf if result.bound is None else result.bound
    found: dict[str, Any] = json.loads(certificate(data, result.solution, bound, Options()).text)
    return found


@pytest.mark.parametrize("seed", range(sample(60, 500)))
def test_a_certificate_never_proves_more_than_brute_force_finds(seed: int):
    data = tiny(seed)
    best = fewest(data)
    try:
        proven = prove_placement(data, json.dumps(written(data)))
    except NoCertificate:
        assert best is None  # and a linear program does not see it
        return
    assert isinstance(proven, NoSolution) == (best is None)
    assert best is None or proven.bound <= best


@pytest.mark.parametrize(
    ("load", "planted", "how"), [(0.97, True, "integer duals"), (1.02, False, "weights of resources")]
)
def test_a_cluster_has_its_fewest_moves_proven_or_that_it_has_no_placement(load: float, planted: bool, how: str):
    data = random_cluster(20, 1, load=load, planted=planted).data
    proven = prove_placement(data, json.dumps(written(data)))
    assert (proven.how, isinstance(proven, NoSolution)) == (how, not planted)
    if planted:
        assert proven.bound == Fraction(exact(data).objective)


def three_on_two(**changes: Any) -> NodePlacement:
    """Three pods of three fifths of a node and one of a fifth on two nodes: all of them take less than both have."""
    node = {"capacity": {"cpu": 5}}
    return NodePlacement.model_validate(
        {
            "resources": ["cpu"],
            "nodes": [{"name": "a"} | node, {"name": "b"} | node],
            "pods": [{"name": "x", "count": 3, "demand": {"cpu": 3}}, {"name": "y", "count": 1, "demand": {"cpu": 1}}],
        }
        | changes
    )


def test_more_than_totals_say_that_there_is_no_placement():
    data = three_on_two()
    found = written(data)
    assert found["bound"] is None
    assert "duals" in found
    assert isinstance(prove_placement(data, json.dumps(found)), NoSolution)


NONE: list[tuple[dict[str, Any], str]] = [
    # the first four say of clusters with a placement that there is none, with figures that follow from one another
    ({"scale": 0, "pods": [1, 0], "nodes": [0, 0]}, "worth 1, more than 0"),
    ({"scale": 0, "pods": [5, 0], "nodes": [5, 0]}, "worth 5, more than 0"),
    ({"scale": 1, "pods": [9, 2], "nodes": [9, 8]}, r"duals.nodes\[0\].*more than 9"),
    ({"scale": 0, "pods": [3, 1], "nodes": [3, 3]}, "worth 5, more than 3"),
    ({"scale": 0, "pods": [1, 0], "nodes": [1, 1]}, "no placement is claimed, the certificate proves 0 moves"),
    ({"scale": 0, "pods": [0, 0], "nodes": [0, 0]}, "no placement is claimed"),
    ({"scale": 1 << 61, "pods": [1, 1], "nodes": [4, 4]}, "no placement is claimed"),
    ({"scale": 0, "pods": [1], "nodes": [0, 0]}, "of each pod entry and each node"),
    ({"scale": 0, "pods": [1, 0], "nodes": [1]}, "of each pod entry and each node"),
    ({"scale": 0, "pods": [1, 0], "nodes": [1, 1, -1]}, "greater than or equal to 0|>= 0"),
    ({"scale": 0, "pods": [1.5, 0], "nodes": [1, 1]}, "integer"),
    ({"scale": 0, "pods": [1, 0], "nodes": [True, 0]}, "integer"),
]


@pytest.mark.parametrize(("duals", "why"), NONE)
def test_that_there_is_no_placement_is_not_believed_where_there_is_one(duals: dict[str, Any], why: str):
    """Two such pods have a place. What says that three have none does not say it of these."""
    data = three_on_two(pods=[{"name": p, "count": n, "demand": {"cpu": d}} for p, n, d in (("x", 2, 3), ("y", 4, 1))])
    assert exact(data).objective == 0
    true = written(three_on_two())
    whole = {**true, "instance": written(data)["instance"]}
    with pytest.raises((CheckFailed, InputError)):
        prove_placement(data, json.dumps(whole))
    with pytest.raises((CheckFailed, InputError), match=why):
        prove_placement(data, json.dumps(whole | {"duals": duals}))


def _changed(found: dict[str, Any], **changes: Any) -> str:
    return json.dumps(found | {"duals": found["duals"] | changes})


def test_what_is_forged_is_refused():
    data = build_two_halves().data
    found = written(data)
    duals = found["duals"]
    assert prove_placement(data, json.dumps(found)).bound == 1
    dearer = [y * 2 for y in duals["pods"]]
    for text in (
        json.dumps(found | {"bound": 2}),
        json.dumps(found | {"bound": None}),
        _changed(found, pods=dearer),
        _changed(found, nodes=[0, 0]),
        _changed(found, scale=0),
        _changed(found, pods=duals["pods"][:1]),
        json.dumps({name: value for name, value in found.items() if name != "duals"}),
        json.dumps(found | {"weights": [[1, 1], [1, 1]]}),
        json.dumps(
            {name: v for name, v in found.items() if name != "duals"} | {"weights": [[1, 1]] * 2, "bound": None}
        ),
    ):
        with pytest.raises(CheckFailed):
            prove_placement(data, text)
    for text in ("[]", _changed(found, nodes=[-1, 0]), json.dumps(found | {"instance": "0"})):
        with pytest.raises(InputError):
            prove_placement(data, text)


def test_that_there_is_no_placement_is_certified_and_verified_by_the_commands(tmp_path: Path):
    for name, load, planted, said in (
        ("full", 1.02, False, "no solution; weights of resources"),
        ("planted", 0.97, True, "objective"),
    ):
        instance = random_cluster(12, 3, load=load, planted=planted)
        save(instance, tmp_path / f"{name}.json")
        call("solve", tmp_path / f"{name}.json", "--certificate", tmp_path / name, "--out", tmp_path / "out", "--quiet")
        proof = next((tmp_path / name).glob("*certificate.json"))
        result = next(path for path in (tmp_path / name).glob("*.json") if path != proof)
        done = call("verify", tmp_path / f"{name}.json", result, proof)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout
        if name == "full":
            proof.write_text(json.dumps(json.loads(proof.read_text()) | {"weights": [[0, 0, 0]] * 12}))
            refused = call("verify", tmp_path / f"{name}.json", result, proof)
            assert refused.returncode == 1
            assert "not less than" in refused.stderr


@pytest.mark.parametrize("seed", [None, *range(sample(4, 100))])
def test_a_proof_needs_no_dual_ray(seed: int | None, monkeypatch: pytest.MonkeyPatch):
    """HiGHS may call a node infeasible without a ray, or with one that proves nothing in rational numbers."""
    data = read_file(FOUND / "consolidation-a-ray-of-rows-far-apart.json").data if seed is None else small_cluster(seed)
    result = exact_consolidation(data)
    if result.status != "optimal":
        return
    if seed is not None:
        solve = LinearProgram.solve_or_refute

        def without_ray(program: LinearProgram, seconds: float = math.inf) -> Optimum | None:
            found = solve(program, seconds)
            return found if isinstance(found, Optimum) else None

        monkeypatch.setattr(LinearProgram, "solve_or_refute", without_ray)
    made = certify_consolidation(data, result.solution, result.bound, Options())
    assert float(prove_consolidation(data, made.text).bound) == pytest.approx(result.bound)
