"""Test `solve --certificate` and `verify` as a user runs them: files, rejections and exit status."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import typer

from experiments.harness.certification import Certification
from experiments.harness.run import apply
from experiments.harness.task import ReportFile
from experiments.plan import plan
from experiments.verify import verify
from instances import InputError, Instance, Options, Solution, load, save
from instances.aryl import figure_5, table_2
from instances.boa import figure_1
from instances.eva import EvaPacking, table_3, table_3_round
from instances.proofs import Certificate, digest
from instances.proofs.certificate import round_bound
from instances.sia import Job, Pool, SiaOracle, six_jobs
from models.eva.certificate import certificate as eva_certificate
from tests.commands import call

FOUND = Path(__file__).parents[1] / "attacks" / "found"
MADE = {
    "reclaim": (figure_5(), "aryl-figure-5.exact", "vipr"),
    "knapsack": (table_2("jct-reduction"), "aryl-table-2-knapsack.exact", "vipr"),
    "mean JCT": (table_2(), "aryl-table-2.exact", "vipr"),
    "boa": (figure_1(1.5), "figure-1-budget-1.5.exact", "certificate.json"),
    "eva": (table_3(), "eva-table-3.exact", "certificate.json"),
    "round": (table_3_round(), "eva-table-3-round.exact", "vipr"),
    "servers": (six_jobs(), "sia-six-jobs.exact", "vipr"),
    # both programs of this cluster have 12 variables
    "nodes": (load(FOUND / "consolidation-two-programs-of-one-size.json"), "equal.exact", "vipr"),
}


def far_off() -> Instance:
    """Build a fair instance whose job may start so late that its starts are not written down."""
    job = Job(id="a", pool="p", submit=0, duration=1, gpus=1, latest_start=30_000)
    data = SiaOracle(slot_minutes=1.0, pools=(Pool(name="p", gpus=1),), jobs=(job,), fairness_weight=1.0)
    return Instance.of(data, "far")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Instances, and what `solve --certificate` says of them, with `solve.json` its standard output."""
    path = tmp_path_factory.mktemp("certificates")
    for name, (instance, _, _) in MADE.items():
        save(instance, path / f"{name}.json")
    save(far_off(), path / "far.json")
    given = [path / f"{name}.json" for name in (*MADE, "far")]
    done = call("solve", *given, "--certificate", path / "proofs", "--format", "json", "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        "far exact optimal 1 slots gap 0.00%; no certificate: "
        "the windows of the jobs hold 30,001 starts, more than 20,000\n"
    )
    (path / "solve.json").write_text(done.stdout)
    return path


def files(folder: Path, name: str, result: Path | None = None, certificate: Path | None = None) -> list[Path]:
    _, stem, ending = MADE[name]
    result = result or folder / "proofs" / f"{stem}.json"
    return [folder / f"{name}.json", result, certificate or folder / "proofs" / f"{stem}.{ending}"]


def refused(*given: Path) -> str:
    """Return the one-line message with which `verify` refuses bad input, with status 2."""
    with pytest.raises(InputError) as error:
        verify(*given)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("name", MADE)
def test_what_solve_certifies_is_verified(folder: Path, name: str, capsys):
    verify(*files(folder, name))
    out, err = capsys.readouterr()
    assert out.startswith(f"verified: {MADE[name][0].name}: objective ")
    assert (out.count("\n"), err) == (1, "")


def overstated(data: EvaPacking, solution: Solution, bound: float, options: Options) -> Certificate:
    """Make a certificate that claims more than its text proves."""
    made = eva_certificate(data, solution, bound, options)
    return replace(made, bound=made.bound + 1)


def misnamed(data: EvaPacking, solution: Solution, bound: float, options: Options) -> Certificate:
    """Make a certificate whose text is of another instance."""
    made = eva_certificate(data, solution, bound, options)
    return replace(made, text=made.text.replace(digest(data), "2:" + "0" * 64))


@pytest.mark.parametrize(
    ("writer", "said"),
    [
        (overstated, "bound: 13.8 is claimed, 12.8 is proved"),
        (misnamed, 'instance: the certificate is of another instance, of digest "2:00'),
    ],
)
def test_a_certificate_that_the_verifier_refuses_is_not_called_certified(writer, said, tmp_path):
    run = plan([table_3()], ["exact"], Options())[0]
    result = apply(run.entry, run.instance, run.options)
    found = Certification(run, result, f"{__name__}:{writer.__name__}").work(ReportFile(tmp_path / "report"))
    assert isinstance(found, str)
    assert found.startswith(f"the verifier refuses the certificate: {said}")


def test_a_result_says_how_its_bound_is_proved(folder: Path):
    rows = [json.loads(line) for line in (folder / "solve.json").read_text().splitlines()]
    assert [row["info"].get("certificate") for row in rows] == [
        *["branch and bound with rational duals, 1 leaf"] * 3,
        "Lagrangian at a rational price of the budget",
        "tree with integer duals, 1 leaf",
        "branch and bound with rational duals, 1 leaf",
        "branch and bound with rational duals, 6 leaves",
        "branch and bound with rational duals, 7 leaves",
        None,
    ]
    assert {row["status"] for row in rows} == {"optimal"}


