"""Records of evidence: what makes them, what is told of those that are older than their code, and what pages take."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from experiments import recorded, reproduce
from experiments.harness import evidence, sources
from experiments.harness.evidence import Evidence, Value, code_of, read, shown
from experiments.harness.experiment import Claim, Experiment, SharedTasks
from experiments.harness.pages import renewed
from experiments.harness.sample import Sample
from experiments.harness.sources import behind, files
from experiments.harness.store import Store
from experiments.papers import PAPERS, others
from experiments.simulator.simulation import Simulation
from instances import InputError
from instances.sia import five_jobs
from tests.commands import call
from tests.experiments.test_reproduce import WIDE

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
    """A folder of records where SIA alone is recorded, with three experiments, one study and no reference study."""
    monkeypatch.setattr(reproduce, "PAPERS", ("sia",))
    monkeypatch.setattr(recorded, "experiments_of", lambda paper: (FIVE, BROKEN, TWICE))
    monkeypatch.setattr(recorded, "reference_sets_of", lambda paper, quick: ())
    monkeypatch.setattr(recorded, "RECORDED", {"sia/rules": ("aryl-rules", {"seeds": 1, "instance_jobs": 3})})
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "jobs.csv").write_text("job\n")
    return tmp_path / "records"


def renew(folder: Path, *more: object):
    return call("reproduce", "--renew", "--traces", folder.parent, "--records", folder, "--only", "five", *more)


def stale(folder: Path, *more: object):
    return call("reproduce", "--stale", "--records", folder, "--only", "five", *more)


def test_a_record_has_the_command_the_inputs_the_values_with_their_claims_and_the_code(folder: Path):
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
    assert {"experiments.sia.reproduce", "heuristics.sia", "instances.sia.checker"} <= set(found.code)
    assert not [name for name in found.code if set(name.split(".")) & (set(PAPERS) - {"sia"})]
    rules = read("sia/rules", folder)
    assert rules is not None
    assert rules.command == "gapwise study aryl-rules --seeds 1 --instance-jobs 3"
    assert len(rules.tables[0].rows) > 3


def test_a_record_that_is_made_again_is_the_same_but_for_seconds(folder: Path):
    renew(folder)
    first = read("sia/five", folder)
    renew(folder)
    again = read("sia/five", folder)
    assert first is not None
    assert again is not None
    assert first.model_copy(update={"cpu_s": None}) == again.model_copy(update={"cpu_s": None})


def test_what_is_older_than_its_code_or_its_inputs_is_named_with_the_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    assert stale(folder).stdout == "sia/five: not made\n"
    renew(folder)
    done = stale(folder, "--traces", folder.parent)
    assert (done.returncode, done.stdout) == (0, "")
    monkeypatch.setattr(evidence, "digest", lambda name: "new" if name == "heuristics.sia" else sources.digest(name))
    done = stale(folder)
    assert (done.returncode, done.stdout) == (1, "sia/five: 1 changed since: heuristics.sia\n")
    monkeypatch.undo()


def test_a_trace_that_has_changed_is_named_where_it_is_at_hand(folder: Path):
    renew(folder)
    (folder.parent / "traces" / "jobs.csv").write_text("another\n")
    assert stale(folder).returncode == 0
    done = stale(folder, "--traces", folder.parent)
    assert (done.returncode, done.stdout) == (1, "sia/five: 1 changed since: traces/jobs.csv\n")


def test_a_record_that_nothing_makes_is_named_where_all_are_asked_for(folder: Path):
    renew(folder)
    (folder / "sia" / "old.json").write_text((folder / "sia" / "five.json").read_text())
    done = call("reproduce", "--stale", "--records", folder)
    assert "sia/old: nothing makes it\n" in done.stdout
    assert "sia/five" not in done.stdout


def test_an_experiment_with_a_failed_run_leaves_no_record_and_the_others_do(folder: Path):
    done = renew(folder, "--only", "broken", "--only", "twice")
    assert done.returncode == 1
    assert "sia/broken: not renewed: " in done.stderr
    assert "sia/twice: not renewed: two claims are called '6.1: words'" in done.stderr
    assert evidence.recorded(folder) == ["sia/five"]


def test_finished_runs_are_not_repeated_unless_their_code_has_changed(folder: Path, monkeypatch: pytest.MonkeyPatch):
    out = folder.parent / "out"
    assert "[2/2]" in renew(folder, "--out", out).stderr
    with Store(out / "runs.sqlite", resume=True) as store:
        assert store.get(Simulation(five_jobs(), "fcfs")) is None, "kept by its code"
    kept = renew(folder, "--out", out, "--resume")
    assert kept.returncode == 0
    before = read("sia/five", folder)
    monkeypatch.setattr(reproduce, "digest_of", lambda code: "new")
    assert renew(folder, "--out", out, "--resume").returncode == 0
    after = read("sia/five", folder)
    assert before == after
    shared = SharedTasks()
    shared.add([Simulation(five_jobs(), "fcfs")])
    for code, there in (("new", True), ("newer", False)):
        with Store(out / "runs.sqlite", resume=True, code=lambda task, code=code: code) as store:
            assert (store.get(shared.tasks[0]) is not None) is there


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("--renew", "--quick"),
            "--renew: not with --stale, --quick or other options of runs: a record is of the defaults",
        ),
        (
            ("--renew", "--seed", 1),
            "--renew: not with --stale, --quick or other options of runs: a record is of the defaults",
        ),
        (("--renew", "--only", "five"), "--traces: needed, for traces/jobs.csv"),
        (("--stale", "--only", "six"), "--only: must be one of five, broken, twice, rules, gap-study, got 'six'"),
        (("--stale", "nobody"), "paper: must be one of sia, got 'nobody'"),
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
    assert shown("p/x; ratio; {text}", tmp_path) == shown("p/x; none; {text}", tmp_path) == "no finite number"
    assert shown("p/x; ratios; {text}: {least} or more, of {n}", tmp_path) == "no finite number: 1.5 or more, of 2"


def test_a_page_is_shown_figures_by_name_and_form_and_told_where_there_is_none(tmp_path: Path):
    sample = Value.of(Sample.of([0.01, 0.03, 0.05]))
    made = Evidence(id="p/x", title="t", command="c", values={"gap": sample, "words": Value(text="3 of 4")})
    evidence.write(made, tmp_path)
    said = "p/x; gap; {mean:.1%} on average, {greatest:.0%} at worst of {n}"
    assert shown(said, tmp_path) == "3.0% on average, 5% at worst of 3"
    assert shown("p/x; words; {text}", tmp_path) == "3 of 4"
    low, high = sample.low or 0.0, sample.high or 0.0
    assert shown("p/x; gap; {half:.6f}", tmp_path) == f"{(high - low) / 2:.6f}"
    page = f"Above: <!-- {said} -->1%<!--/-->, in the paper <!-- paper -->7<!--/-->."
    assert (
        renewed(page, tmp_path)
        == f"Above: <!-- {said} -->{shown(said, tmp_path)}<!--/-->, in the paper <!-- paper -->7<!--/-->."
    )
    for wrong, line in (
        ("p/y; gap; {mean}", "no such record"),
        ("p/x; gaps; {mean}", "has no value 'gaps', but 'gap', 'words'"),
        ("p/x; words; {mean}", "p/x: words: has no mean, but text"),
        ("p/x; gap; {mean:d}", "Unknown format code"),
        ("p/x; gap", "must be RECORD; VALUE; FORM"),
    ):
        with pytest.raises(InputError, match=line.replace("{", r"\{")):
            shown(wrong, tmp_path)


def test_two_values_of_one_name_and_names_that_no_page_can_say_are_refused():
    twice = [Claim("1", "x", None, 1.0, "near"), Claim("1", "x", None, 2.0, "near")]
    with pytest.raises(InputError, match="two claims are called '1: x'"):
        evidence.claimed(twice)
    with pytest.raises(InputError, match="must be of one line without ';'"):
        evidence.made("p/x", "", "", {"a;b": 1.0}, inputs={}, code={}, cpu_s=None)


def test_remarks_change_no_digest_and_code_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    texts = {
        "a": '"""One."""\nX = 1\n"""What it is."""\n\n\ndef f(x):\n    """Two."""\n    return x + 1\n',
        "b": "# other words\nX = 1\n\ndef f(x): return x + 1  # more\n",
        "c": '"""One."""\nX = 2\n\n\ndef f(x):\n    return x + 1\n',
        "d": "X = 1\n\ndef f(x): return x - 1\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setattr(sources, "files", lambda: {name: tmp_path / f"{name}.py" for name in texts})
    digests = {name: sources.digest.__wrapped__(name) for name in texts}
    sources._tree.cache_clear()
    assert digests["a"] == digests["b"]
    assert len(set(digests.values())) == 3


def test_the_code_of_a_paper_is_that_of_no_other_and_has_what_is_named_in_lists():
    apart = [paper for paper in PAPERS if paper != "boa"]
    found = behind(["experiments.boa.reproduce"], apart)
    assert {"experiments.papers", "experiments.boa.methods", "models.boa.exact", "instances.fields"} <= set(found)
    assert not [name for name in found if set(name.split(".")) & set(apart)]
    assert len(found) < len(files()) / 2
    with pytest.raises(InputError, match="nothing: is no module of this project"):
        behind(["nothing"])


def test_the_code_of_what_builds_on_a_paper_has_that_papers_and_not_the_other_way_round():
    above, below = (set(code_of([], paper, others(paper))) for paper in ("kubernetes", "eva"))
    assert {"instances.kubernetes.checker", "instances.eva.constraints", "models.eva.totals"} <= above
    assert "models.eva.totals" in below
    assert not [name for name in below if "kubernetes" in name.split(".")]


def test_what_the_lists_of_all_papers_name_beside_methods_and_worlds_is_no_code_of_a_record():
    for paper in PAPERS:
        world = f"experiments.{paper}.simulation" in files()
        found = set(code_of([f"experiments.{paper}.{'reproduce' if world else 'reference'}"], paper, others(paper)))
        assert {f"experiments.{paper}.methods", f"models.{paper}.exact"} <= found
        run = set(code_of(["experiments.simulator.simulation"], paper, others(paper)))
        assert f"experiments.{paper}.methods" in run
        if world:
            assert f"experiments.{paper}.simulation" in found
            assert f"experiments.simulator.{paper}" in run
        assert not {*evidence.LISTS, f"experiments.{paper}.worst", "experiments.session"} & (found | run)
