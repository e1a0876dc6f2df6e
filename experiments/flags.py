"""The command-line flags that the commands share, and the session that they make together."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from experiments.entry import set_signature
from experiments.output.terminal import err
from experiments.session import Session
from instances import PROBLEMS, InputError, Options


def method_names(incomplete: str) -> list[str]:
    """Return the names of methods that complete a word."""
    from experiments.harness.entry import GROUPS
    from experiments.papers import METHODS  # which loads more than the flags need

    names = dict.fromkeys([*GROUPS, *(entry.name for entries in METHODS.values() for entry in entries)])
    return [name for name in names if name.startswith(incomplete)]


def policy_names(incomplete: str) -> list[str]:
    """Return the names of policies that complete a word."""
    from experiments.papers import ONLINE
    from experiments.simulator.simulation import policy_names as names_of

    return [n for n in dict.fromkeys(["all", *(m for p in ONLINE for m in names_of(p))]) if n.startswith(incomplete)]


def problem_names(incomplete: str) -> list[str]:
    """Return the names of problems that complete a word."""
    return [name for name in PROBLEMS if name.startswith(incomplete)]


Method = Annotated[
    list[str] | None,
    typer.Option(
        help="Method, `all`, or your own `package.module:function`; repeatable.",
        show_default="exact",
        autocompletion=method_names,
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", help="Only this instance set, as in the table; `*` stands for anything.", show_default="all"),
]
Quick = Annotated[bool, typer.Option("--quick", help="Fewer instances of each reference set.")]
KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY
COMMON: dict[str, tuple[Any, Any, Any]] = {
    "time_limit": (float | None, None, typer.Option(help="CPU seconds for each run, without compilation.")),
    "gap": (float, Options().gap, typer.Option(help="Relative gap that counts as optimal.")),
    "threads": (int, Options().threads, typer.Option(help="Solver threads of each run.")),
    "seed": (int, Options().seed, typer.Option(help="Seed of all that is random.")),
    "effort": (
        int | None,
        None,
        typer.Option(help="Nodes and rounds of each run, the same on every machine.", show_default="no limit"),
    ),
    "jobs": (int, 1, typer.Option(help="Runs at a time.", min=1)),
    "format": (Literal["table", "csv", "json"], "table", typer.Option(help="What to print on standard output.")),
    "out": (Path | None, None, typer.Option("--out", help="Folder for results.")),
    "resume": (bool, False, typer.Option("--resume", help="Do not repeat the runs that are finished in --out.")),
    "quiet": (bool, False, typer.Option("--quiet", help="No progress.")),
    "dask": (
        str | None,
        None,
        typer.Option(metavar="ADDRESS", help="Run on the workers of this Dask scheduler.", show_default="this machine"),
    ),
    "old_dask": (str | None, None, typer.Option("--cluster", hidden=True, help="The former name of --dask.")),
}
"""Type, default and option of the flags that every command has."""
OPTIONS = ("time_limit", "gap", "threads", "seed", "effort")
"""Those of them that are options of a run."""


MARKDOWN = Literal["table", "csv", "json", "markdown"], *COMMON["format"][1:]
"""The flag `--format` of a command that also writes Markdown."""


def common(markdown: bool = False, **defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace the parameter `session` of a command by the common flags; return the decorator.

    `markdown`: whether `--format` may also be `markdown`. `defaults`: other defaults of this command.
    """
    flags = COMMON | {"format": MARKDOWN} if markdown else COMMON

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters.values()
        shared = [
            inspect.Parameter(
                name, KEYWORD_ONLY, default=defaults.get(name, default), annotation=Annotated[kind, option]
            )
            for name, (kind, default, option) in flags.items()
        ]

        def call(**given: Any) -> None:
            said = {name: given.pop(name) for name in COMMON}
            command(**given, session=session_of(said))

        set_signature(call, command, [*(p for p in own if p.name != "session"), *shared])
        return call

    return decorate


def session_of(said: dict[str, Any]) -> Session:
    """Return the session that the common flags describe. Raises InputError for a value out of range."""
    if said["resume"] and said["out"] is None:
        raise InputError("--resume: needs --out, the folder with the finished runs")
    if said["old_dask"] is not None:
        if said["dask"] is not None:
            raise InputError("--cluster: is the former name of --dask; give --dask alone")
        err.print("gapwise: --cluster is now called --dask; the former name still works")
    return Session(
        options=Options(**{name: said[name] for name in OPTIONS}),
        jobs=said["jobs"],
        format=said["format"],
        folder=said["out"],
        resume=said["resume"],
        quiet=said["quiet"],
        cluster=said["dask"] if said["old_dask"] is None else said["old_dask"],
    )
