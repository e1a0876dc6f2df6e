"""Test the runs and claims of Eva's tables and figures, and the reference cost next to the bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.eva import grid
from experiments.eva.cloud_studies import yardstick
from experiments.eva.grid import claim_min, claim_within, format_range, holds
from experiments.eva.patient import Patient
from experiments.eva.reproduce import EXPERIMENTS, HORIZONS, PATIENT, lasting
from experiments.eva.tables import POLICIES
from experiments.harness.experiment import Context
from experiments.harness.sample import Sample
from experiments.simulator import simulate
from experiments.simulator.eva import CloudWorld
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Bounds
from heuristics.eva import no_packing
from heuristics.eva.online import ONLINE
from instances import InputError
from instances.eva import CloudJob, EvaCloud, TaskClass, trace_cloud
from instances.eva.cloud import CloudType
from instances.online import Policy
from models.eva import exact
from models.eva.work_bound import work_bound
from tests.eva_cloud_cases import TRACE, random_cloud
from tests.sampling import few

OF_NAME = {one.name: one for one in EXPERIMENTS}


@pytest.fixture
def context(tmp_path: Path) -> Context:
    """Few jobs, of a trace in the format of the paper's that has jobs with 2, 4 and 8 GPUs."""
    lines = TRACE.read_text().splitlines()
    columns = lines[0].split(",")
    for gpus in (2, 4, 8):
        row = dict(zip(columns, lines[1].split(","), strict=True))
        row |= {"gpus": str(gpus), "workload_class": f"large[{gpus}]"}
        lines.append(",".join(row[name] for name in columns))
    (tmp_path / "eva").mkdir()
    (tmp_path / grid.FULL_TRACE).write_text("\n".join(lines) + "\n")
    return Context(tmp_path, quick=True)


def finished(policy: str, usd: float, jct: float = 10.0, throughput: float = 0.9, full: int = 1) -> Simulated:
    """Build a fictitious run of 10 jobs: USD, hours, and full reconfigurations in 10 rounds."""
    return Simulated(
        workload="w",
        problem="eva-cloud",
        policy=policy,
        status="finished",
        jobs={"job": list(range(10)), "jct": [3600 * jct] * 10, "delay": [360.0] * 10},
        totals={
            "cost_usd": usd,
            "mean_throughput": throughput,
            "tasks_per_instance": 1.5,
            "full_rounds": full,
            "rounds": 10,
            "migrations": 5,
        },
    )


def told(name: str, context: Context, outcomes) -> dict[str, str]:
    return {claim.what: claim.verdict for claim in OF_NAME[name].claims(context, outcomes)}


def test_every_experiment_has_a_name_of_its_own_and_runs_to_make(context: Context):
    assert len(OF_NAME) == len(EXPERIMENTS) == 21
    assert all(one.tasks(context) for one in EXPERIMENTS if one.name != "table-8")  # it reads the trace alone


def test_without_the_trace_the_missing_file_is_named(tmp_path: Path):
    assert OF_NAME["table-6"].missing(Context(tmp_path)) is None
    assert OF_NAME["table-14"].missing(Context(tmp_path)) == f"{tmp_path / grid.FULL_TRACE}: No such file or directory"


def test_uptimes_of_instances_are_told_and_drawn(context: Context, tmp_path: Path):
    one = OF_NAME["figure-3"]
    outcomes = [task.work(None) for task in one.tasks(context)]
    (claim,) = one.claims(context, outcomes)
    assert claim.where == "Figure 3"
    assert all(sum(run.lives["seconds"]) > 0 for run in outcomes)
    one.draw(tmp_path / "drawn.svg", context, outcomes)
    assert (tmp_path / "drawn.svg").read_text().startswith("<?xml")


def swept(eva: list[float], rp: list[float]) -> list[Simulated]:
    """Bills of Eva with and without throughput as interference grows; without it jobs take longer."""
    runs = []
    for i, (own, other) in enumerate(zip(eva, rp, strict=True)):
        runs += [finished("no-packing", 100), finished("owl", 80, throughput=0.95)]
        runs += [finished("eva-without-throughput", other, jct=10 + i), finished("eva", own, throughput=0.94)]
    return runs


