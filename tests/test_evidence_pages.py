"""Test that every measured figure on a page comes from a record."""

from __future__ import annotations

import importlib.util
import re
import sys

import pytest

from experiments.harness.evidence import list_records, read
from experiments.harness.records import read_records
from experiments.harness.sample import ENOUGH_SEEDS
from experiments.pages import DOCS, FIGURE, GIVEN, PAPERS_OWN, README, TABLE, explain_figures, pages, renew_page
from instances import InputError
from tests.commands import ROOT

PAGES = {str(page.relative_to(ROOT)): page for page in pages() if "docs/evidence/" not in str(page)}
LISTED = r"\d+(?:\.\d+)*[a-z]?(?:(?:, | to | and |, and | or )\d+(?:\.\d+)*[a-z]?)*"
NO_FIGURES = [
    re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1", re.DOTALL | re.MULTILINE),  # code
    re.compile(r"\$\$.*?\$\$|(?<!\\)\$[^$\n]+\$", re.DOTALL),  # mathematics
    TABLE,
    FIGURE,
    re.compile(r"`[^`\n]+`"),
    re.compile(r"\]\([^)\s]*\)|https?://\S+|^\([\w-]+\)=$", re.MULTILINE),  # where a link leads
    re.compile(
        r"(?:Sections?|Figures?|Tables?|Theorems?|Lemmas?|Algorithms?|Appendix|Equations?|Experiments?|Rows?|Steps?)\s+"
        rf"[A-Z]?{LISTED}",
        re.IGNORECASE,
    ),
    re.compile(r"[’']\d\d\b|\b(?:19|20)\d\d\b"),  # years
    re.compile(r"\b(?:Python|HiGHS|License|version|numba|Sphinx)\s+\d+(?:\.\d+)*"),
    re.compile(r"^\s*\d+\.\s", re.MULTILINE),  # items of a list
    re.compile(r"<[^>]*>"),
]
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?%?(?!\w)")


def typed(text: str) -> list[str]:
    """Return the measured-looking numbers of a page that are typed, with their surroundings."""
    for kind in NO_FIGURES:
        text = kind.sub(lambda match: " · " + "\n" * match[0].count("\n"), text)
    return [text[max(0, m.start() - 30) : m.end() + 20].replace("\n", " ") for m in NUMBER.finditer(text)]


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_holds_no_typed_figure(name: str):
    assert typed(PAGES[name].read_text()) == []


@pytest.mark.parametrize("name", sorted(PAGES))
def test_the_figures_of_a_page_are_those_of_the_records(name: str):
    text = PAGES[name].read_text()
    assert renew_page(text) == text


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_shows_its_figures_to_a_reader_of_the_repository(name: str):
    """On the forge a role is a placeholder, and a line that begins with a comment is shown without its marks."""
    text = PAGES[name].read_text()
    assert (
        re.findall(r"\{(?:measured|paper|given)\}`|^```\{(?:measured-table|reproduced|open-instances)\}", text, re.M)
        == []
    )
    starts = [re.sub(r"^\s*(?:[-*]|\d+\.)?\s*", "", line) for line in text.splitlines()]
    assert [line for line in starts if FIGURE.match(line)] == []


def test_a_figure_of_the_site_says_its_value_its_record_and_the_command():
    name, value = "eva/gap-study", "200 tasks: full-reconfiguration: gap to optimum"
    record = read(name)
    assert record is not None
    figure = f"{record.values[value].mean:.1%}"
    said = explain_figures(
        f"It is <!-- {name}; {value}; {{mean:.1%}} -->{figure}<!--/--> above <!-- paper -->1%<!--/-->."
    )
    assert said == f'It is <abbr title="{value} (record {name}: {record.command})">{figure}</abbr> above 1%.'


def test_every_table_and_figure_of_a_paper_that_is_made_here_is_on_a_page():
    text = "".join(page.read_text() for page in PAGES.values())
    taken = {match["said"].split(";")[0] for match in FIGURE.finditer(text)}
    taken |= {re.split("[;|]", part)[0].strip() for match in TABLE.finditer(text) for part in match["said"].split(",")}
    made = {name for name in list_records() if name.partition("/")[2].startswith(("figure-", "table-", "section-"))}
    assert len(made) > 40
    assert made - taken == {"aryl/figure-8"}  # on some seeds nobody is preempted, so it has no ratio


def table(said: str) -> str:
    return renew_page(f"<!-- table {said} -->\n<!--/table-->")


def test_a_table_of_a_record_says_what_it_is_and_its_command():
    drawn = table("aryl/table-7").splitlines()
    assert drawn[1] == "**Table 7: Jobs on loaned servers.** `gapwise reproduce aryl --only table-7 --traces DIR`"
    assert drawn[3].startswith("| ")
    assert drawn[4] == f"|{' --- |' * (drawn[3].count('|') - 1)}"
    assert drawn[-1] == "<!--/table-->"
    index = table("of reproductions")
    for row in (
        "| sia | Figure 15b: the oracle, small workloads | `figure-15b` |",
        "| aryl | Figure 10: Imperfect scaling | `figure-10` |",
    ):
        assert row in index
    assert "[aryl-world](aryl-world.md)" in index


