"""Test how records are made, become stale and enter pages."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments import recorded, reproduce
from experiments.harness import evidence
from experiments.harness.evidence import Evidence, Probe, Value, read, show_text
from experiments.harness.experiment import Claim, Experiment, SharedTasks
from experiments.harness.sample import Sample
from experiments.harness.store import Store
from experiments.harness.task import Measured
from experiments.pages import renew_page
from experiments.simulator.simulation import Simulation
from experiments.spec import Recording
from instances import InputError
from instances.eva import table_3
from instances.sia import five_jobs
from models.eva import exact
from tests.commands import call
from tests.experiments.records.test_reproduce import WIDE

DELAYS = (6.0, 3.0)  # minutes of delay of the five jobs, under FCFS and under SIA_VC


def tasks(context):
    context.trace("traces/jobs.csv")
    return [Simulation(five_jobs(), name, context.options) for name in ("fcfs", "sia-vc")]


def claims(context, outcomes):
    first, second = (run.jobs_table()["delay"].sum() for run in outcomes)
    said = Claim(
        "6.1", "delays", "short", None, "no figure", "of the five jobs", Sample.of([first, second]), name="both"
    )
    return [
        Claim("6.1", "delay, min", 5.0, float(first), "few runs"),
        said,
        Claim("6.1", "words", None, "a; b", "near"),
    ]


def broken(context):
    return [Simulation(WIDE, "fcfs", context.options)]


FIVE = Experiment("five", "Five jobs", tasks, claims)
BROKEN = Experiment("broken", "A job that no policy can start", broken, claims)


TWICE = Experiment("twice", "Two claims of one name", tasks, lambda context, found: claims(context, found)[2:] * 2)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Build a folder of records with only SIA: three experiments, one study and no reference study."""
    monkeypatch.setattr(reproduce, "PAPERS", ("sia",))
    monkeypatch.setattr(recorded, "experiments_of", lambda paper: (FIVE, BROKEN, TWICE))
    monkeypatch.setattr(recorded, "reference_sets_of", lambda paper, quick: ())
    rules = Recording("rules", {"seeds": 2, "instance_jobs": 3}, {"seeds": 1})
    monkeypatch.setattr(recorded, "RECORDED", {"sia/rules": ("aryl-rules", rules)})
    monkeypatch.setattr(recorded, "FIRST_JOBS", tmp_path)
    monkeypatch.setattr(recorded, "ROOT", tmp_path.parent)
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "jobs.csv").write_text("job\n")
    return tmp_path / "records"


def renew(folder: Path, *more: object):
    return call("reproduce", "--renew", "--traces", folder.parent, "--records", folder, "--only", "five", *more)


def stale(folder: Path, *more: object):
    return call("reproduce", "--stale", "--records", folder, "--only", "five", *more)


def test_a_record_has_the_command_the_inputs_the_values_with_their_claims_and_the_probe(folder: Path):
    done = renew(folder, "--only", "rules")
    assert done.returncode == 0, done.stderr
    found = read("sia/five", folder)
    assert found is not None
    assert found.command == "gapwise reproduce sia --only five --traces DIR"
    assert list(found.inputs) == ["traces/jobs.csv"]
    assert found.value("6.1: delay, min").mean == DELAYS[0]
    both = found.value("both")
    assert (both.n, both.mean, both.least, both.greatest) == (2, sum(DELAYS) / 2, *sorted(DELAYS))
    assert both.claim == {
        "where": "6.1",
        "what": "delays",
        "paper": "short",
        "verdict": "no figure",
        "note": "of the five jobs",
    }
    assert found.value("6.1: words").text == "a; b"
    assert found.cpu_s is not None
    assert found.versions["python"]
    assert found.probe is not None
    assert found.probe.command == f"gapwise reproduce sia --only five --quick --traces {folder.parent.name}"
    assert found.probe.values["both"] == both.model_copy(update={"claim": None})
    rules = read("sia/rules", folder)
    assert rules is not None
    assert rules.command == "gapwise study aryl-rules --seeds 2 --instance-jobs 3"
    assert len(rules.tables[0].rows) > 3
    assert rules.probe is not None
    assert rules.probe.command == "gapwise study aryl-rules --seeds 1 --instance-jobs 3"
    assert rules.probe.tables[0].head[0].startswith("above the optimum, 1 instances"), "no values: its tables"