def test_interference_of_all_pairs_is_told_and_drawn(context: Context, tmp_path: Path):
    outcomes = swept([60, 65, 70, 75, 78], [60, 70, 80, 90, 120])
    assert set(told("figure-4", context, outcomes).values()) == {"reproduced"}
    verdicts = told("figure-4", context, swept([60, 65, 70, 81, 101], [60, 70, 65, 90, 62]))
    assert verdicts["Eva-RP: bill at 0.8 less bill at 1, of No-Packing's"] == "near"
    assert verdicts["Eva-TNRP: bill below Owl's, where it is least so"] == "few runs"
    assert verdicts["Eva-TNRP: bill at 0.8 below No-Packing's"] == "few runs"
    OF_NAME["figure-4"].draw(tmp_path / "drawn.svg", context, outcomes)
    assert (tmp_path / "drawn.svg").stat().st_size > 10_000


def test_policies_are_held_against_the_bound(context: Context):
    runs = [
        finished(policy, usd) for _ in range(2) for policy, usd in zip(POLICIES, (100, 80, 80, 80, 60), strict=True)
    ]
    bounds = [Bounds(workload="w", policies=("any",), values=[usd], status="finished") for usd in (50.0, 61.0)]
    claims = OF_NAME["bound"].claims(context, [*runs, *bounds])
    assert [claim.ours for claim in claims[::2]] == [0.5, 0.61]
    assert [claim.verdict for claim in claims[1::2]] == ["reproduced", "differs"]


def test_exact_methods_in_the_loop_are_held_against_eva_and_the_bound(context: Context):
    runs = [finished("no-packing", 100), finished("eva", 80), finished("eva-with-exact", 60, jct=9.0)]
    runs.append(finished("reconfiguration-exact", 50, jct=8.0))
    said = {"decisions": {"status": ["optimal", "feasible"]}}
    runs[2:] = [run.model_copy(update=said) for run in runs[2:]]
    bound = Bounds(workload="w", policies=("any",), values=[40.0], status="finished")
    claims = OF_NAME["exact-in-the-loop"].claims(context, [*runs, bound])
    found = {claim.what: claim.sample.mean for claim in claims if claim.sample is not None}
    assert found["eva: bill above the bound, of the bill"] == pytest.approx(0.5)
    assert found["eva-with-exact: bill below Eva's, of Eva's"] == pytest.approx(0.25)
    assert found["reconfiguration-exact: mean JCT below Eva's, of Eva's"] == pytest.approx(0.2)
    assert found["reconfiguration-exact: problems proven optimal"] == 0.5


def test_a_fixed_horizon_of_nothing_is_partial_reconfiguration_alone():
    data = random_cloud(1)
    bills = []
    for policy in (lasting(0.0, data), ONLINE["eva-without-full"](data)):
        world = CloudWorld(data)
        simulate(world, policy)
        bills.append(world.totals()["cost_usd"])
    assert bills[0] == bills[1]
    assert len(HORIZONS) == 10


def test_verdicts():
    assert [claim_within("", "", 0.5, ours).verdict for ours in (0.52, 0.55, 0.57)] == ["reproduced", "near", "differs"]
    assert holds("", "", "", "", False, nearly=True).verdict == "near"
    assert [claim_min("", "", "", [x - 0.01, x + 0.01], 0.1, nearly=0.05).verdict for x in (0.1, 0.06, 0.0)] == [
        "reproduced",
        "near",
        "few runs",
    ]


@pytest.mark.parametrize(("spread", "verdict"), [(0.01, "differs"), (0.2, "few runs")])
def test_nothing_is_said_against_the_paper_where_the_interval_reaches_its_figure(spread: float, verdict: str):
    values = [0.3 + spread * (-1) ** k for k in range(10)]
    assert claim_within("", "", 0.4, Sample.of(values)).verdict == verdict
    assert claim_min("", "", "", values, 0.4).verdict == verdict
    assert claim_min("", "", "", values[:9], 0.4).verdict == "few runs"


def test_jobs_that_nobody_has_are_not_comparable(context: Context):
    one = OF_NAME["table-11"]
    runs = []
    for _ in range(2):
        for policy in ("no-packing", "stratus", "synergy", "owl", "eva"):
            run = finished(policy, 100 if policy == "no-packing" else 90)
            run.totals.update({f"mean_allocation_{name}": 0.29 for name in ("gpu", "cpu", "ram_gb")})
            runs.append(run)
    verdicts = {claim.what: claim.verdict for claim in one.claims(context, runs)}
    assert verdicts["stratus: bill, of No-Packing's"] == "reproduced"
    assert verdicts["eva: bill, of No-Packing's"] == "not comparable"
    assert verdicts["no-packing: RAM in use, of what is billed"] == "reproduced"
    assert len(verdicts) == 4 + 5 * 3
    assert (format_range([0.1, 0.25]), format_range([0.1, 0.1001])) == ("10.0% to 25.0%", "10.0%")


