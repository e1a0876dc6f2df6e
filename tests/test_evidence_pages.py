"""No page holds a measured figure that is typed: every number is a record's, or of a kind that is no measurement."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.harness.evidence import GIVEN, PAPERS_OWN, PATTERN, read, recorded, renewed, shown
from experiments.harness.records import read_records
from experiments.harness.sample import ENOUGH_SEEDS
from tests.commands import ROOT, python

DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = {str(page.relative_to(ROOT)): page for page in [README, *sorted(DOCS.rglob("*.md"))]}
PAGES = {name: page for name, page in PAGES.items() if "/_" not in name and not name.startswith("docs/evidence/")}
MEASURED = re.compile(r"\{measured\}`([^`]+)`")
TABLE = re.compile(r"\{measured-table\} ([^\n]+)")
LISTED = r"\d+(?:\.\d+)*[a-z]?(?:(?:, | to | and |, and | or )\d+(?:\.\d+)*[a-z]?)*"
NO_FIGURES = [
    re.compile(r"^(`{3,}|~{3,}).*?^\1", re.DOTALL | re.MULTILINE),  # code
    re.compile(r"\$\$.*?\$\$|(?<!\\)\$[^$\n]+\$", re.DOTALL),  # mathematics
    re.compile(r"\{(?:" + "|".join(("measured", PAPERS_OWN, GIVEN)) + r")\}`[^`]*`"),
    PATTERN,  # the same in a page that no build reads
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
    """The numbers of a page that are none of a record, and of no kind that is no measurement, with what is around."""
    for kind in NO_FIGURES:
        text = kind.sub(lambda match: " · " + "\n" * match[0].count("\n"), text)
    return [text[max(0, m.start() - 30) : m.end() + 20].replace("\n", " ") for m in NUMBER.finditer(text)]


@pytest.mark.parametrize("name", sorted(PAGES))
def test_a_page_holds_no_typed_figure(name: str):
    assert typed(PAGES[name].read_text()) == []


@pytest.mark.parametrize("name", sorted(PAGES))
def test_every_figure_that_a_page_takes_is_in_a_record(name: str):
    for said in MEASURED.findall(PAGES[name].read_text()):
        assert shown(said)


def test_a_figure_of_the_site_says_its_value_its_record_and_the_command(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("docutils")
    monkeypatch.syspath_prepend(str(DOCS))
    name, value = "eva/gap-study", "200 tasks: full-reconfiguration: gap to optimum"
    (node,), _ = importlib.import_module("measured").value("measured", "", f"{name}; {value}; {{mean:.1%}}", 1, None)
    record = read(name)
    assert record is not None
    assert node.astext() == f"{record.values[value].mean:.1%}"
    assert node["explanation"] == f"{value} (record {name}: {record.command})"


def test_every_table_and_figure_of_a_paper_that_is_made_here_is_on_a_page():
    pages = "".join(page.read_text() for page in PAGES.values())
    taken = {said.split(";")[0] for said in MEASURED.findall(pages)}
    taken |= {said.split(";")[0].strip() for listed in TABLE.findall(pages) for said in listed.split(",")}
    made = {name for name in recorded() if name.partition("/")[2].startswith(("figure-", "table-", "section-"))}
    assert len(made) > 40
    assert made - taken == {"aryl/figure-8"}  # on some seeds nobody is preempted, so it has no ratio


def test_a_table_of_a_record_says_what_it_is_and_its_command(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("docutils")
    monkeypatch.syspath_prepend(str(DOCS))
    measured = importlib.import_module("measured")
    machine = SimpleNamespace(reporter=None)  # all that a directive asks for

    def drawn(directive: str, *arguments: str) -> Any:
        return getattr(measured, directive)("", list(arguments), {}, [], 1, 0, "", None, machine).run()[0]

    table = drawn("MeasuredTable", "aryl/table-7")
    assert table[0].astext() == "Table 7: Jobs on loaned servers. gapwise reproduce aryl --only table-7 --traces DIR"
    assert [drawn("MeasuredTable", f"aryl/excess; {place}")["ids"] for place in (0, 1)] == [
        ["aryl-excess-0"],
        ["aryl-excess-1"],
    ]
    index = drawn("Reproduced").astext()
    for title, only in (
        ("Figure 14: more and fewer queues", "figure-14"),
        ("Table 7: Jobs on loaned servers", "table-7"),
    ):
        assert f"{title}\n\n{only}" in index


def test_the_figures_of_the_readme_are_those_of_the_records():
    text = README.read_text()
    assert PATTERN.search(text)
    assert renewed(text) == text


def test_the_readme_has_at_most_700_words():
    words = [word for word in re.sub(r"<!--.*?-->", "", README.read_text()).split() if re.search(r"\w", word)]
    assert 300 < len(words) <= 700


SAID = """# Page