def test_the_readme_has_at_most_500_words():
    """Everything counts, as in `wc -w`: code, tables and their markup."""
    assert 300 < len(README.read_text().split()) <= 500


def test_rows_and_columns_of_a_table_are_chosen_and_tables_of_several_records_joined():
    chosen = table("eva/gap-study; 1 | rows: rounds of 40* | columns: instance set; proven")
    assert "| instance set | proven |" in chosen
    assert "10/10" in chosen
    assert "rounds of 20" not in chosen
    alone = [
        [line for line in table(said).splitlines() if line.startswith("|")]
        for said in ("aryl/excess; 0", "aryl/excess")
    ]
    joined = [line for line in table("aryl/excess; 0, aryl/excess").splitlines() if line.startswith("|")]
    assert joined == [*alone[0], *alone[1][2:]]


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        ("aryl/nothing", "no such record"),
        ("eva/gap-study | columns: nothing", "'nothing' is not in list"),
        ("eva/gap-study | heads: proven", "rows or columns may be chosen, got heads"),
        ("aryl/excess; 0, eva/gap-study; 1", "different columns"),
    ],
)
def test_a_table_that_no_record_has_is_refused(said: str, fault: str):
    with pytest.raises(InputError, match=fault):
        table(said)


@pytest.mark.parametrize(
    ("page", "fault"),
    [
        ("<!-- aryl/excess; nothing; {text} -->1<!--/-->", "has no value 'nothing'"),
        ("<!-- aryl/excess; optima proven; {text} -->1 of 2<!--/-->", "its figures are not those of the records"),
    ],
)
def test_the_site_is_not_built_with_a_figure_that_is_not_its_records(
    page: str, fault: str, monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("sphinx")
    spec = importlib.util.spec_from_file_location("conf_of_docs", DOCS / "conf.py")
    assert spec is not None
    assert spec.loader is not None
    conf = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec.loader.exec_module(conf)
    with pytest.raises(Exception, match=fault):
        conf._show_figures(None, "page", [f"# Page\n\nIt is {page}.\n"])
    right = "<!-- aryl/excess; optima proven; {text} -->1,120 of 1,120<!--/-->"
    source = [right]
    conf._show_figures(None, "page", source)
    assert source == [explain_figures(right)]


def test_a_finding_is_a_line_with_a_figure_and_a_command_and_an_interval_takes_ten():
    lines = [line for line in (DOCS / "findings.md").read_text().splitlines() if re.match(r"\| (?!finding)\w", line)]
    assert 10 <= len(lines) <= 20
    for line in lines:
        figures = [match["said"] for match in FIGURE.finditer(line) if match["said"] not in (PAPERS_OWN, GIVEN)]
        assert figures
        assert re.search(r"\| `gapwise [^`]+` \|$", line)
        for said in figures:
            record, name, form = (part.strip() for part in said.split(";", 2))
            found = read(record)
            assert found is not None
            assert "{low" not in form or (found.value(name).n or 0) >= ENOUGH_SEEDS, line


@pytest.mark.parametrize(
    "sentence",
    [
        "It is 2.2% above.",
        "Proven in 0.04 s.",
        "All of 1,120 are proven.",
        "| 7% |",
        "17 of the workloads",
        "(3.5 times)",
    ],
)
def test_a_typed_figure_is_seen(sentence: str):
    assert typed(f"# Page\n\n{sentence}\n")


@pytest.mark.parametrize(
    "sentence",
    [
        "Section 4.1, Figures 4 to 9 and Table 7 of EuroSys'25 in 2025.",
        "`gap 0.3`, $x^2 \\le 3$ and Python 3.11.",
        "<!-- table eva/gap-study; 1 -->\n| 2.2% |\n<!--/table-->",
        "<!-- eva/gap-study; x; {mean} -->2.2%<!--/--> and <!-- paper -->30<!--/--> minutes",
        "```text\n2.2%\n```",
        "A p3.16xlarge and ResNet18.",
    ],
)
def test_what_is_no_measurement_is_passed_over(sentence: str):
    assert typed(f"# Page\n\n{sentence}\n") == []


def test_the_page_of_open_instances_has_each_with_its_gap():
    lines = [line for line in table("of open instances").splitlines() if line.startswith("|")]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    left = {record.instance: record for record in read_records().values() if not record.proven}
    assert {row[1] for row in rows} == set(left)
    for row in rows:
        said, record = dict(zip(head, row, strict=True)), left[row[1]]
        assert (float(said["best known"]), float(said["bound"])) == pytest.approx((record.objective, record.bound))
        assert float(said["gap"].rstrip("%")) > 0