def test_what_claims_more_than_is_proved_is_refuted_with_status_1(folder: Path, tmp_path: Path, capsys):
    content = json.loads((folder / "proofs" / "eva-table-3.exact.json").read_text())
    for change, said in (
        ({"bound": 12.800001}, "bound: 12.800001 is claimed, 12.8 is proved"),
        ({"objective": 12.7}, "objective: 12.7 is claimed, the solution has 12.8"),
        ({"gap": 0.1}, "gap: 0.1 is claimed, objective and bound make it 0.0"),
        ({"solution": {"instances": []}}, "solution: task "),
        ({"sense": "maximize"}, "the objective is to minimize, in USD/h"),
    ):
        (tmp_path / "r.json").write_text(json.dumps(content | change))
        with pytest.raises(typer.Exit) as ended:
            verify(*files(folder, "eva", tmp_path / "r.json"))
        out, err = capsys.readouterr()
        assert (ended.value.exit_code, out, err.count("\n")) == (1, "", 1)
        assert said in err


def test_what_is_no_certificate_of_the_instance_is_bad_input(folder: Path, tmp_path: Path):
    proofs = folder / "proofs"
    text = (proofs / "aryl-figure-5.exact.vipr").read_text()
    bad = tmp_path / "bad.vipr"
    for content, said in (
        (text[: len(text) // 2], "the file ends here"),
        (text.replace("% gapwise 1", "% gapwise 7"), "gapwise: must be 1, got 7"),
        (text.replace("VER 1.1", "VER 3.1"), "VER: must be 1.0 or 1.1, got '3.1'"),
        ((proofs / "aryl-table-2-knapsack.exact.vipr").read_text(), "problem: must be aryl-reclaim"),
        ((proofs / "eva-table-3.exact.certificate.json").read_text(), "VER: the section must begin here"),
        ("\0", "VER: "),
    ):
        bad.write_text(content)
        line = refused(*files(folder, "reclaim", certificate=bad))
        assert line.startswith(f"{bad}: ")
        assert said in line


def test_other_bad_input_is_one_line(folder: Path, tmp_path: Path):
    proofs = folder / "proofs"
    cut = tmp_path / "cut.json"
    cut.write_text((proofs / "eva-table-3.exact.certificate.json").read_text()[:200])
    heuristic = json.loads((proofs / "eva-table-3.exact.json").read_text()) | {"bound": None, "gap": None}
    (tmp_path / "h.json").write_text(json.dumps(heuristic))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for given, said in (
        (files(folder, "eva", certificate=cut), "cut.json: not valid JSON"),
        (files(folder, "eva", certificate=tmp_path / "none"), "none: No such file or directory"),
        (files(folder, "eva", certificate=tmp_path / "binary"), "binary: not UTF-8"),
        (files(folder, "eva", proofs / "figure-1-budget-1.5.exact.json"), "problem: must be 'eva-packing'"),
        (files(folder, "eva", tmp_path / "h.json"), "there is nothing else to verify"),
        (files(folder, "eva", cut), "cut.json: not valid JSON"),
    ):
        assert said in refused(*given)


def test_bad_input_ends_the_command_with_status_2(folder: Path, tmp_path: Path):
    done = call("verify", *files(folder, "eva", certificate=tmp_path / "none"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def test_no_number_and_no_field_of_a_file_ends_in_a_traceback(folder: Path, tmp_path: Path):
    """Status 2 for what is no result or no certificate, 1 for what does not hold; one line each."""
    _, given, proof = files(folder, "boa")
    result, certificate = given.read_text(), proof.read_text()
    bound = re.search(r'"bound": ?[^,]*', result).group(0)
    huge = "1" + "0" * 400
    for text, status in (
        (result.replace(bound, '"bound": NaN'), 2),
        (result.replace(bound, '"bound": -1e999'), 2),
        (result.replace(bound, f'"bound": -{huge}'), 2),
        (result.replace(bound, f'{bound}, "bound": 0'), 2),
        (result.replace(bound, '"bound": ' + "[" * 3000 + "]" * 3000), 2),
        (result.replace('"optimal"', '"violates"'), 1),
        (result.replace('"optimal"', '"feasible"'), 1),
    ):
        assert text != result
        (tmp_path / "r.json").write_text(text)
        done = call("verify", *files(folder, "boa", tmp_path / "r.json"))
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1), done.stderr
    stated = re.search(r'"bound": "[^"]*"', certificate).group(0)
    for text, status in (
        (certificate.replace(stated, f'"bound": "{huge}"'), 1),
        (certificate.replace(stated, f"{stated}, {stated}"), 2),
        (certificate.replace(stated, '"bound": NaN'), 2),
        (certificate.replace(stated, '"bound": "1/0"'), 2),
    ):
        assert text != certificate
        (tmp_path / "c.json").write_text(text)
        done = call("verify", *files(folder, "boa", certificate=tmp_path / "c.json"))
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1), done.stderr


def test_a_bound_is_rounded_to_the_safe_side():
    third = Fraction(1, 3)
    assert Fraction(round_bound(third, "minimize")) <= third <= Fraction(round_bound(third, "maximize"))
    assert round_bound(Fraction(1, 2), "minimize") == round_bound(Fraction(1, 2), "maximize") == 0.5
