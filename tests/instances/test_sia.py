"""Test the data, cut-offs, checker, generators and traces of sia-oracle."""

from __future__ import annotations

import json

import pytest

from instances import InputError, MalformedSolution, check, parse
from instances.sia import VARIANTS, Job, Pool, SiaOracle, gavel, philly, synthetic, trace_instance
from instances.sia.examples import five_jobs
from tests.sampling import few

POOLS = [{"name": "a", "gpus": 2}, {"name": "b", "gpus": 4}]


def content(**job):
    first = {"id": "x", "pool": "a", "submit": 0, "duration": 3, "gpus": 1} | job
    data = {"slot_minutes": 1, "pools": POOLS, "jobs": [first]}
    return {"gapwise": 1, "problem": "sia-oracle", "name": "n", "data": data}


@pytest.mark.parametrize(
    ("job", "line"),
    [
        ({"gpus": 5}, "data.jobs[0].gpus: must be <= 4, the GPUs of the largest pool, got 5"),
        ({"gpus": 3}, "data.jobs[0].gpus: must be <= 2, the GPUs of pool a, or have a latest_start, got 3"),
        ({"submit": -1}, "data.jobs[0].submit: must be >= 0, got -1"),
        ({"duration": 0}, "data.jobs[0].duration: must be >= 1, got 0"),
        ({"submit": 1.5}, "data.jobs[0].submit: must be a valid integer, got 1.5"),
        ({"gpus": True}, "data.jobs[0].gpus: must be a valid integer, got True"),
        ({"pool": "c"}, 'data.jobs[0].pool: unknown pool, must be one of a, b, got "c"'),
        ({"submit": 4, "latest_start": 3}, "data.jobs[0].latest_start: must be >= 4, the job's submission, got 3"),
        ({"colour": 1}, "data.jobs[0].colour: unknown field"),
    ],
)
def test_bad_jobs_are_one_clear_line(job, line):
    with pytest.raises(InputError) as error:
        parse(content(**job))
    assert str(error.value) == line


def test_duplicate_jobs_are_refused():
    bad = content()
    bad["data"]["jobs"] *= 2
    with pytest.raises(InputError, match=r"data.jobs: must be unique, occurs 2 times, got \"x\""):
        parse(bad)


def test_order_of_jobs_in_the_file_does_not_matter():
    data = synthetic("base", 0, days=1).data
    mixed = data.model_copy(update={"jobs": data.jobs[::-1]})
    ties = {job.submit for job in data.jobs if sum(j.submit == job.submit for j in data.jobs) > 1}
    starts = {j.id: s for j, s in zip(data.jobs, data.fcfs_starts, strict=True) if j.submit not in ties}
    again = {j.id: s for j, s in zip(mixed.jobs, mixed.fcfs_starts, strict=True)}
    first = min(ties, default=10**9)
    assert all(again[name] == start for name, start in starts.items() if start < first)


def test_cutoffs_of_five_jobs():
    assert five_jobs().data.cutoffs == (0, 0, 2, 3, 4)


@pytest.mark.parametrize("seed", range(5))
def test_cutoffs_agree_with_the_checkers_own(seed):
    """The checker computes cut-offs by another algorithm: everyone at his cut-off passes, one later does not."""
    data = synthetic("more-wide", seed, days=1).data
    starts = {job.id: cutoff for job, cutoff in zip(data.jobs, data.cutoffs, strict=True)}
    verdict = check(data, {"starts": starts})
    assert verdict.violations == ()
    assert verdict.objective == sum(data.cutoffs) - sum(job.submit for job in data.jobs)
    for job in data.jobs[:20]:
        late = check(data, {"starts": starts | {job.id: starts[job.id] + 1}})
        assert any(f"job {job.id} starts at {starts[job.id] + 1}, cut-off" in v for v in late.violations)


def test_checker_sees_early_starts_and_full_slots():
    data = five_jobs().data
    starts = {"j0": 0, "j1": 0, "j2": 0, "j3": 1, "j4": 1}
    violations = check(data, {"starts": starts}).violations
    assert "job j4 starts at 1, submitted at 2" in violations
    assert "5 GPUs of 4 in use from slot 0 to 1" in violations


@pytest.mark.parametrize(
    "solution",
    [{}, {"starts": {"j0": 0}}, {"starts": dict.fromkeys(("j0", "j1", "j2", "j3", "j4"), 0.5)}, {"starts": {"z": 1}}],
)
def test_malformed_solutions(solution):
    with pytest.raises(MalformedSolution):
        check(five_jobs().data, solution)


@pytest.mark.parametrize(("fair_share", "expected"), [("all-use", 0.5 * (2 + 1 + 1)), ("above-share", 0.5 * 1)])
def test_fairness_by_hand(fair_share, expected):
    """Pool a owns 1 GPU of 2 and uses 2, 1, 1 of them at slots 0 to 2."""
    data = SiaOracle(
        slot_minutes=1.0,
        pools=(Pool(name="a", gpus=1), Pool(name="b", gpus=1)),
        jobs=(
            Job(id="x", pool="a", submit=0, duration=3, gpus=1),
            Job(id="y", pool="a", submit=0, duration=1, gpus=1),
        ),
        fairness_weight=0.5,
        fair_share=fair_share,
    )
    assert check(data, {"starts": {"x": 0, "y": 0}}).objective == expected


