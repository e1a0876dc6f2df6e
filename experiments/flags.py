"""The command-line flags that the commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from instances import Options

Method = Annotated[
    list[str] | None,
    typer.Option(help="Method, `all`, or your own `package.module:function`; repeatable.", show_default="exact"),
]
TimeLimit = Annotated[float | None, typer.Option(help="Wall seconds for each run.", show_default="none")]
Gap = Annotated[float | None, typer.Option(help="Relative gap that counts as optimal.", show_default="1e-6")]
Threads = Annotated[int | None, typer.Option(help="Solver threads of each run.", show_default="1")]
Seed = Annotated[int | None, typer.Option(help="Seed of all that is random.", show_default="0")]
Jobs = Annotated[int, typer.Option(help="Runs at a time.", min=1)]
Format = Annotated[Literal["table", "csv", "json"], typer.Option(help="What to print on standard output.")]
Out = Annotated[Path | None, typer.Option("--out", help="Folder for results.", show_default="none")]
Resume = Annotated[bool, typer.Option("--resume", help="Do not repeat the runs that are finished in --out.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]


def options(**given: Any) -> tuple[Options, frozenset[str]]:
    """The options, and the names of those the user set. Raises InputError for a value out of range."""
    said = {name: value for name, value in given.items() if value is not None}
    return Options(**said), frozenset(said)