def test_a_record_that_is_made_again_is_the_same_but_for_seconds(folder: Path):
    renew(folder)
    first = read("sia/five", folder)
    renew(folder)
    again = read("sia/five", folder)
    assert first is not None
    assert again is not None
    assert first.model_copy(update={"cpu_s": None}) == again.model_copy(update={"cpu_s": None})


def changed(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a record in its file."""
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_a_record_is_stale_if_its_probe_gives_another_value_or_its_command_changes(folder: Path):
    assert stale(folder).stdout == "sia/five: stale: not made\n"
    renew(folder)
    path = folder / "sia" / "five.json"
    assert (stale(folder).returncode, stale(folder).stdout) == (0, "")
    changed(path, lambda record: record["probe"]["values"]["both"].update(mean=4.0))
    done = stale(folder)
    assert done.returncode == 1
    assert re.fullmatch(r"sia/five: stale: both, mean: 4\.0, now 4\.5 \(to renew it takes \d+ CPU s\)\n", done.stdout)
    changed(path, lambda record: record.pop("probe"))
    assert "sia/five: stale: has no probe" in stale(folder).stdout
    renew(folder)
    changed(path, lambda record: record.update(command="gapwise five"))
    assert "its command was gapwise five, now gapwise reproduce sia --only five" in stale(folder).stdout


def test_values_that_are_kept_state_why(folder: Path):
    renew(folder)
    before = read("sia/five", folder)
    assert before is not None
    changed(folder / "sia" / "five.json", lambda record: record["probe"]["values"]["both"].update(mean=4.0))
    said = ("reproduce", "sia/five", "--records", folder)
    assert call(*said, "--keep", "fewer seeds in the probe").returncode == 0
    done = call(*said, "--stale")
    assert (done.returncode, done.stdout) == (0, "sia/five: kept: fewer seeds in the probe\n")
    kept = read("sia/five", folder)
    assert kept == before.model_copy(update={"kept": "fewer seeds in the probe"})
    renew(folder)
    renewed_record = read("sia/five", folder)
    assert renewed_record is not None
    assert renewed_record.kept is None


def test_times_are_no_part_of_a_probe(folder: Path, monkeypatch: pytest.MonkeyPatch):
    told = [
        Measured(workload="w", status="finished", cpu_s=0.3, figures={"least_s": [0.1, 0.2], "rows": [{"cpu_s": 7.0}]}),
        Measured(workload="w", status="finished", figures={"jobs": 3, "wait_s": 5.0, "cpu_s": {"fcfs": 0.1}}),
    ]
    first, second = map(recorded.timeless, told)
    assert (first.cpu_s, first.figures) == (1.0, {"least_s": [1.0, 1.0], "rows": [{"cpu_s": 1.0}]})
    assert (second.cpu_s, second.figures) == (None, {"jobs": 3, "wait_s": 5.0, "cpu_s": {"fcfs": 1.0}})
    result = exact(table_3().data)
    assert recorded.timeless(result).cpu_s == 2.0
    assert recorded.timeless(result).objective == result.objective


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Value(n=3, mean=0.1), Value(n=3, mean=0.1 * (1 + 1e-10)), True),
        (Value(n=3, mean=0.1), Value(n=3, mean=0.1 * (1 + 1e-8)), False),
        (Value(n=3, mean=0.1), Value(n=4, mean=0.1), False),
        (Value(mean=0.0), Value(mean=1e-17), True),
        (Value(mean=3e9), Value(mean=3e9 + 1), False),
        (Value(text="3 of 4"), Value(text="4 of 4"), False),
        (Value(mean=1.5), Value(text="no finite number"), False),
    ],
)
def test_whole_numbers_and_texts_are_compared_exactly_and_other_numbers_nearly(one: Value, other: Value, same: bool):
    then, now = (Probe(command="c", values={"x": value}) for value in (one, other))
    assert (then.difference(now) is None) is same
    assert then.difference(Probe(command="c", values={"x": one, "y": other})) is not None, "a value more"
    assert then.difference(Probe(command="d", values={"x": one})) == "command: 'c', now 'd'"


def test_a_trace_that_has_changed_is_named_where_it_is_at_hand(folder: Path):
    renew(folder)
    (folder.parent / "traces" / "jobs.csv").write_text("another\n")
    assert stale(folder).returncode == 0
    done = stale(folder, "--traces", folder.parent)
    assert (done.returncode, done.stdout) == (
        1,
        "sia/five: stale: traces/jobs.csv has changed (to renew it takes 0 CPU s)\n",
    )


def test_a_record_that_nothing_makes_is_named_where_all_are_asked_for(folder: Path):
    renew(folder)
    (folder / "sia" / "old.json").write_text((folder / "sia" / "five.json").read_text())
    done = call("reproduce", "--stale", "--records", folder)
    assert "sia/old: stale: nothing makes it\n" in done.stdout
    assert "sia/five" not in done.stdout


def test_an_experiment_with_a_failed_run_leaves_no_record_and_the_others_do(folder: Path):
    done = renew(folder, "--only", "broken", "--only", "twice")
    assert done.returncode == 1
    assert "sia/broken: not renewed: " in done.stderr
    assert "sia/twice: not renewed: two claims are called '6.1: words'" in done.stderr
    assert evidence.list_records(folder) == ["sia/five"]


def test_finished_runs_are_not_repeated_unless_their_code_has_changed(folder: Path, monkeypatch: pytest.MonkeyPatch):
    out = folder.parent / "out"
    assert "[2/2]" in renew(folder, "--out", out).stderr, "the probe has the same runs"
    with Store(out / "runs.sqlite", resume=True) as store:
        assert store.get(Simulation(five_jobs(), "fcfs")) is None, "kept by its code"
    kept = renew(folder, "--out", out, "--resume")
    assert kept.returncode == 0
    before = read("sia/five", folder)
    monkeypatch.setattr(reproduce, "code_digest", lambda: "new")
    assert renew(folder, "--out", out, "--resume").returncode == 0
    after = read("sia/five", folder)
    assert before == after
    shared = SharedTasks()
    shared.add([Simulation(five_jobs(), "fcfs")])
    for code, there in (("new", True), ("newer", False)):
        with Store(out / "runs.sqlite", resume=True, code=code) as store:
            assert (store.get(shared.tasks[0]) is not None) is there


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("--renew", "--quick"),
            "--renew, --stale, --keep: one of them alone: a record is of the defaults",
        ),
        (
            ("--renew", "--seed", 1),
            "--renew, --stale, --keep: one of them alone: a record is of the defaults",
        ),
        (("--keep", "it holds"), "--keep: give a reason, and name the records that it holds for"),
        (("sia/five", "--keep", " "), "--keep: give a reason, and name the records that it holds for"),
        (("sia/five", "--keep", "it holds"), "sia/five: not made"),
        (("--renew", "--only", "five"), "--traces: needed, for traces/jobs.csv"),
        (("--stale", "--only", "six"), "--only: must be one of five, broken, twice, rules, gap-study, got 'six'"),
        (("--stale", "nobody"), "paper: must be one of sia, got 'nobody'"),
        (("--stale", "sia/six"), "sia: must be one of five, broken, twice, rules, gap-study, got 'six'"),
    ],
)
def test_bad_input_is_one_line_and_status_2(folder: Path, arguments: tuple[object, ...], line: str):
    done = call("reproduce", *arguments, "--records", folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == f"gapwise: {line}"
    assert not folder.exists()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", "not valid JSON"),
        ("[]", "must be an object"),
        ('{"id": "sia/five"}', "title: missing"),
        (
            '{"id": "i", "title": "t", "command": "c", "values": {"x": {"mean": "x"}}}',
            "values.x.mean: must be a valid number",
        ),
    ],
)
def test_a_file_that_is_no_record_is_refused_with_its_name(folder: Path, text: str, line: str):
    (folder / "sia").mkdir(parents=True)
    (folder / "sia" / "five.json").write_text(text)
    done = stale(folder)
    assert done.returncode == 2
    assert done.stderr.startswith(f"gapwise: {folder / 'sia' / 'five.json'}: ")
    assert line in done.stderr


def test_a_ratio_to_nothing_is_told_in_words_and_a_record_is_json_that_anybody_reads(tmp_path: Path):
    with_spread = Sample(2, math.inf, None, None, 1.5, math.inf)
    values = {"ratio": Value.of(math.inf), "none": Value.of(math.nan), "ratios": Value.of(with_spread)}
    path = evidence.write(Evidence(id="p/x", title="t", command="c", values=values), tmp_path)

    def refused(word: str) -> float:
        raise ValueError(word)

    json.loads(path.read_text(), parse_constant=refused)  # before: Infinity, which JSON has not
    assert show_text("p/x; ratio; {text}", tmp_path) == show_text("p/x; none; {text}", tmp_path) == "no finite number"
    assert show_text("p/x; ratios; {text}: {least} or more, of {n}", tmp_path) == "no finite number: 1.5 or more, of 2"


def test_a_page_is_shown_figures_by_name_and_form_and_told_where_there_is_none(tmp_path: Path):
    sample = Value.of(Sample.of([0.01, 0.03, 0.05]))
    made = Evidence(id="p/x", title="t", command="c", values={"gap": sample, "words": Value(text="3 of 4")})
    evidence.write(made, tmp_path)
    said = "p/x; gap; {mean:.1%} on average, {greatest:.0%} at worst of {n}"
    assert show_text(said, tmp_path) == "3.0% on average, 5% at worst of 3"
    assert show_text("p/x; words; {text}", tmp_path) == "3 of 4"
    low, high = sample.low or 0.0, sample.high or 0.0
    assert show_text("p/x; gap; {half:.6f}", tmp_path) == f"{(high - low) / 2:.6f}"
    page = f"Above: <!-- {said} -->1%<!--/-->, in the paper <!-- paper -->7<!--/-->."
    assert (
        renew_page(page, tmp_path)
        == f"Above: <!-- {said} -->{show_text(said, tmp_path)}<!--/-->, in the paper <!-- paper -->7<!--/-->."
    )
    for wrong, line in (
        ("p/y; gap; {mean}", "no such record"),
        ("p/x; gaps; {mean}", "has no value 'gaps', but 'gap', 'words'"),
        ("p/x; words; {mean}", "p/x: words: has no mean, but text"),
        ("p/x; gap; {mean:d}", "Unknown format code"),
        ("p/x; gap", "must be RECORD; VALUE; FORM"),
    ):
        with pytest.raises(InputError, match=line.replace("{", r"\{")):
            show_text(wrong, tmp_path)


def test_two_values_of_one_name_and_names_that_no_page_can_say_are_refused():
    twice = [Claim("1", "x", None, 1.0, "near"), Claim("1", "x", None, 2.0, "near")]
    with pytest.raises(InputError, match="two claims are called '1: x'"):
        evidence.collect_claims(twice)
    with pytest.raises(InputError, match="must be of one line without ';'"):
        evidence.build_record("p/x", "", "", {"a;b": 1.0}, inputs={}, cpu_s=None)
