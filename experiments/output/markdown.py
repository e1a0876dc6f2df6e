"""A table in Markdown, as it stands in the docs: its columns are never broken, however wide they are."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.output.terminal import out


def print_markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on standard output; all columns but the first are set to the right."""
    out.print("| " + " | ".join(head) + " |")
    out.print("|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        out.print("| " + " | ".join(row) + " |")