All {measured}`aryl/excess; optima proven; {text}`, {paper}`7`, {given}`8`.

```{measured-table} eva/gap-study; 1
:rows: rounds of 40*
:columns: instance set; proven
```
"""
WRONG = """# Page

{measured}`aryl/excess; nothing; {text}`

```{measured-table} aryl/nothing
```

```{measured-table} eva/gap-study
:columns: nothing
```
"""


def built(page: str, folder: Path) -> tuple[int, str, str]:
    """The status of the build of a site of one page, its text and what was said."""
    pytest.importorskip("sphinx")
    conf = f"import sys\nsys.path[:0] = [{str(ROOT)!r}, {str(DOCS)!r}]\nextensions = ['myst_parser', 'measured']\n"
    (folder / "conf.py").write_text(conf)
    (folder / "index.md").write_text(page)
    done = python("-m", "sphinx", "-W", "--keep-going", "-q", "-b", "text", folder, folder / "site")
    return done.returncode, (folder / "site" / "index.txt").read_text(), done.stderr


def test_the_site_takes_values_and_tables_from_records(tmp_path: Path):
    status, text, said = built(SAID, tmp_path)
    assert (status, said) == (0, "")
    explained = "optima proven (record aryl/excess: gapwise study aryl-excess)"  # to whoever points at it
    assert f"All 1,120 of 1,120 ({explained}), 7, 8." in " ".join(text.split())
    assert "10/10" in text
    assert "rounds of 20" not in text


def test_the_rows_of_several_records_are_one_table(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("docutils")
    monkeypatch.syspath_prepend(str(DOCS))
    measured = importlib.import_module("measured")
    tables = [measured._place(said) for said in ("aryl/excess; 0", "aryl/excess")]
    joined = measured._joined(tables)
    assert list(joined.head) == list(tables[0].head)
    assert joined.rows == [*tables[0].rows, *tables[1].rows]
    with pytest.raises(ValueError, match="other columns"):
        measured._joined([tables[0], measured._place("eva/gap-study; 1")])


def test_the_site_is_not_built_without_a_record_that_a_page_takes_from(tmp_path: Path):
    status, _, said = built(WRONG, tmp_path)
    assert status == 1
    for fault in ("has no value 'nothing'", "aryl/nothing.json: no such record", "'nothing' is not in list"):
        assert fault in said


def test_a_finding_is_a_line_with_a_figure_and_a_command_and_an_interval_takes_ten():
    lines = [line for line in (DOCS / "findings.md").read_text().splitlines() if re.match(r"\| (?!finding)\w", line)]
    assert 10 <= len(lines) <= 20
    for line in lines:
        figures = MEASURED.findall(line)
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
        "`gap 0.3`, $x^2 \\le 3$ and {measured}`eva/gap-study; 200 tasks; {mean:.1%}`.",
        "{paper}`1.6` times on {given}`200` tasks, with Python 3.11.",
        "<!-- eva/gap-study; x; {mean} -->2.2%<!--/--> and <!-- paper -->30<!--/--> minutes",
        "```text\n2.2%\n```",
        "A p3.16xlarge and ResNet18.",
    ],
)
def test_what_is_no_measurement_is_passed_over(sentence: str):
    assert typed(f"# Page\n\n{sentence}\n") == []


def test_the_page_of_open_instances_has_each_with_its_gap(monkeypatch: pytest.MonkeyPatch):
    nodes = pytest.importorskip("docutils.nodes")
    monkeypatch.syspath_prepend(str(DOCS))
    (table,) = importlib.import_module("measured").OpenInstances.run(None)
    head, *rows = [[entry.astext() for entry in row.children] for row in table.findall(nodes.row)]
    left = {record.instance: record for record in read_records().values() if not record.proven}
    assert {row[1] for row in rows} == set(left)
    for row in rows:
        said, record = dict(zip(head, row, strict=True)), left[row[1]]
        assert (float(said["best known"]), float(said["bound"])) == pytest.approx((record.objective, record.bound))
        assert float(said["gap"].rstrip("%")) > 0