@pytest.mark.parametrize("name", ["base", "more-skewed", "less-skewed"])
def test_duration_variants_have_the_same_mean(name):
    """Appendix C: all distributions have the same job length. Plain uniform modes do, to 0.3%; log-uniform do not."""
    from dataclasses import replace

    assert VARIANTS[name].mean_duration == pytest.approx(151.4, rel=3e-3)
    logarithmic = [replace(VARIANTS[n], spread="log-uniform").mean_duration for n in ("base", "more-skewed")]
    assert abs(logarithmic[0] - logarithmic[1]) > 0.05 * logarithmic[0]


def test_the_widths_of_the_variants_are_those_of_the_appendix():
    mean = {name: sum(share * width for width, share in one.widths.items()) for name, one in VARIANTS.items()}
    narrow, wide = mean.pop("fewer-wide"), mean.pop("more-wide")
    assert (narrow, wide) == (pytest.approx(1.302), pytest.approx(3.75))
    assert list(mean.values()) == pytest.approx([1.9] * len(mean))
    assert all(sum(one.widths.values()) == pytest.approx(1) for one in VARIANTS.values())


@pytest.mark.parametrize("name", few(VARIANTS, 3))
def test_generated_load_and_widths_match_the_variant(name):
    variant = VARIANTS[name]
    data = synthetic(name, 3, days=150, slot_minutes=1).data
    owned = variant.queues * variant.gpus
    span = 150 * 1440
    load = sum(job.duration * job.gpus for job in data.jobs) / (owned * span)
    low, high = (bound * variant.load_factor for bound in variant.load)
    assert 0.9 * low < load < 1.1 * high
    assert len(data.pools) == variant.queues
    for width, probability in variant.widths.items():
        share = sum(job.gpus == width for job in data.jobs) / len(data.jobs)
        assert share == pytest.approx(probability, abs=0.025)


