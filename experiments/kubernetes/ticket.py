"""Write the answer of `cluster` as a ticket in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.kubernetes.pool_table import HEAD, pool_cells
from experiments.kubernetes.steps import RunbookStep
from experiments.kubernetes.tools import MEANINGS, VARIABLE

MINUTE = 60
MARKUP = re.compile(r"([\\\\`*_{}\\[\\]<>|#])")


@dataclass(frozen=True)
class Ticket:
    """The content of a ticket.

    - `saving`: the share of the bill that the plan saves.
    - `head`, `bills`: the table of bills; `lines`: those below it.
    - `pools`: a row per pool; `steps`: those of the plan.
    """

    saving: float
    head: Sequence[str]
    bills: Sequence[Sequence[str]]
    lines: Sequence[str]
    pools: Sequence[Mapping[str, Any]]
    steps: Sequence[RunbookStep]

    def __str__(self) -> str:
        return "\n".join(_lines(self)) + "\n"


def _lines(made: Ticket) -> Iterator[str]:
    steps = made.steps
    yield f"# Save {made.saving:.1%} of the bill of a cluster" if steps else "# No plan saves anything"
    yield ""
    yield from _table([text or "note" for text in made.head], made.bills)
    yield ""
    yield from (f"- {_plain(line)}" for line in made.lines)
    yield ""
    yield "## Pools"
    yield ""
    yield from _table([text for text, _ in HEAD], [pool_cells(row) for row in made.pools])
    if not steps:
        return
    yield ""
    yield "## Steps"
    yield ""
    yield "Run the commands in one shell, in this order. Each ends by itself. If one fails, run the commands under"
    yield "*if a command fails* instead of the rest, and then those of the last step."
    wanted = _find_variables(steps)
    if wanted:
        yield ""
        yield "Set these values first:"
        yield ""
        yield "```sh"
        yield from (f"{name}=  # {MEANINGS[name]}" for name in wanted)
        yield "```"
    for i, step in enumerate(steps, 1):
        yield from _step_lines(i, step)


def _step_lines(i: int, step: RunbookStep) -> Iterator[str]:
    cost = "" if step.usd_per_hour is None else f" ({step.usd_per_hour:.4f} USD/h afterwards)"
    yield ""
    yield f"### {i}. {_plain(step.title)}{cost}"
    if step.timeout_s:
        yield ""
        yield f"At most {-(-step.timeout_s // MINUTE)} minutes."
    if step.notes:
        yield ""
        yield from (f"- {_plain(note)}" for note in step.notes)
    if step.commands:
        yield from ("", "```sh", *step.commands, "```")
    if step.on_failure:
        yield from ("", "If a command fails:", "", "```sh", *step.on_failure, "```")


def _find_variables(steps: Sequence[RunbookStep]) -> list[str]:
    """Return the variables of the commands that the user sets, in the order of their use."""
    texts = [line for step in steps for line in (*step.commands, *step.on_failure)]
    names = dict.fromkeys(found[1:] for text in texts for found in VARIABLE.findall(text))
    return [name for name in names if name in MEANINGS]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _row(head)
    yield _row("---" for _ in head)
    yield from (_row(map(_plain, row)) for row in rows)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """Return a text in one line without the effect of marks of Markdown."""
    return MARKUP.sub(r"\\\1", " ".join(text.split()))
