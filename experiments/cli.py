"""The commands of the console script `gapwise`. None is loaded before it is called."""

from __future__ import annotations

import ast
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from experiments.entry import run_app

COMMANDS = (
    "check",
    "cluster",
    "data",
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
    "study",
    "verify",
    "worst",
)
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
    """The arguments with a command by its name, `gap_study`, where it was called `gap-study`."""
    called = [word.replace("-", "_") for word in arguments[:1]]
    return called + arguments[1:] if called and called[0] in COMMANDS else arguments


def app_of(arguments: list[str]) -> typer.Typer:
    """The commands: the one that is called, and of the others, which take long to load, their names and a line each."""
    app = typer.Typer(help="True optimality gaps for GPU-cluster scheduling.", no_args_is_help=True)
    app.callback()(_common)  # so that a single command, too, is called by its name
    words = [word for word in arguments if not word.startswith("-")]
    for name in COMMANDS:
        if words[:1] == [name] or COMPLETION in os.environ:
            made = getattr(importlib.import_module(f"experiments.{name}"), name)
            if name in GROUPS:
                app.add_typer(made(arguments[arguments.index(name) + 1 :] if words else []), name=name)
            else:
                app.command(name)(made)
        else:
            app.command(name)(_named(name))
    return app


def _named(name: str) -> Callable[..., None]:
    """What stands for a command that is not called: its docstring, from the text of its file."""
    tree = ast.parse(Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8"))
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)

    def named() -> None: ...

    named.__doc__ = ast.get_docstring(function)
    return named


def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass


if __name__ == "__main__":
    main()
