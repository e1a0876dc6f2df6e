"""Tables on the terminal. This module alone decides how wide a column is, and how a long name is shortened."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rich.cells import cell_len
from rich.table import Table

from experiments.output.columns import Kind
from experiments.output.terminal import out, print_rich

MARK = "…"
SHORTEST_NAME = 21  # columns of the terminal that a name keeps in any case
WHOLE_NAME = 40  # a table is set by group before names up to this length are shortened
NOTE_LINES = 3  # a note of more lines than this stands below the table


@dataclass(frozen=True)
class _Column:
    heading: str
    kind: Kind
    cells: tuple[str, ...]
    width: int = 0

    @property
    def longest_cell(self) -> int:
        return max(map(cell_len, self.cells), default=0)

    @property
    def longest_line(self) -> int:
        return max(cell_len(self.heading), self.longest_cell)

    def min_width(self, name: int) -> int:
        """Return the minimum width, if up to `name` columns of a name are kept."""
        heading = _longest_word([self.heading])
        if self.kind == "name":
            return max(heading, min(self.longest_cell, name))
        words = _longest_word(self.cells)
        # one long path or address in a text must not take the room of all other columns
        return max(heading, words if self.kind == "number" else min(words, out.width // 4))


def show_table(head: Sequence[tuple[str, Kind]], rows: Iterable[Sequence[str]], grouped: bool = False) -> None:
    """Print a table on standard output that fits the terminal and loses no digit and no part of a heading.

    A table that is too wide continues below with its first columns repeated.

    - `head`: the heading and the kind of each column.
    - `grouped`: if the terminal is too narrow, the values of the first column become lines above their rows.
    """
    rows = list(rows)
    columns = [_Column(text, kind, tuple(row[k] for row in rows)) for k, (text, kind) in enumerate(head)]
    notes = [column for column in columns if column.kind == "note" and any(column.cells)]
    columns = [column for column in columns if column.kind != "note"]
    split, name, gap = _choose_form(columns, grouped)
    groups = columns[0].cells if split else ("",) * len(rows)
    blocks = _blocks(columns[1:] if split else columns, name, gap)
    labels = _labels(blocks[0])
    if notes and len(blocks) == 1:
        left = out.width - _total(blocks[0], gap) - gap
        inside = [n for n in notes if _fits_beside(n, left)][:1]
        blocks[0] += [replace(note, width=min(left, note.longest_line)) for note in inside]
        notes = [note for note in notes if note not in inside]
    names: dict[str, str] = {}
    blocks = [[_shorten_names(column, names) for column in block] for block in blocks]
    once = split and len(blocks) == 1  # the headings stand above the first group alone
    for group, places in groupby(range(len(rows)), key=lambda k: groups[k]):
        here = list(places)
        if once and here[0] == 0:
            _print_block(blocks[0], [], gap)
        if split:
            print_rich(group, "italic")
        for block in blocks:
            _print_block(block, here, gap, header=not once)
        for note in notes:
            for text in dict.fromkeys(note.cells[k] for k in here if note.cells[k]):
                rows_of_text = [labels[k] for k in here if note.cells[k] == text]
                every = len(rows_of_text) == len(here) > 1
                print_rich(f"  {'all rows' if every else '; '.join(rows_of_text)}: {text}")
    for short, whole in names.items():
        print_rich(f"  {short}: {whole}")


def _choose_form(columns: Sequence[_Column], grouped: bool) -> tuple[bool, int, int]:
    """Return whether the table is set by group, the columns that a name keeps, and the blanks between columns."""
    forms = [(False, WHOLE_NAME, 2), (False, WHOLE_NAME, 1)]
    forms += [(True, WHOLE_NAME, 2), (True, WHOLE_NAME, 1)] if grouped else []
    forms += [(grouped, SHORTEST_NAME, 1)]
    fitting = (f for f in forms if _sum_min_widths(columns[f[0] :], f[1], f[2]) <= out.width)
    return next(fitting, forms[-1])


def _fits_beside(notes: _Column, left: int) -> bool:
    """Return whether notes fit to the right of a table, in `left` columns of the terminal, without repetition."""
    if len(set(notes.cells)) == 1 < len(notes.cells):
        return False
    return left >= max(_longest_word(notes.cells), -(-notes.longest_line // NOTE_LINES))


def _blocks(columns: Sequence[_Column], name: int, gap: int) -> list[list[_Column]]:
    """Divide columns into tables that fit, each of which begins with those before the first number."""
    lead = next((k for k, column in enumerate(columns) if column.kind == "number"), len(columns))
    blocks = [list(columns[:lead])]
    for column in columns[lead:]:
        if len(blocks[-1]) > lead and _sum_min_widths([*blocks[-1], column], name, gap) > out.width:
            blocks.append(list(columns[:lead]))
        blocks[-1].append(column)
    return [_set_widths(block, name, gap) for block in blocks]


def _set_widths(columns: Sequence[_Column], name: int, gap: int) -> list[_Column]:
    """Give each column its least width, then the room that is left to names, headings and texts in turn."""
    widths = [column.min_width(name) for column in columns]
    left = out.width - sum(widths) - gap * (len(columns) - 1)
    names = [column.longest_cell if column.kind == "name" else 0 for column in columns]
    headings = [column.longest_line if column.kind == "number" else 0 for column in columns]
    texts = [column.longest_line if column.kind != "number" else 0 for column in columns]
    wanted = sum(max(0, most - width) for width, most in zip(widths, headings, strict=True))
    # headings of numbers take one line each or break at every place, so that similar headings look alike
    for goal in (names, headings, texts) if wanted <= left else (names, texts):
        while left > 0 and any(width < most for width, most in zip(widths, goal, strict=True)):
            for k, most in enumerate(goal):
                if widths[k] < most and left > 0:
                    widths[k] += 1
                    left -= 1
    return [replace(column, width=width) for column, width in zip(columns, widths, strict=True)]


def _shorten_names(column: _Column, names: dict[str, str]) -> _Column:
    """Shorten the names of a column that are longer than its width, and add them to `names`."""
    if column.kind != "name":
        return column
    short = shorten(column.cells, column.width)
    names.update({small: whole for whole, small in short.items()})
    return replace(column, cells=tuple(short.get(cell, cell) for cell in column.cells))


def shorten(names: Iterable[str], width: int) -> dict[str, str]:
    """Return the names that are longer than `width`, each with a form that is short, unlike all others.

    Names that differ in no part that fits are absent: they take several lines.
    """
    names = set(names)
    long = sorted(name for name in names if cell_len(name) > width)
    kept = width - cell_len(MARK)
    for begin in sorted(range(1, kept), key=lambda n: abs(2 * n - kept)):
        short = {name: f"{_cut(name, begin)}{MARK}{_cut(name[::-1], kept - begin)[::-1]}" for name in long}
        if len({*short.values(), *names.difference(long)}) == len(names):
            return short
    return {}


def _cut(text: str, width: int) -> str:
    while cell_len(text) > width:
        text = text[:-1]
    return text


def _print_block(block: Sequence[_Column], places: Sequence[int], gap: int, header: bool = True) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, gap, 0, 0), show_header=header)
    for column in block:
        right = column.kind == "number"
        table.add_column(column.heading, justify="right" if right else "left", width=column.width, overflow="fold")
    for k in places:
        table.add_row(*(column.cells[k] for column in block))
    print_rich(table)


def _labels(block: Sequence[_Column]) -> list[str]:
    """Return the names of each row: the cells of the columns before the first number."""
    lead = next((k for k, column in enumerate(block) if column.kind == "number"), len(block))
    names = [column for column in block[:lead] if column.kind == "name"] or block[:lead]
    return [", ".join(cells) for cells in zip(*(column.cells for column in names), strict=True)]


def _sum_min_widths(columns: Sequence[_Column], name: int, gap: int) -> int:
    return sum(column.min_width(name) for column in columns) + gap * (len(columns) - 1)


def _total(columns: Sequence[_Column], gap: int) -> int:
    return sum(column.width for column in columns) + gap * (len(columns) - 1)


def _longest_word(texts: Iterable[str]) -> int:
    return max((cell_len(word) for text in texts for word in text.split()), default=0)
