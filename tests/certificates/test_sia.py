"""Test certificates of SIA's oracle against enumeration, and that tampered proofs fail."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instances import CheckFailed, InputError, Options
from instances.proofs import NoCertificate
from instances.proofs.sia import SCALE, Delays, Shape, prove_oracle
from instances.sia import Job, Pool, SiaOracle, five_jobs, synthetic
from instances.sia.arrays import slot_arrays
from models.sia import exact
from models.sia.certificate import certify_by_multipliers
from tests.certificates.tampering import tampered_json
from tests.sampling import few, sample


def made(data: SiaOracle):
    result = exact(data)
    return result, certify_by_multipliers(data, result.solution, result.bound, Options())


@st.composite
def oracles(draw) -> SiaOracle:
    pools = tuple(Pool(name=f"p{i}", gpus=draw(st.integers(1, 6))) for i in range(draw(st.integers(1, 2))))
    times = st.integers(1, 3).map(lambda t: 2 * t)
    jobs = []
    for k in range(draw(st.integers(1, 5))):
        pool = draw(st.sampled_from(pools))
        submit, duration, gpus = draw(times), draw(times), draw(st.integers(1, pool.gpus))
        jobs.append(Job(id=f"j{k}", pool=pool.name, submit=submit, duration=duration, gpus=gpus))
    return SiaOracle(slot_minutes=1.0, pools=pools, jobs=tuple(jobs))


def least_delay(data: SiaOracle) -> int:
    """Compute the minimum delay by enumeration of all starts."""
    arrays = slot_arrays(data)
    windows = [range(a, b + 1) for a, b in zip(arrays.submit.tolist(), arrays.cutoff.tolist(), strict=True)]
    starts = (np.array(choice) for choice in product(*windows))
    return min(arrays.delay(t) for t in starts if arrays.peak(t) <= arrays.capacity)


@settings(max_examples=sample(20, 60), deadline=None)
@given(oracles())
def test_the_certificate_proves_the_optimum_of_small_instances(data):
    _, found = made(data)
    assert prove_oracle(data, found.text).bound == found.bound == least_delay(data)


@pytest.fixture(scope="module")
def proofs():
    datas = [five_jobs().data, *(synthetic("base", seed, days=1, slot_minutes=5.0).data for seed in (1, 18))]
    return [(data, *made(data)) for data in datas]


def test_a_tree_over_starts_proves_what_the_relaxation_with_cuts_does_not(proofs):
    data, result, found = proofs[1]
    content = json.loads(found.text)
    assert result.status == "optimal"
    assert float(found.bound) == result.objective
    assert len(content["nodes"]) > 1
    root = content["nodes"][0]["prices"]
    assert (root["least"] - root["spent"]) / SCALE <= result.objective - 1
    assert prove_oracle(data, found.text).how == f"multipliers of rows, in a tree of {len(content['nodes'])} nodes"


@pytest.mark.parametrize("seed", few(range(200), 40))
def test_a_tampered_proof_is_refused(seed: int, proofs):
    data, _, found = proofs[seed % 3]
    with pytest.raises((CheckFailed, InputError)):
        prove_oracle(data, tampered_json(found.text, seed // 3))


def test_a_limit_leaves_a_proof_of_less(proofs):
    data, result, _ = proofs[1]
    found = certify_by_multipliers(data, result.solution, result.bound, Options(effort=1))
    assert prove_oracle(data, found.text).bound == found.bound
    assert 0 < found.bound < result.bound


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"instance": "2:0"}, "of another instance"),
        ({"problem": "eva-packing"}, "problem: must be sia-oracle"),
        ({"gapwise_certificate": 2}, "gapwise: must be 1, got 2"),
        ({"slots": 0}, "slots: must be >= 1, got 0"),
        ({"nodes": []}, "nodes"),
        ({"more": 1}, "more: unknown field"),
    ],
)
def test_what_is_no_such_certificate_is_refused_in_one_line(proofs, change: dict[str, object], said: str):
    data, _, found = proofs[1]
    with pytest.raises(InputError, match=said):
        prove_oracle(data, json.dumps(json.loads(found.text) | change))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c["nodes"][0].pop("children"), "neither a branch nor a leaf"),
        (lambda c: c["nodes"][0].update(children=[1, 0]), "in the tree twice"),
        (lambda c: c["nodes"].append({"without": 0}), "not in the tree"),
        (lambda c: c["nodes"].__setitem__(0, {"without": 0}), "job 0 is not the first without a start left"),
        (lambda c: c["nodes"][0]["branch"].update(job=10**6), "there is no job"),
        (lambda c: c["nodes"][0]["prices"]["prices"].append([10**6, 1]), "prices: of"),
        (lambda c: c["rows"][0].update(first=5, last=4), "a row at steps 5 to 4"),
        (lambda c: c["rows"][0].update(touching=10**6), "that job 1000000 touches"),
        (lambda c: c.update(slots=7), "slots: 7 are claimed"),
        (lambda c: c.update(bound=c["bound"] + 1), "the leaves prove"),
    ],
)
def test_what_does_not_follow_is_refused_with_the_place(proofs, change, said: str):
    data, _, found = proofs[1]
    content = json.loads(found.text)
    change(content)
    with pytest.raises(CheckFailed, match=said):
        prove_oracle(data, json.dumps(content))


def test_a_row_is_written_at_no_more_steps_than_it_takes(proofs):
    data, _, found = proofs[1]
    delays, content = Delays(data), json.loads(found.text)
    for row in content["rows"]:
        assert delays.narrower(Shape(**{name: row[name] for name in row if name in Shape.model_fields})) is None
    # the first job alone is there at the first two steps
    longer, shorter = Shape(first=0, last=1), Shape(first=0, last=0)
    assert delays.narrower(longer) == shorter
    counted = delays.count_starts(longer)
    content["rows"][0] = longer.model_dump() | {"limit": counted.limit, "starts": counted.starts}
    with pytest.raises(CheckFailed, match="0 to 1, though fewer steps"):
        prove_oracle(data, json.dumps(content))


def test_what_has_no_certificate_says_why():
    data = five_jobs().data
    fair = data.model_copy(update={"fairness_weight": 1.0})
    with pytest.raises(NoCertificate, match="with fairness"):
        certify_by_multipliers(fair, None, 0.0, Options())
    with pytest.raises(NoCertificate, match="without a schedule"):
        certify_by_multipliers(data, None, 0.0, Options())
