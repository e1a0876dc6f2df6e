"""The commands of the console script `gapwise`."""

from __future__ import annotations

import importlib
import sys
from typing import Annotated

import typer

from experiments.entry import run_app
from instances.result import versions

COMMANDS = (
    "check",
    "draw",
    "gap_study",
    "library",
    "list",
    "pareto",
    "reproduce",
    "schema",
    "score",
    "solve",
    "simulate",
    "verify",
)
GROUPS = ("draw",)  # commands of commands


def _print_version(asked: bool) -> None:
    if asked:
        found = dict(versions())
        print(f"gapwise {found.pop('gapwise', 'not installed')} ({', '.join(map(' '.join, found.items()))})")
        raise typer.Exit()


def main() -> None:
    """Run `gapwise`."""
    arguments = sys.argv[1:]
    run_app(app_of(arguments), arguments)


def app_of(arguments: list[str]) -> typer.Typer:
    """The commands; where one is called, that alone, for others take longer to load than it may take to run."""
    app = typer.Typer(help="True optimality gaps for GPU-cluster scheduling.", no_args_is_help=True)
    app.callback()(_common)  # so that a single command, too, is called by its name
    for name in COMMANDS if not arguments or arguments[0] not in COMMANDS else arguments[:1]:
        module = importlib.import_module(f"experiments.{name}")
        if name in GROUPS:
            app.add_typer(module.drawings(), name=name)
        else:
            app.command(name)(getattr(module, name))
    return app


def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass


if __name__ == "__main__":
    main()
