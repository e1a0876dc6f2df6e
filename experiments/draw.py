"""`python -m experiments.draw NAME ... --out FILE`: instance and workload files from generators and traces."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.drawing import Made
from experiments.entry import group, run_app, set_signature
from experiments.output.terminal import err
from experiments.papers import DRAWINGS
from instances import Instance, save
from instances.files import write_whole

Out = Annotated[
    Path,
    typer.Option(
        "--out", help="The file to write, .json or .json.gz; a folder where there are several.", show_default=False
    ),
]


def draw(arguments: list[str]) -> typer.Typer:
    """Write an instance or a workload to a file."""
    return group(draw, DRAWINGS, _make_command, arguments)


def _make_command(made_by: Callable[..., Made]) -> Callable[..., None]:
    """Return the command of a `Drawing`, or of a function that returns instances or files by name, with `--out`."""

    def call(out: Path, **said: Any) -> None:
        made = made_by(**said)
        if isinstance(made, Instance):
            save(made, out)
            err.print(f"wrote {made.name} to {out}")
            return
        out.mkdir(parents=True, exist_ok=True)
        if isinstance(made, Mapping):
            for name, content in made.items():
                write_whole(out / name, content)
            err.print(f"wrote {' and '.join(made)} to {out}")
            return
        for instance in made:
            save(instance, out / f"{instance.name}.json.gz")
        err.print(f"wrote {len(made)} instances to {out}")

    own = inspect.signature(made_by, eval_str=True).parameters.values()
    set_signature(call, made_by, [*own, inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, annotation=Out)])
    return call


if __name__ == "__main__":
    run_app(draw(sys.argv[1:]), sys.argv[1:], "gapwise draw")
