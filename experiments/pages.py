"""Figures and tables in Markdown pages: each stands in the page, between comments that name the record it comes from.

- `<!-- RECORD; VALUE; FORM -->2.2%<!--/-->`: `FORM` with the figures of a value, as in `{mean:.1%} on average`.
- `<!-- paper -->30<!--/-->`, `<!-- given -->5<!--/-->`: a figure of a paper, or a parameter that somebody has set.
- `<!-- table RECORD; PLACE | rows: LIKE; LIKE | columns: NAME; NAME -->`, a table, `<!--/table-->`: a table of a
  record, or of its claims if the record has no table. `RECORD, RECORD` joins the rows of several records.
- `<!-- table of papers -->`, `<!-- table of open instances -->`, `<!-- table of reproductions -->`: the first table of
  README, the library's open instances, and the command of each reproduced figure.
- `<!-- table of heuristics of PROBLEM -->`: the heuristics of a problem, each with the first line of its docstring.
- `<!-- table of columns of FILE -->`: the columns of a study's `results.csv` or `summary.csv`.

`renew_page` writes the figures that the records have now. The build refuses a page that differs from this.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from experiments.harness.evidence import FOLDER, Evidence, Value, list_records, path_of, read, show_text
from experiments.harness.experiment import TextTable
from experiments.harness.overview import overview_of_records
from experiments.harness.records import Record, read_records
from experiments.harness.user_functions import ROOT, resolve
from experiments.output.columns import RUN_COLUMNS, SUMMARY_COLUMNS, ResultColumn
from experiments.papers import METHODS, OVERVIEW
from instances import InputError
from instances.files import write_whole
from instances.gaps import gap

README, DOCS = ROOT / "README.md", ROOT / "docs"
FIGURE = re.compile(r"<!-- (?P<said>paper|given|[^;>]+;[^>]+?) -->(?P<shown>[^<]*)<!--/-->")
TABLE = re.compile(r"<!-- table (?P<said>[^>]+?) -->\n(?P<shown>.*?)<!--/table-->", re.DOTALL)
PAPERS_OWN, GIVEN = "paper", "given"
"""Names of figures that no record has: a figure of the paper, and a parameter that somebody has set."""
COLUMNS: Mapping[str, Sequence[ResultColumn[Any]]] = {
    "of columns of results.csv": RUN_COLUMNS,
    "of columns of summary.csv": SUMMARY_COLUMNS,
}


def pages(docs: Path = DOCS, readme: Path = README) -> list[Path]:
    """Return the pages that may show figures: the README and the pages of the docs."""
    found = [readme, *sorted(docs.rglob("*.md"))]
    return [page for page in found if page.is_file() and not any(part.startswith("_") for part in page.parts)]


def renew_pages() -> None:
    """Write the figures of all records into the pages. Raises InputError if a page names what no record has."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if (now := renew_page(text)) != text:
            write_whole(page, now.encode())


def renew_page(page: str, folder: Path = FOLDER) -> str:
    """Return the text of a page with the figures and tables that the records in `folder` have now.

    Raises InputError if a page names a record, a value, a row or a column that does not exist.
    """

    def figure(match: re.Match[str]) -> str:
        said = match["said"]
        text = match["shown"] if said in (PAPERS_OWN, GIVEN) else show_text(said, folder)
        return f"<!-- {said} -->{text}<!--/-->"

    def table(match: re.Match[str]) -> str:
        said = match["said"]
        try:
            return f"<!-- table {said} -->\n{_table_of(said, folder)}\n<!--/table-->"
        except (ValueError, IndexError) as error:
            raise InputError(f"table {said}: {error}") from None

    return TABLE.sub(table, FIGURE.sub(figure, page))


def explain_figures(page: str) -> str:
    """Return a page in which each figure of a record is an HTML abbreviation that explains where it comes from."""

    def figure(match: re.Match[str]) -> str:
        if match["said"] in (PAPERS_OWN, GIVEN):
            return match["shown"]
        record, value, _ = (part.strip() for part in match["said"].split(";", 2))
        made = read(record)
        title = f"{value} (record {record}: {'' if made is None else made.command})".replace('"', "&quot;")
        return f'<abbr title="{title}">{match["shown"]}</abbr>'

    return FIGURE.sub(figure, page)


def _table_of(said: str, folder: Path) -> str:
    """Return the Markdown of a table. Raises ValueError and IndexError for rows or columns that it does not have."""
    if said == "of open instances":
        open_ones = [_open(record) for record in read_records().values() if not record.proven]
        head = ["problem", "instance", "best known", "by", "bound", "proved by", "gap"]
        return _markdown(TextTable(head, open_ones))
    if said == "of papers":
        records = [record for paper in OVERVIEW if (record := read(f"{paper}/gap-study", folder)) is not None]
        return _markdown(overview_of_records(list(OVERVIEW.values()), records))
    if said.startswith("of heuristics of "):
        return _markdown(_heuristics(said.removeprefix("of heuristics of ")))
    if said in COLUMNS:
        alike = groupby(COLUMNS[said], key=attrgetter("about"))
        rows = [[", ".join(f"`{column.name}`" for column in columns), about] for about, columns in alike]
        return _markdown(TextTable(["column", "meaning"], rows))
    if said == "of reproductions":
        return _markdown(_reproductions(folder))
    places, *choices = (part.strip() for part in said.split("|"))
    asked = dict(choice.split(": ", 1) for choice in choices)
    if unknown := asked.keys() - {"rows", "columns"}:
        raise InputError(f"table {said}: rows or columns may be chosen, got {min(unknown)}")
    tables = [_place(place, folder) for place in places.split(",")]
    if any(list(table.head) != list(tables[0].head) for table in tables):
        raise InputError(f"table {said}: the tables have different columns")
    joined = TextTable(tables[0].head, [row for table in tables for row in table.rows])
    drawn = _markdown(_chosen(joined, asked.get("rows", "*"), asked.get("columns")))
    made = read(places.partition(";")[0], folder)
    return drawn if made is None or len(tables) > 1 else f"**{_title(made)}** `{made.command}`\n\n{drawn}"


