"""`python -m experiments.data [list | check DIR | convert CHECKOUTS]`: the public files behind the papers' traces."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.entry import FAILED, refuse_unknown, run_app
from experiments.output.folder import ready_folder
from experiments.output.terminal import err, print_line
from experiments.traces import TRACES, Trace, digest
from instances import InputError
from instances.files import write_whole
from instances.text import escape_text

Names = Annotated[
    list[str] | None, typer.Option("--only", help="File, such as traces/philly.csv; repeatable.", show_default="all")
]


def data(arguments: list[str]) -> typer.Typer:
    """Say where the papers' public traces are, check a folder of them, or convert them from their repositories."""
    app = typer.Typer(help=data.__doc__, no_args_is_help=True, add_completion=False)
    app.command("list")(_list)
    app.command("check")(_check)
    app.command("convert")(_convert)
    return app


def _list() -> None:
    """Print every file with its repository, its licence and the effect of the conversion."""
    for trace in TRACES:
        source = trace.source
        print_line(f"{trace.name}")
        print_line(f"  from https://github.com/{source.repository} at {source.commit}: {', '.join(trace.paths)}")
        print_line(f"  licence: {source.licence}; changes: {trace.changes}")
    print_line("to clone them:")
    for source in dict.fromkeys(trace.source for trace in TRACES):
        clone = f"git clone https://github.com/{source.repository}"
        print_line(f"  {clone} && git -C {source.folder} checkout {source.commit}")


def _check(
    folder: Annotated[Path, typer.Argument(help="Folder of traces, as of --traces.", show_default=False)],
    only: Names = None,
) -> None:
    """Say which files of a folder of traces are those that the figures of the documentation were made from."""
    _refuse_unless_folder(folder)
    states = [(trace, trace.state(folder)) for trace in _chosen(only)]
    for trace, state in states:
        print_line(f"{trace.name}: {state}")
    raise typer.Exit(FAILED if any(state == "another" or (only and state == "missing") for _, state in states) else 0)


def _convert(
    checkouts: Annotated[
        Path, typer.Argument(help="Folder with clones of the repositories, under their own names.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Folder of traces to write.", show_default=False)],
    only: Names = None,
) -> None:
    """Convert the public files of cloned repositories into a folder of traces, and skip those without a clone."""
    _refuse_unless_folder(checkouts)
    traces = _chosen(only)
    if not any((checkouts / trace.source.folder).is_dir() for trace in traces):
        folders = dict.fromkeys(trace.source.folder for trace in traces)
        raise InputError(f"{checkouts}: must hold clones of {', '.join(folders)}, one of them at least")
    off = False
    for trace in traces:
        if not only and not (checkouts / trace.source.folder).is_dir():
            err.print(f"{trace.name}: not made, {checkouts / trace.source.folder} is not there")
            continue
        try:
            content = trace.make_text(checkouts).encode()
        except InputError as error:
            if only:
                raise
            err.print(f"{trace.name}: not made, {escape_text(str(error))}")
            off = True
            continue
        same = digest(content) == trace.sha256
        off = off or not same
        ready_folder((out / trace.name).parent)
        write_whole(out / trace.name, content)
        print_line(f"{trace.name}: written" + ("" if same else ", not the bytes that the figures were made from"))
    raise typer.Exit(FAILED if off else 0)


def _refuse_unless_folder(path: Path) -> None:
    if not path.is_dir():
        raise InputError(f"{path}: not a folder")


def _chosen(only: list[str] | None) -> list[Trace]:
    known = [trace.name for trace in TRACES]
    for name in only or ():
        refuse_unknown("--only", name, known)
    return [trace for trace in TRACES if not only or trace.name in only]


if __name__ == "__main__":
    run_app(data(sys.argv[1:]), sys.argv[1:], "gapwise data")
