"""The console script `gapwise`, and the one place where errors become a line and an exit status."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from typing import Any

import typer
from typer.main import get_command

from experiments.text import shown
from instances import InputError, OutputError

COMMANDS = ("gap_study", "pareto", "solve", "simulate")
USAGE_ERROR: Any = typer.BadParameter.__mro__[2]  # click's ClickException, which newer releases of typer carry along
FAILED, REFUSED, INTERRUPTED, ENDED = 1, 2, 130, 143


def main(command: str | None = None) -> None:
    """Run `gapwise`, or one of its sub-commands.

    Exit status: 0 done, 1 a method failed or output could not be written, 2 bad input, 3 ended without a solution,
    130 interrupted.
    """
    _ready_streams()
    arguments = sys.argv[1:] if command is None else [command, *sys.argv[1:]]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(ENDED))  # so that processes are ended on the way out
    try:
        status = get_command(_app(arguments)).main(arguments, prog_name="gapwise", standalone_mode=False)
        sys.stdout.flush()
    except OutputError as error:
        _exit(f"gapwise: {error}", FAILED)
    except InputError as error:
        _exit(f"gapwise: {error}", REFUSED)
    except USAGE_ERROR as error:
        _exit(f"gapwise: {error.format_message()}" if error.format_message() else "", REFUSED)
    except OSError as error:
        _give_up(error)
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    if status == INTERRUPTED:
        _exit("gapwise: interrupted", INTERRUPTED)
    sys.exit(status if isinstance(status, int) else 0)


def _app(arguments: list[str]) -> typer.Typer:
    """The commands; where one is called, that alone, for others take longer to load than it may take to run."""
    app = typer.Typer(
        help="True optimality gaps for GPU-cluster scheduling.", add_completion=False, no_args_is_help=True
    )
    app.callback()(lambda: None)  # so that a single command, too, is called by its name
    for name in COMMANDS if not arguments or arguments[0] not in COMMANDS else arguments[:1]:
        app.command(name)(getattr(importlib.import_module(f"experiments.{name}"), name))
    return app


def _ready_streams() -> None:
    """Characters that an output cannot show are written as escapes; one that is closed is no error."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _give_up(error: OSError) -> None:
    """End because the standard output takes no more, or a file could not be read or written."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # what is still in the buffer would fail once more on the way out
    if isinstance(error, BrokenPipeError):
        sys.exit(FAILED)  # without a word: whoever read it had enough
    place = "standard output" if error.filename is None else error.filename
    _exit(f"gapwise: {place}: {error.strerror or error}", FAILED)


def _exit(message: str, status: int) -> None:
    if message:
        print(shown(" ".join(message.split())), file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
