"""Test that the names of types, jobs and pools change neither optima nor exported models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import highspy
import pytest

from experiments.harness.run import apply, load_method
from experiments.harness.user_functions import resolve
from experiments.papers import BUILDERS, METHODS
from instances import InputError, Instance, Options, dump, load, parse, save
from models.core.pyomo_model import write_model
from tests.attacks.small import CONVEX, NET_SAVING, READINGS, examples
from tests.sampling import few, sample

AWKWARD = ("ghost", "default", "all", "x", "y", "z", "X", "Y", "alpha", "cost", "obj", "end", "st", "free")
AWKWARD += ("Integers", "bounds", "inf", "nan", "None", "null", "True", "0", "1", "-1", "1e9", "e1", "", " ")
AWKWARD += ("\u00a0", "\u2003", "\u200b", "$x^$", '"', "'", "\\", "\n", "a\nb", "\t", "\r\n", "a@b", "a", "b", "@")
AWKWARD += ("a b", "a-b", "a_b", "a.b", "A", "a,b", "[0]", "(0)", "x[0,a]", "x_0_a_", "ONE_VAR_CONSTANT", "c_e_", "é")
AWKWARD += ("e\u0301", "ß", "SS", "ı", "🐙", "\u202e", "*", "x" * 200, "x" * 199, "X" * 200, "instances", "count")
AWKWARD += ("tasks", "other", "total", "gpu", "<b>", "[red]", "%s", "{}")

NAMES = tuple(name for name in AWKWARD if name)  # an empty name is refused
Rename = Callable[[str, str], str]
EVERY = READINGS | CONVEX | NET_SAVING
STEP = sample(3, 1)
"""One of so many turns of the names goes through the literal models."""


def renamed(instance: Instance, new: Rename) -> Instance:
    """`instance` with each of its names replaced by `new(kind, name)`, read as a file's content is."""
    content = dump(instance)
    data = content["data"]
    RENAMERS[instance.problem](data, new)
    return parse({name: value for name, value in content.items() if name != "reference"} | {"data": data})


def _packing(data: dict[str, Any], new: Rename) -> None:
    def amounts(given: dict[str, float]) -> dict[str, float]:
        return {new("resource", r): value for r, value in given.items()}

    data["resources"] = [new("resource", r) for r in data["resources"]]
    for kind in data["instance_types"]:
        kind |= {"name": new("type", kind["name"]), "family": new("family", kind["family"])}
        kind["capacity"] = amounts(kind["capacity"])
    for task in data["tasks"]:
        task["workload"] = new("workload", task["workload"])
        if task.get("job") is not None:
            task["job"] = new("job", task["job"])
        demand = task["demand"].items()
        task["demand"] = {(f if f == "default" else new("family", f)): amounts(given) for f, given in demand}
    throughput = data.get("throughput") or {}
    for pair in throughput.get("pairwise", []):
        pair[:2] = [new("workload", name) for name in pair[:2]]


def _allocation(data: dict[str, Any], new: Rename) -> None:
    data.setdefault("gpu_types", [{"name": "gpu", "price": 1.0}])
    types = {t["name"] for t in data["gpu_types"]}
    for gpu_type in data["gpu_types"]:
        gpu_type["name"] = new("GPU type", gpu_type["name"])
    for job_class in data["classes"]:
        job_class["name"] = new("class", job_class["name"])
        for epoch in job_class["epochs"]:
            curves = epoch["speedup"].items()
            epoch["speedup"] = {(new("GPU type", n) if n in types else n): curve for n, curve in curves}


def _elastic(data: dict[str, Any], new: Rename) -> None:
    for job in data["jobs"]:
        job["id"] = new("job", job["id"])


def _reclaim(data: dict[str, Any], new: Rename) -> None:
    data["servers"] = [new("server", name) for name in data["servers"]]
    for job in data["jobs"]:
        job["id"] = new("job", job["id"])
        job["servers"] = [new("server", name) for name in job["servers"]]


def _oracle(data: dict[str, Any], new: Rename) -> None:
    for pool in data["pools"]:
        pool["name"] = new("pool", pool["name"])
    for job in data["jobs"]:
        job |= {"id": new("job", job["id"]), "pool": new("pool", job["pool"])}


RENAMERS = {
    "eva-packing": _packing,
    "boa-allocation": _allocation,
    "aryl-elastic": _elastic,
    "aryl-reclaim": _reclaim,
    "sia-oracle": _oracle,
}


def awkward(start: int) -> Rename:
    """Every kind's names in their order become NAMES from `start` on, so that kinds share names with each other."""
    given: dict[str, dict[str, str]] = {}

    def new(kind: str, name: str) -> str:
        of_kind = given.setdefault(kind, {})
        if name not in of_kind:
            allowed = [n for n in NAMES if not (kind == "family" and n == "default")]
            of_kind[name] = allowed[(start + len(of_kind)) % len(allowed)]
        return of_kind[name]

    return new


