"""`python -m experiments.verify INSTANCE RESULT CERTIFICATE`: verify a result without any solver."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.entry import FAILED, run
from experiments.output.terminal import err
from instances import CheckFailed, InputError, Instance, load
from instances.files import read_json
from instances.proofs.verify import read_result, see_bound, see_none, see_result
from instances.reading import read_bytes
from instances.registry import PROBLEMS
from instances.text import escape_text


def verify(
    instance: Annotated[Path, typer.Argument(help="Instance file.", show_default=False)],
    result: Annotated[Path, typer.Argument(help="Result, as `solve` writes it.", show_default=False)],
    certificate: Annotated[
        Path, typer.Argument(help="Certificate, as `solve --certificate` writes it.", show_default=False)
    ],
    more: Annotated[
        list[Path] | None, typer.Argument(help="Certificates of the other bounds of a front.", show_default=False)
    ] = None,
) -> None:
    """Verify the solution and the bound of a result in rational arithmetic."""
    try:
        problem = load(instance)
        content = read_json(result)
        if isinstance(content, dict) and "points" in content:
            return _verify_front(problem, result, content, [certificate, *(more or ())])
        if more:
            raise InputError(f"{more[0]}: a result has one certificate, only a front has more")
        with name_file_in_errors(result):
            claimed = read_result(content)
            see_result(problem, claimed)
        text = text_of(certificate)
        with name_file_in_errors(certificate):
            if claimed.status == "infeasible":
                how = see_none(problem, text)
            else:
                verified = see_bound(problem, claimed, text)
    except CheckFailed as error:
        err.print(f"gapwise: {escape_text(str(error))}")
        raise typer.Exit(FAILED) from error
    if claimed.status == "infeasible":
        print(f"verified: {escape_text(problem.name)}: no solution; {how}")
        return
    print(
        f"verified: {escape_text(problem.name)}: objective {verified.objective!r} {problem.data.unit}, "
        f"bound {verified.bound!r}, gap {verified.gap:.2g}; {verified.how}"
    )


def _verify_front(problem: Instance, result: Path, content: Any, certificates: list[Path]) -> None:
    """Verify a front of two objectives: `content` of the file `result`."""
    begin = PROBLEMS[problem.problem].front
    if begin is None:
        raise InputError(f"{result}: must be a result, for {problem.problem} has no fronts, got points")
    proofs = begin(problem)
    for path in certificates:
        text = text_of(path)
        with name_file_in_errors(path):
            proofs.add(text)
    with name_file_in_errors(result):
        how = proofs.see(content)
    print(f"verified: {escape_text(problem.name)}: {how}")


def text_of(path: Path) -> str:
    """Read the text of a file. Raises InputError."""
    try:
        return read_bytes(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8: {error.reason}") from error


@contextmanager
def name_file_in_errors(path: Path) -> Iterator[None]:
    """Open a block in which errors name the file."""
    try:
        yield
    except CheckFailed as error:
        raise CheckFailed(f"{path}: {error}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


if __name__ == "__main__":
    run(verify)