def hosted(*jobs: tuple[float, float]) -> EvaCloud:
    """Jobs of one task (arrival, duration in hours) that fill a small instance for 1 USD, two a large one for 1.5."""
    delays = {"acquisition_seconds": 0.0, "setup_seconds": 0.0}
    return EvaCloud(
        resources=("x",),
        instance_types=(
            CloudType(name="small", family="f", capacity={"x": 1.0}, usd_per_hour=1.0, **delays),
            CloudType(name="large", family="f", capacity={"x": 2.0}, usd_per_hour=1.5, **delays),
        ),
        classes=(TaskClass(name="a", workload="a", demand={"default": {"x": 1.0}}),),
        jobs=tuple(
            CloudJob(id=f"j{i}", arrival_seconds=3600 * start, duration_seconds=3600 * hours, tasks={"a": 1})
            for i, (start, hours) in enumerate(jobs)
        ),
        period_seconds=300.0,
    )


def test_what_a_better_bound_could_gain_is_told_of_a_patient_policy(context: Context):
    runs = [finished("no-packing", 100), finished(PATIENT, 50, jct=90.0)]
    bound = Bounds(workload="w", policies=("any",), values=[49.0], status="finished")
    claims = OF_NAME["patience"].claims(context, [*runs, bound])
    found = {claim.what: claim.sample.mean for claim in claims if claim.sample is not None}
    assert found["patient: bill above the bound, of the bill"] == pytest.approx(0.02)
    assert found["patient: bill, of No-Packing's"] == pytest.approx(0.5)
    assert (found["patient: mean JCT, h"], found["patient: mean JCT of No-Packing, h"]) == (90.0, 10.0)
    assert 0 < found["patient: first starts of all tasks, of No-Packing's bill"] < 1


def paid(data: EvaCloud, policy: Policy) -> float:
    world = CloudWorld(data)
    simulate(world, policy)
    return float(world.totals()["cost_usd"])


def test_who_is_patient_pays_hardly_more_than_the_bound():
    """Where Eva pays a fifth more: no bound on every policy can say much of that."""
    data = trace_cloud(TRACE, limit=60).data
    bound, patient = work_bound(data).usd, paid(data, Patient(data))
    assert bound <= patient < 1.02 * bound
    assert paid(data, ONLINE["eva"](data)) > 1.2 * bound


@pytest.mark.parametrize("seed", few(range(6), 3))
def test_the_patient_policy_obeys_the_world_and_the_bound(seed: int):
    """Jobs of a second, of many lengths, one or several instances at a time, on any cloud of jobs of one task."""
    drawn = random_cloud(seed, jobs=10)
    jobs = tuple(job.model_copy(update={"tasks": dict.fromkeys(job.tasks, 1)}) for job in drawn.jobs)
    jobs = (*jobs, jobs[0].model_copy(update={"id": "short", "duration_seconds": 1.0}))
    data = drawn.model_copy(update={"jobs": jobs})
    bound = work_bound(data).usd
    for jobs_an_instance in (400, 4):
        assert paid(data, Patient(data, jobs_an_instance)) >= bound
    with pytest.raises(InputError, match="one task"):
        Patient(drawn.model_copy(update={"jobs": (drawn.jobs[0].model_copy(update={"tasks": {"a[0]": 2}}),)}))


def test_the_yardstick_packs_at_every_arrival_and_end():
    """Alone for an hour, together for one, alone for two; one alone after a gap. Waiting would be cheaper."""
    data = hosted((0, 2), (1, 3), (9, 1))
    packed, alone = yardstick(data, exact), yardstick(data, no_packing)
    assert packed.usd == pytest.approx(1 + 1.5 + 2 + 1)
    assert (packed.bound, packed.moments, packed.unproven) == (pytest.approx(packed.usd), 4, 0)
    assert alone.usd == pytest.approx(6)
    assert alone.bound is None
    assert work_bound(data).usd == pytest.approx(6 * 0.75)
