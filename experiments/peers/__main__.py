"""`python -m experiments.peers [PAPER ...]`: compare exact methods with the best models for other solvers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from experiments import flags
from experiments.entry import refuse_unknown, run
from experiments.harness.experiment import StagedStudy, Study, TextTable, combine_stages, send_outcomes
from experiments.harness.user_functions import resolve
from experiments.papers import PAPERS, STUDIES
from experiments.session import Session
from experiments.study import run_study


@flags.common()
def peers(
    session: Session,
    papers: Annotated[list[str] | None, typer.Argument(help="Papers.", show_default="all")] = None,
    growth: Annotated[
        bool, typer.Option("--growth", help="By the size of the instance, until no run gets there.")
    ] = False,
) -> None:
    """Compare exact methods with the best compact model of each problem for another solver, at equal CPU limits."""
    for paper in papers or ():
        refuse_unknown("paper", paper, PAPERS)
    kind = "growth" if growth else "peers"
    studies = [resolve(STUDIES[f"{paper}-{kind}"])(options=session.options) for paper in papers or PAPERS]
    run_study(together(studies), session)


def together(studies: Sequence[Study]) -> StagedStudy:
    """Combine studies whose tables have the same heads into one study."""

    def tables(outcomes: Sequence[Any]) -> list[TextTable | str]:
        found, stages = combine_stages(studies)
        send_outcomes(stages, outcomes)
        of_all = [study.tables(mine) for study, mine in zip(studies, found, strict=True)]
        joined: list[TextTable | str] = []
        for alike in zip(*of_all, strict=True):
            some = [table for table in alike if isinstance(table, TextTable)]
            joined.append(TextTable(some[0].head, [row for table in some for row in table.rows]))
        return joined

    first = [task for study in studies for task in study.tasks]
    return StagedStudy(first, tables, stages=lambda: combine_stages(studies)[1])


if __name__ == "__main__":
    run(peers)