def test_coarse_slots_round_the_same_workload_up():
    fine, coarse = synthetic("base", 5, days=1).data, synthetic("base", 5, days=1, slot_minutes=5).data
    assert [job.id for job in fine.jobs] == [job.id for job in coarse.jobs]
    for a, b in zip(fine.jobs, coarse.jobs, strict=True):
        assert b.submit == -(-a.submit // 5)
        assert b.duration == -(-a.duration // 5)


def test_generator_is_deterministic_and_refuses_nonsense():
    assert synthetic("base", 7, days=1) == synthetic("base", 7, days=1)
    assert synthetic("base", 7, days=1) != synthetic("base", 8, days=1)
    for bad in ({"variant": "worse"}, {"days": 0.0}, {"days": float("nan")}, {"slot_minutes": -1}, {"seed": -1}):
        with pytest.raises(InputError):
            synthetic(**bad)


TRACE = """job_id,pool,submit_s,duration_s,gpus
0,p,0,600,2
1,q,30,61,1
2,p,90,59.5,4
3,p,172800,10,1
"""


def test_philly_form(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TRACE)
    jobs = philly(path)
    data = trace_instance(jobs, {"p": 4, "q": 2}, days=1).data
    assert [(j.id, j.submit, j.duration, j.gpus) for j in data.jobs] == [
        ("0", 0, 10, 2),
        ("1", 1, 2, 1),
        ("2", 2, 1, 4),
    ]
    sampled = trace_instance(jobs, pools=1, seed=1).data
    assert len(sampled.pools) == 1
    with pytest.raises(InputError, match="unknown pool"):
        trace_instance(jobs, pools=["z"])


def test_quotas_give_the_load_asked_for(tmp_path):
    """Section 6.1: pools are sized for a load from a range."""
    path = tmp_path / "t.csv"
    rows = "".join(f"{i},p,{i * 60},6000,1\n" for i in range(1000))
    path.write_text("job_id,pool,submit_s,duration_s,gpus\n" + rows)
    data = trace_instance(philly(path), load=(0.8, 0.8)).data
    assert data.pools[0].gpus == round(1000 * 6000 / (0.8 * 999 * 60))


def test_gavel_form_drops_jobs_without_a_duration(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("job_id,pool,submit_s,duration_v100_s,gpus\na,p,0,60,1\nb,p,5,,1\n")
    assert gavel(path)["job_id"].tolist() == ["a"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("job_id,pool,submit_s,gpus\n0,p,0,1\n", "missing column duration_s"),
        ("job_id,pool,submit_s,duration_s,gpus\n0,p,-3,5,1\n", "line 2: submit_s: must be a number >= 0, got -3"),
        ("job_id,pool,submit_s,duration_s,gpus\n0,p,3,5,1.5\n", "line 2: gpus: must be a whole number >= 1, got 1.5"),
        ("job_id,pool,submit_s,duration_s,gpus\n0,p,3,x,1\n", "line 2: duration_s: must be a number >= 0, got x"),
        ("job_id,pool,submit_s,duration_s,gpus\n0,p,3,5,1\n0,p,4,5,1\n", "line 3: job_id: must be unique, got 0"),
        ("job_id,pool,submit_s,duration_s,gpus\n", "no jobs"),
        ("", "not a CSV table: No columns to parse from file"),
    ],
)
def test_bad_traces_are_one_clear_line(tmp_path, text, line):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        philly(path)
    assert str(error.value) == f"{path}: {line}"


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (f"0,p,{'9' * 400},5,1", f"line 2: submit_s: must be a number >= 0, got {'9' * 40}"),
        (f"0,p,0,{'9' * 400},1", f"line 2: duration_s: must be a number >= 0, got {'9' * 40}"),
        (f"0,p,0,5,{'9' * 400}", f"line 2: gpus: must be a whole number >= 1, got {'9' * 40}"),
        ("0,p,0,5,10000000000", "line 2: gpus: must be <= 1e+09, got 10000000000"),
        ("0,p,1e300,5,1", "data.jobs[0].submit: must be <= 1e+09, got"),
        ("0,p,61000000000,5,1", "data.jobs[0].submit: must be <= 1e+09, got 1016666667"),
        ("0,p,0,1e300,1", "data.pools[0].gpus: must be <= 1e+09, got"),
    ],
)
@pytest.mark.parametrize("form", [philly, gavel])
def test_numbers_beyond_all_bounds_are_one_clear_line(tmp_path, form, row, line):
    path = tmp_path / "t.csv"
    path.write_text(f"job_id,pool,submit_s,duration_{'v100_' if form is gavel else ''}s,gpus\n{row}\n")
    with pytest.raises(InputError) as error:
        trace_instance(form(path))
    assert (line if form is philly else line.replace("duration_s", "duration_v100_s")) in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_a_workload_in_slots_too_short_or_a_weight_too_large_is_one_clear_line():
    for options, line in (
        ({"slot_minutes": 1e-9}, r"data.jobs\[0\].submit: must be <= 1e\+09, got"),
        ({"slot_minutes": 1e-300}, "data.slot_minutes: must be 0 or at least 1e-9"),
        ({"slot_minutes": 2e9}, r"slot_minutes: must be a number <= 1e\+09"),
        ({"fairness_weight": 2e9}, r"data.fairness_weight: must be <= 1e\+09"),
    ):
        with pytest.raises(InputError, match=line):
            synthetic(**options)
    assert {job.duration for job in synthetic(slot_minutes=1e9).data.jobs} == {1}


def test_the_checker_counts_gpus_by_intervals():
    """A billion GPUs in one pool and jobs of a billion slots; both readings of fairness, by hand."""
    big = 10**9
    jobs = tuple(
        Job(id=name, pool="p", submit=0, duration=big - k, gpus=big - k) for k, name in enumerate(("x", "y", "z"))
    )
    data = SiaOracle(
        slot_minutes=1.0, pools=(Pool(name="p", gpus=big), Pool(name="q", gpus=1)), jobs=jobs, fairness_weight=1.0
    )
    starts = dict(zip("xyz", data.cutoffs, strict=True))
    assert starts == {"x": 0, "y": big, "z": 2 * big - 1}
    work = sum(job.duration * job.gpus for job in jobs)
    assert check(data, {"starts": starts}).objective == pytest.approx(3 * big - 1 + work / big, rel=1e-12)
    assert check(data, {"starts": starts | {"z": 2 * big}}).violations == (
        f"job z starts at {2 * big}, cut-off {2 * big - 1}",
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_largest_share_is_that_of_every_slot_and_pool(seed):
    """The checker's running maximum against a sum over slots."""
    base = synthetic("more-wide", seed, days=0.4).data
    data = base.model_copy(update={"fairness_weight": 1.0})
    fair = 0.0
    for t in range(max(start + job.duration for start, job in zip(data.cutoffs, data.jobs, strict=True))):
        use = dict.fromkeys((pool.name for pool in data.pools), 0)
        for start, job in zip(data.cutoffs, data.jobs, strict=True):
            use[job.pool] += job.gpus if start <= t < start + job.duration else 0
        fair += max(use[pool.name] / pool.gpus for pool in data.pools)
    starts = {"starts": {job.id: start for start, job in zip(data.cutoffs, data.jobs, strict=True)}}
    assert check(data, starts).objective - check(base, starts).objective == pytest.approx(fair)


def test_five_jobs_equals_the_shared_file_form():
    data = json.loads(five_jobs().data.model_dump_json(exclude_defaults=True))
    assert data["jobs"][4] == {"id": "j4", "pool": "p1", "submit": 2, "duration": 3, "gpus": 2}
