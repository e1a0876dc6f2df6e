"""The commands of the console script `gapwise`. Each is loaded only when it is called."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Annotated

import typer

from experiments.entry import run_app

EVERYDAY, PAPERS = "Everyday commands", "Papers, library and records"
COMMANDS: dict[str, tuple[str, str]] = {
    "gap_study": (EVERYDAY, "Compare heuristics with proven optima."),
    "solve": (EVERYDAY, "Solve instance files, exactly or with any method."),
    "score": (EVERYDAY, "Score your own heuristic on the reference library."),
    "worst": (EVERYDAY, "Find the worst instance of a heuristic, with a proof."),
    "simulate": (EVERYDAY, "Simulate online policies on workloads."),
    "cluster": (EVERYDAY, "Find savings in a Kubernetes cluster, from its dump."),
    "pareto": (EVERYDAY, "Print the trade-off between two objectives."),
    "check": (EVERYDAY, "Check instance files and solutions."),
    "verify": (EVERYDAY, "Verify a certificate in exact arithmetic."),
    "draw": (EVERYDAY, "Generate an instance or a workload."),
    "list": (EVERYDAY, "List problems, methods, policies, sets and studies."),
    "schema": (EVERYDAY, "Print the JSON Schema of a file format."),
    "reproduce": (PAPERS, "Reproduce tables and figures of the papers."),
    "study": (PAPERS, "Measure a table of the documentation."),
    "library": (PAPERS, "List, write, check and extend the reference library."),
    "data": (PAPERS, "Check and convert the public traces."),
}
"""The group of each command in the help, and a line that says what the command does."""
FIRST_STEPS = """\
True optimality gaps for GPU-cluster scheduling.

  gapwise gap_study --quick      compare heuristics with proven optima, in a minute
  gapwise list problems          list the problems that can be solved
  gapwise schema eva-packing     print the file format of a problem
  gapwise solve FILE.json        solve an instance file with a proof
  gapwise score MODULE:FUNCTION --problem NAME
                                 score your own heuristic

gapwise --help lists all commands, and gapwise COMMAND --help lists the flags of one."""
GROUPS = ("data", "draw", "study")  # commands of commands
COMPLETION = "_GAPWISE_COMPLETE"  # set by a shell that completes a command


def _print_version(asked: bool) -> None:
    if asked:
        from instances.result import versions

        found = dict(versions())
        print(f"gapwise {found.pop('gapwise', 'not installed')} ({', '.join(map(' '.join, found.items()))})")
        raise typer.Exit()


def main() -> None:
    """Run `gapwise`."""
    arguments = words_of(sys.argv[1:])
    run_app(app_of(arguments), arguments)


def words_of(arguments: list[str]) -> list[str]:
    """Return the arguments with the name of the command, `gap_study`, if it is given as `gap-study`."""
    called = [word.replace("-", "_") for word in arguments[:1]]
    return called + arguments[1:] if called and called[0] in COMMANDS else arguments


def app_of(arguments: list[str]) -> typer.Typer:
    """Return the commands: the called one, and the name and a line of each other one, which would take long to load."""
    app = typer.Typer(help="True optimality gaps for GPU-cluster scheduling.")
    app.callback(invoke_without_command=True)(_common)  # so that a single command, too, is called by its name
    words = [word for word in arguments if not word.startswith("-")]
    for name, (panel, text) in COMMANDS.items():
        if words[:1] == [name] or COMPLETION in os.environ:
            made = getattr(importlib.import_module(f"experiments.{name}"), name)
            if name in GROUPS:
                app.add_typer(made(arguments[arguments.index(name) + 1 :] if words else []), name=name)
            else:
                app.command(name)(made)
        else:
            app.command(name, help=text, rich_help_panel=panel)(lambda: None)
    return app


def _common(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(FIRST_STEPS)


if __name__ == "__main__":
    main()
