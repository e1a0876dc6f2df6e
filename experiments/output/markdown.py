"""A table in Markdown, as it stands in the docs: its columns are never broken, however wide they are."""

from __future__ import annotations

from experiments.harness.experiment import Table


def markdown(table: Table) -> list[str]:
    """The lines of a table; all columns but the first are set to the right."""
    rows = ["| " + " | ".join(row) + " |" for row in (table.head, *table.rows)]
    return [rows[0], "|---|" + "---:|" * (len(table.head) - 1), *rows[1:]]