def _markdown(table: TextTable) -> str:
    rows = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in (table.head, *table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:]))


def _place(said: str, folder: Path) -> TextTable:
    """Return the table of `RECORD; PLACE`, or the table of the record's claims."""
    record, _, place = (part.strip() for part in said.partition(";"))
    found = read(record, folder)
    if found is None:
        raise InputError(f"{path_of(record, folder)}: no such record")
    if found.tables:
        return found.tables[int(place or 0)]
    rows = [_claim(one) for one in found.values.values() if one.claim is not None]
    return TextTable(["where", "what", "paper", "ours", "verdict"], rows)


def _claim(one: Value) -> list[str]:
    claim = one.claim or {}
    paper, ours = claim.get("paper", "-"), one.text if one.text is not None else "-"
    if one.mean is not None:
        ours = _number(one.mean)
    if one.low is not None and one.high is not None:
        low, high, least, greatest = (_number(at) for at in (one.low, one.high, one.least, one.greatest))
        ours += f" ({one.n} seeds, 95% {low} to {high}, {least} to {greatest})"
    return [claim["where"], claim["what"], paper if isinstance(paper, str) else _number(paper), ours, claim["verdict"]]


def _number(number: float | None) -> str:
    """Return four digits, and all digits before the point."""
    if number is None:
        return "-"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def _chosen(table: TextTable, rows: str, columns: str | None) -> TextTable:
    """Return the rows whose first cell matches one of `rows`, and the named columns. Raises ValueError."""
    head, likes = list(table.head), _split_list(rows)
    places = range(len(head)) if columns is None else [head.index(name) for name in _split_list(columns)]
    kept = [row for row in table.rows if any(fnmatchcase(row[0], like) for like in likes)]
    return TextTable([head[k] for k in places], [[row[k] for k in places] for row in kept])


def _split_list(text: str) -> list[str]:
    return [part.strip() for part in text.split(";")]


def _title(made: Evidence) -> str:
    """Return the title of a record, after the number of the paper's figure or table."""
    title = made.title.removeprefix("Print ").rstrip(".")
    title = title[0].upper() + title[1:]
    kind, _, number = made.id.partition("/")[2].partition("-")
    named = kind in ("figure", "table", "section") and not title.startswith((kind.title(), "Figures"))
    return f"{kind.title()} {number.partition('-')[0]}: {title}." if named else f"{title}."


def _open(record: Record) -> list[str]:
    best, bound = record.objective, record.bound
    said = ["-" if number is None else f"{number:.10g}" for number in (best, bound)]
    left = None if best is None or bound is None else gap(best, bound, "minimize" if bound < best else "maximize")
    open_by = "-" if left is None else f"{100 * left:.2g}%"
    return [record.problem, record.instance, said[0], record.found_by, said[1], record.proved_by, open_by]


def _reproductions(folder: Path) -> TextTable:
    texts = {page.relative_to(DOCS): page.read_text(encoding="utf-8") for page in sorted(DOCS.glob("*.md"))}
    rows = []
    for name in sorted(list_records(folder), key=_build_sort_key):
        made = read(name, folder)
        if made is not None and made.command.startswith("gapwise reproduce"):
            paper, only = name.split("/")
            spent = "-" if made.cpu_s is None else f"{made.cpu_s:,.0f}"
            kept = "" if made.kept is None else f" (kept: {made.kept})"
            rows.append([paper, _title(made).rstrip(".") + kept, f"`{only}`", spent, _page(name, texts)])
    return TextTable(["PAPER", "what", "NAME", "CPU s", "page"], rows)


def _heuristics(problem: str) -> TextTable:
    """Return the heuristics of a problem with what the first lines of their docstrings say."""
    entries = [one for one in METHODS.get(problem, ()) if one.is_heuristic]
    if not entries:
        raise InputError(f"{problem}: has no heuristics")
    lines = ((one.name, (inspect.getdoc(resolve(one.target)) or "").split("\n\n")[0]) for one in entries)
    return TextTable(
        ["heuristic", "what it is"],
        [[f"`{name}`", line.replace("\n", " ").replace("*", "\\*")] for name, line in lines],
    )


def _build_sort_key(name: str) -> list[str]:
    """Return a key that sorts Figure 5 before Figure 10."""
    return [part.zfill(9) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _page(record: str, texts: Mapping[Path, str]) -> str:
    """Return a link to the page with the record's table, or else to the first page with one of its figures."""
    patterns: Sequence[str] = (rf"<!-- table ([^>]*, )?{re.escape(record)}[;,| ]", f"<!-- {re.escape(record)};")
    for pattern in patterns:
        for page, text in texts.items():
            if re.search(pattern, text):
                return f"[{page.stem}]({page})"
    return "-"
