"""Test that two checkers of JSON certificates agree, which share only the published format."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from experiments.harness.instance_set import InstanceSet
from instances import Options, dump
from instances.eva import table_3
from instances.proofs import digest
from instances.sia import five_jobs
from tests.attacks.brute import FAMILIES
from tests.certificates import study
from tests.certificates.agreement import both, run
from tests.certificates.kept import kept
from tests.certificates.readings import telling
from tests.certificates.second.checker import proves
from tests.certificates.second.packing import Room, Sums
from tests.certificates.second.reading import FORMATS, Refused, whole_data
from tests.certificates.second.reading import digest as second_digest
from tests.commands import ROOT
from tests.sampling import sample


def test_both_say_the_same_of_what_is_honest_changed_and_forged():
    """`python -m tests.certificates.agreement 400 SEED` for more; hand-forged ones are in `test_forged*.py`."""
    seen: list[str] = []
    total = run(sample(6, 400), 0, seen.append, most=3)
    assert total["disagreed"] == 0, seen
    assert total["refused"] > 50
    assert total["accepted"] > 50
    assert total["no solution"] >= 3


@pytest.mark.parametrize("reading", ["eva cost", "boa integer, rescaling", "sia local oracle", "placements"])
def test_a_file_with_and_without_its_defaults_is_one_instance(reading: str):
    case = telling(reading)
    bound = proves(dump(case.instance), case.certificate)
    whole = {"problem": case.instance.problem, "data": case.instance.data.model_dump(mode="json")}
    assert proves(whole, case.certificate) == bound
    other = json.loads(json.dumps(whole))
    other["data"] |= {"budget": 1e6} if "budget" in other["data"] else {"resources": ["x"], "pools": [], "spread": None}
    with pytest.raises((Refused, KeyError, TypeError, ValueError)):
        proves(other, case.certificate)


def test_the_checker_is_a_command(tmp_path: Path):
    case = telling("sia oracle")
    instance, certificate = tmp_path / "one.json", tmp_path / "one.certificate.json"
    instance.write_text(json.dumps(dump(case.instance)))
    for text, status, said in (
        (case.certificate, 0, ": 8"),
        (case.certificate.replace('"reach": 8', '"reach": 9'), 1, "refused"),
    ):
        certificate.write_text(text)
        command = [sys.executable, "-m", "tests.certificates.second", instance, certificate]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
        assert (done.returncode, said in done.stdout + done.stderr) == (status, True), done.stderr


def test_nothing_of_the_project_is_imported():
    code = (
        "import sys, tests.certificates.second.checker; print([m for m in sys.modules if m.split('.')[0] in {names}])"
    )
    names = {"instances", "models", "heuristics", "experiments", "numpy", "pydantic"}
    done = subprocess.run(
        [sys.executable, "-c", code.format(names=names)], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_worst_cases_of_the_repository_have_two_checkers():
    found = [both(case, case.certificate) for case in kept() if not case.vipr]
    assert len(found) > 50
    assert set(found) == {"accepted"}


def test_the_study_goes_on_where_it_was_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    sets = [InstanceSet("five jobs", [five_jobs()], ("exact",)), InstanceSet("a table", [table_3()], ("exact",))]
    monkeypatch.setattr(study, "library_sets", lambda: sets)
    monkeypatch.setattr(study, "real_widths", lambda: InstanceSet("none", [], ("exact",)))
    monkeypatch.setattr(study, "with_fairness", lambda: InstanceSet("none", [], ("exact",)))
    options = Options(effort=200)
    begun = {"set": "five jobs", "instance": five_jobs().name, "problem": "sia-oracle"}
    (tmp_path / study.ROWS).write_text(json.dumps(begun) + "\n")
    assert study.main(tmp_path, list(study.wanted([])), options) == 0
    said = capsys.readouterr().out
    assert said.index("eva-table-3: 1 of 1 certified") < said.index("five-jobs: 1 of 1 certified")  # cut off: the last
    assert "200 tampered with: {'refused': " in said
    rows = (tmp_path / study.ROWS).read_text()
    assert study.main(tmp_path, list(study.wanted(["five*", "eva-packing"]))[1:], options, 0) == 0
    assert (tmp_path / study.ROWS).read_text() == rows
    assert "1 of 1 certified, 1 optimal" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("prices", "amount", "least"),
    [
        ([6, 10, 15], 29, 30),
        ([6, 10, 15], 23, 24),
        ([4, 6], 3, 4),
        ([4], 9, 12),
        ([7, 9], 47, 48),
        ([7, 9], 48, 48),
        ([300_000], 1, 1),
    ],
)
def test_sums_of_prices(prices: list[int], amount: int, least: int):
    assert Sums(prices).at_least(amount) == least


def test_what_fits_is_worth_no_more_than_enumeration_says():
    tasks = [(5, [3, 1], 2), (4, [1, 3], 2), (3, [2, 2], 3), (1, [0, 1], 1)]
    best = max(
        sum(n * v for n, (v, _, _) in zip(picked, tasks, strict=True))
        for picked in ((a, b, c, d) for a in range(3) for b in range(3) for c in range(4) for d in range(2))
        if all(sum(n * t[1][r] for n, t in zip(picked, tasks, strict=True)) <= 7 for r in range(2))
    )
    assert Room(tasks, [7, 7]).most() == best
    assert Room(tasks, [7, 7]).exceeds(best) is None
    assert Room(tasks, [7, 7]).exceeds(best - 1) == best


def briefly(value: Any) -> Any:
    """Write a JSON value with whole numbers instead of floats, as far as these are equal."""
    if isinstance(value, dict):
        return {name: briefly(part) for name, part in value.items()}
    if isinstance(value, list):
        return [briefly(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@pytest.mark.parametrize("name", [name for name in FAMILIES if name.startswith(tuple(FORMATS))])
def test_the_second_checker_reads_a_file_that_leaves_out_all_defaults(name):
    for _, data in FAMILIES[name].instances(20, seed=0):
        written = briefly(data.model_dump(mode="json", exclude_defaults=True))
        if getattr(data, "throughput", None) is not None:
            written["throughput"] = {"pairwise": data.throughput.pairwise} if data.throughput.pairwise else {}
            data = type(data).model_validate(written)
        written = json.loads(json.dumps(written))
        assert second_digest(data.problem, whole_data(FORMATS[data.problem], written)) == digest(data)
