"""The console script `gapwise`, and the one place where errors become a line and an exit status."""

from __future__ import annotations

import signal
import sys
from typing import Any

import typer
from typer.main import get_command

from experiments.gap_study import gap_study
from experiments.pareto import pareto
from experiments.simulate import simulate
from experiments.solve import solve
from instances import InputError

app = typer.Typer(help="True optimality gaps for GPU-cluster scheduling.", add_completion=False, no_args_is_help=True)
app.command("gap_study")(gap_study)
app.command("pareto")(pareto)
app.command("solve")(solve)
app.command("simulate")(simulate)


USAGE_ERROR: Any = typer.BadParameter.__mro__[2]  # click's ClickException, which newer releases of typer carry along


def main(command: str | None = None) -> None:
    """Run `gapwise`, or one of its sub-commands. Exit status: 0 done, 2 bad input, 3 ended without a solution."""
    arguments = sys.argv[1:] if command is None else [command, *sys.argv[1:]]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that processes are ended on the way out
    try:
        status = get_command(app).main(arguments, prog_name="gapwise", standalone_mode=False)
    except InputError as error:
        _exit(f"gapwise: {error}", 2)
    except USAGE_ERROR as error:
        _exit(f"gapwise: {error.format_message()}", 2)
    except (KeyboardInterrupt, typer.Abort):
        _exit("gapwise: interrupted", 130)
    sys.exit(status if isinstance(status, int) else 0)


def _exit(message: str, status: int) -> None:
    print(" ".join(message.split()), file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