def solved(instance: Instance, name: str) -> float | None:
    """Return the objective of the method `name`, `None` if it is not applicable."""
    (method,) = (m for m in METHODS[instance.problem] if m.name == name)
    if method.unfit(instance.data) is not None:
        return None
    result = apply(method, instance, Options())
    if name == "width-calculator-artifact" and result.status == "no_solution":
        assert "never stops" in str(
            result.reason
        )  # as released, where its narrowest widths cost more than it may spend
        return None
    assert result.status in ("optimal", "feasible", "violates"), (name, result.reason)
    assert load_method(method).kind != "exact" or result.solved
    return result.objective


def optimum_of_file(path: Path) -> float:
    highs = highspy.Highs()
    for option, value in (("output_flag", False), ("mip_rel_gap", 0.0), ("mip_abs_gap", 0.0)):
        assert highs.setOptionValue(option, value) == highspy.HighsStatus.kOk
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return highs.getInfo().objective_function_value


def turns(reading: str) -> list[tuple[int, Instance]]:
    """Small instances in turn, so many that each awkward name stands for something."""
    cases = [i for i in examples(EVERY, reading, 4) if len(dump(i)["data"].get("jobs", ())) < 10]
    return [(start, cases[n % len(cases)]) for n, start in enumerate(range(0, len(NAMES), 2))]


@pytest.mark.parametrize("reading", few(EVERY, 4))
@pytest.mark.parametrize("method", ["exact", "literal"])
def test_the_optimum_does_not_depend_on_names(reading: str, method: str):
    plain: dict[str, float | None] = {}
    for start, instance in turns(reading)[:: 4 if method == "exact" else STEP]:  # whose arrays have no names
        if instance.name not in plain:
            plain[instance.name] = solved(instance, method)
        found = solved(renamed(instance, awkward(start)), method)
        assert found == (None if plain[instance.name] is None else pytest.approx(plain[instance.name], rel=1e-6)), start


@pytest.mark.parametrize("reading", few(READINGS, 3))
def test_an_exported_model_can_be_read_again_whatever_the_names(reading: str, tmp_path: Path):
    plain: dict[str, float] = {}

    def optima(instance: Instance) -> list[float]:
        model = resolve(BUILDERS[instance.problem])(instance.data)
        files = [tmp_path / "model.lp", tmp_path / "model.mps"]
        for file in files:
            write_model(model, file)
        return [optimum_of_file(file) for file in files]

    for start, instance in turns(reading)[::STEP]:
        if instance.name not in plain:
            plain[instance.name], other = optima(instance)
            assert other == pytest.approx(plain[instance.name], rel=1e-6)
        assert optima(renamed(instance, awkward(start))) == 2 * [pytest.approx(plain[instance.name], rel=1e-6)], start


@pytest.mark.parametrize("reading", EVERY)
def test_every_heuristic_takes_any_name(reading: str):
    for start, instance in turns(reading)[:: 2 * STEP]:
        called = renamed(instance, awkward(start))
        for method in METHODS[instance.problem]:
            if load_method(method).kind == "heuristic":
                solved(called, method.name)


@pytest.mark.parametrize("reading", EVERY)
def test_a_file_keeps_any_name(reading: str, tmp_path: Path):
    for start, instance in turns(reading):
        called = renamed(instance, awkward(start))
        save(called, tmp_path / "i.json")
        assert load(tmp_path / "i.json") == called


@pytest.mark.parametrize("tasks", [[("a@b", None), ("a", "b")], [("a@b", "c"), ("a", "b@c")]])
def test_tasks_that_a_solution_could_not_tell_apart_are_refused(tasks: list[tuple[str, str | None]]):
    demand = {"default": {"gpu": 1.0}}
    data = {
        "resources": ["gpu"],
        "instance_types": [{"name": "k", "family": "f", "capacity": {"gpu": 2.0}, "usd_per_hour": 1.0}],
        "tasks": [{"workload": w, "count": 1, "demand": demand} | ({"job": j} if j else {}) for w, j in tasks],
        "objective": "cost",
    }
    with pytest.raises(InputError, match=r"^data\.tasks: must be unique, occurs 2 times, got \"a@b"):
        parse({"gapwise": 1, "problem": "eva-packing", "name": "n", "data": data})


@pytest.mark.parametrize("reading", EVERY)
def test_an_empty_name_is_refused(reading: str):
    for instance in examples(EVERY, reading, 2):
        with pytest.raises(InputError) as refused:
            renamed(instance, lambda kind, name: "")
        assert len(str(refused.value).splitlines()) == 1
