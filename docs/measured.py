"""Figures of the site come from records: a role for a value, a directive for a table, marks for what is no measurement.

``{measured}`RECORD; VALUE; FORM` `` shows `FORM` with the figures of a value, as in `{mean:.1%} on average`;
`{measured-table} RECORD; PLACE` a table, of the claims where the record has none, with the command that makes it, and
`{measured-table} RECORD, RECORD` the rows of several tables of the same columns. `{reproduced}` leads from each figure
of a paper to its command. `{paper}` is a figure of a paper's, `{given}` a parameter that somebody has set.
`{open-instances}` is the table of what the library has no proven optimum of.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive, directives

from experiments.harness.evidence import GIVEN, PAPERS_OWN, SEPARATOR, Evidence, Value, path_of, read, recorded, shown
from experiments.harness.experiment import TextTable
from experiments.harness.records import Record, read_records
from instances import InputError
from instances.gaps import gap

HERE = Path(__file__).resolve().parent
Made = tuple[list[nodes.Node], list[nodes.system_message]]
Row = Sequence[str | nodes.Node]


def value(name: str, raw: str, text: str, line: int, inliner: Any, options: Any = None, content: Any = None) -> Made:
    """The role of a value of a record, which says where it is from to whoever points at it."""
    try:
        figure = shown(text)
    except InputError as error:
        told = inliner.reporter.error(str(error), line=line)
        return [inliner.problematic(raw, raw, told)], [told]
    record, of_it, _ = (part.strip() for part in text.split(SEPARATOR, 2))
    return [nodes.abbreviation("", figure, explanation=f"{of_it} (record {record}: {_command(record)})")], []


@cache
def _command(record: str) -> str:
    found = read(record)
    return "" if found is None else found.command


def said(name: str, raw: str, text: str, line: int, inliner: Any, options: Any = None, content: Any = None) -> Made:
    """The role of a figure that is no measurement of ours: it is shown as it is."""
    return [nodes.Text(text)], []


class MeasuredTable(Directive):
    """A table of a record, or the rows of several records' tables one below the other.

    `rows`: those whose first cell is like one of these, `columns`: the heads of those shown.
    """

    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"rows": directives.unchanged, "columns": directives.unchanged}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """The table. Raises an error of the page where there is none."""
        try:
            places = self.arguments[0].split(",")
            table = _joined([_place(said) for said in places])
            chosen = _chosen(table, self.options.get("rows", "*"), self.options.get("columns"))
            drawn = _drawn(chosen.head, chosen.rows)
            return [drawn if len(places) > 1 else _captioned(drawn, places[0])]
        except (InputError, ValueError, IndexError) as error:
            raise self.error(f"{self.arguments[0]}: {error}") from None


class Reproduced(Directive):
    """From each figure of a paper that has a record to its command, what that takes, and the page where ours is."""

    def run(self) -> list[nodes.Node]:
        """The table."""
        pages = {page.stem: page.read_text(encoding="utf-8") for page in sorted(HERE.glob("*.md"))}
        rows: list[Row] = []
        for name in sorted(recorded(), key=_numbered):
            made = read(name)
            if made is not None and made.command.startswith("gapwise reproduce"):
                paper, only = name.split("/")
                spent = "-" if made.cpu_s is None else f"{made.cpu_s:,.0f}"
                rows.append([paper, _title(made).rstrip("."), nodes.literal("", only), spent, _page(name, pages)])
        return [_drawn(["PAPER", "what", "NAME", "CPU s", "page"], rows)]


def _numbered(name: str) -> list[str]:
    """A key that sorts Figure 5 before Figure 10."""
    return [part.zfill(9) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def _page(record: str, pages: Mapping[str, str]) -> nodes.Node:
    """A link to the table that is made from a record, or to the first page that takes a figure from it."""
    table = re.compile(rf"measured-table}} ({re.escape(record)}(?:;.*)?)$", re.MULTILINE)
    for name, text in pages.items():
        if found := table.search(text):
            return nodes.reference("", name, refuri=f"{name}.html#{nodes.make_id(found[1])}")
    for name, text in pages.items():
        if f"{{measured}}`{record};" in text:
            return nodes.reference("", name, refuri=f"{name}.html")
    return nodes.Text("-")


class OpenInstances(Directive):
    """The instances of the library whose optimum is not proven: the best that is known, the best bound, who by."""

    def run(self) -> list[nodes.Node]:
        """The table."""
        rows = [_open(record) for record in read_records().values() if not record.proven]
        head = ["problem", "instance", "best known", "by", "bound", "proved by", "gap"]
        return [_drawn(head, rows)]


def _open(record: Record) -> list[str]:
    best, bound = record.objective, record.bound
    said = ["-" if number is None else f"{number:.10g}" for number in (best, bound)]
    left = None if best is None or bound is None else gap(best, bound, "minimize" if bound < best else "maximize")
    told = "-" if left is None else f"{100 * left:.2g}%"
    return [record.problem, record.instance, said[0], record.found_by, said[1], record.proved_by, told]


def _place(said: str) -> TextTable:
    """The table of `RECORD; PLACE`."""
    record, _, place = said.partition(";")
    return _table(record.strip(), int(place or 0))


def _joined(tables: Sequence[TextTable]) -> TextTable:
    """The rows of all tables. Raises ValueError where they have not the same columns."""
    if any(list(table.head) != list(tables[0].head) for table in tables):
        raise ValueError("tables of other columns")
    return TextTable(tables[0].head, [row for table in tables for row in table.rows])


def _table(record: str, place: int) -> TextTable:
    """A table of a record, or of its claims."""
    found = read(record)
    if found is None:
        raise InputError(f"{path_of(record)}: no such record")
    if found.tables:
        return found.tables[place]
    rows = [_claim(one) for one in found.values.values() if one.claim is not None]
    return TextTable(["where", "what", "paper", "ours", "verdict"], rows)


def _claim(one: Value) -> list[str]:
    claim = one.claim or {}
    paper, ours = claim.get("paper", "-"), one.text if one.text is not None else "-"
    if one.mean is not None:
        ours = _plain(one.mean)
    if one.low is not None and one.high is not None:
        low, high, least, greatest = (_plain(at) for at in (one.low, one.high, one.least, one.greatest))
        ours += f" ({one.n} seeds, 95% {low} to {high}, {least} to {greatest})"
    return [claim["where"], claim["what"], paper if isinstance(paper, str) else _plain(paper), ours, claim["verdict"]]


def _plain(number: float | None) -> str:
    """Four digits, and all of those before the point."""
    if number is None:
        return "-"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def _chosen(table: TextTable, rows: str, columns: str | None) -> TextTable:
    """The rows and columns of a table that are asked for. Raises ValueError for a head that it has not."""
    places = range(len(table.head)) if columns is None else [list(table.head).index(c) for c in _listed(columns)]
    like = _listed(rows)
    kept = [row for row in table.rows if any(fnmatchcase(row[0], one) for one in like)]
    return TextTable([table.head[k] for k in places], [[row[k] for k in places] for row in kept])


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(";")]


def _captioned(table: nodes.table, place: str) -> nodes.table:
    """The table of `RECORD; PLACE` with what it shows and the command that makes it."""
    made = read(place.partition(";")[0].strip())
    if made is not None:
        table.insert(0, nodes.title("", "", nodes.Text(f"{_title(made)} "), nodes.literal("", made.command)))
    table["ids"].append(nodes.make_id(place))
    return table


def _title(made: Evidence) -> str:
    """What a record shows, with the number of the paper's figure: that of a study is the first line of its help."""
    title = made.title.removeprefix("Print ").rstrip(".")
    title = title[0].upper() + title[1:]
    kind, _, number = made.id.partition("/")[2].partition("-")
    named = kind in ("figure", "table", "section") and not title.startswith((kind.title(), "Figures"))
    return f"{kind.title()} {number.partition('-')[0]}: {title}." if named else f"{title}."


def _drawn(head: Sequence[str], rows: Sequence[Row]) -> nodes.table:
    drawn = [[nodes.Text(cell) if isinstance(cell, str) else cell for cell in row] for row in (head, *rows)]
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=max(len(cell.astext()) for cell in column)) for column in zip(*drawn, strict=True)]
    group += nodes.thead("", _row(drawn[0]))
    group += nodes.tbody("", *map(_row, drawn[1:]))
    return nodes.table("", group)


def _row(cells: Sequence[nodes.Node]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def setup(app: Any) -> None:
    """Make the roles and the directive known: `docs/conf.py` calls it."""
    app.add_role("measured", value)
    for name in (PAPERS_OWN, GIVEN):
        app.add_role(name, said)
    app.add_directive("measured-table", MeasuredTable)
    app.add_directive("open-instances", OpenInstances)
    app.add_directive("reproduced", Reproduced)
