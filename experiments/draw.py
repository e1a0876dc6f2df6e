"""`python -m experiments.draw NAME ... --out FILE`: instance and workload files from generators and traces."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from experiments.entry import run_app
from experiments.output.terminal import err
from experiments.papers import DRAWINGS
from instances import Instance, save

Out = Annotated[
    Path,
    typer.Option(
        "--out", help="The file to write, .json or .json.gz; a folder where there are several.", show_default=False
    ),
]


def drawings() -> typer.Typer:
    """A command for each drawing of the papers: a function that returns instances, whose parameters are its flags."""
    app = typer.Typer(help="Write an instance or a workload to a file.", no_args_is_help=True, add_completion=False)
    app.callback()(lambda: None)  # so that a single command, too, is called by its name
    for name, target in DRAWINGS.items():
        module, _, function = target.partition(":")
        app.command(name)(_written(getattr(importlib.import_module(module), function)))
    return app


def _written(draw: Callable[..., Instance[Any] | Sequence[Instance[Any]]]) -> Callable[..., None]:
    """The command of a drawing: its parameters, and `--out`."""
    hints = get_type_hints(draw, include_extras=True)
    own = [p.replace(annotation=hints[p.name]) for p in inspect.signature(draw).parameters.values()]

    @functools.wraps(draw)
    def call(out: Path, **said: Any) -> None:
        made = draw(**said)
        if isinstance(made, Instance):
            save(made, out)
            err.print(f"wrote {made.name} to {out}")
            return
        out.mkdir(parents=True, exist_ok=True)
        for instance in made:
            save(instance, out / f"{instance.name}.json.gz")
        err.print(f"wrote {len(made)} instances to {out}")

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [*(p.replace(kind=keyword) for p in own), inspect.Parameter("out", keyword, annotation=Out)]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    return call


if __name__ == "__main__":
    run_app(drawings(), sys.argv[1:], "gapwise draw")
