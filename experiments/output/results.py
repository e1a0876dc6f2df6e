"""Results on the terminal: tables of them, of the rows of a study, the plan that a solution is, and its picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from experiments.harness.gaps import MethodSummary, Scored
from experiments.harness.overview import OverviewRow, overview_of_study
from experiments.harness.user_functions import resolve
from experiments.output.columns import (
    COMMON,
    NAMED,
    NUMBERS,
    RESULT_TABLE,
    ResultColumn,
    Row,
    choose_gap_columns,
    screen_columns,
)
from experiments.output.folder import result_file
from experiments.output.summary import answers
from experiments.output.table import show_table
from experiments.output.terminal import out, print_rich
from instances import Instance, Result
from instances.gaps import ahead
from instances.solution_table import solution_rows
from instances.text import escape_text


def _show_rows(columns: Sequence[ResultColumn[Row]], rows: Iterable[Row]) -> None:
    """Print the columns of some rows as a table, grouped by the first column if the terminal is too narrow."""
    head = [(column.heading, column.kind) for column in columns]
    show_table(head, ([column.show(row) for column in columns] for row in rows), grouped=True)


def print_table(results: Iterable[Result]) -> None:
    """Print one row per result on standard output, and its note."""
    _show_rows(RESULT_TABLE, results)


def print_tables(rows: Sequence[MethodSummary], scored: Sequence[Scored]) -> None:
    """Print the answer, then one table per problem."""
    for answer in answers(scored):
        print_rich(answer.headline, "bold")
        for findings in answer.lists:
            print_rich(f"  {findings.heading}")
            for finding in findings.methods:
                print_rich(f"    {finding}")
            if findings.comparison:
                print_rich(f"    {findings.comparison}")
    out.print()
    for problem in dict.fromkeys(row.problem for row in rows):
        here = [row for row in rows if row.problem == problem]
        out.print(problem, style="bold")
        _show_rows((*NAMED, *choose_gap_columns(here)), here)
        out.print()
    common = f"{COMMON.heading}: mean over the instances of a set on which every method has a gap; "
    print_rich(
        "gap to optimum: |objective - optimum| / |optimum|; to bound: if no optimum is proven; "
        f"{common if any(row.partial for row in rows) else ''}"
        "proven: solutions that meet the best bound, to 1e-6; CPU s: mean a run"
    )
    out.print()


def print_first_screen(rows: Sequence[MethodSummary], overview: Sequence[OverviewRow], folder: Path) -> None:
    """Print one row per paper of the reference study, or one row per set and method of other instances.

    - `rows`: the summary of the study.
    - `overview`: the rows of the reference study, empty for other instances.
    - `folder`: the folder with the report.
    """
    if overview:
        table = overview_of_study(overview, rows)
        show_table([(name, "number" if name in NUMBERS else "text") for name in table.head], table.rows)
    else:
        _show_rows(screen_columns(rows), rows)
    out.print()
    print_rich(f"The report is {folder / 'report.html'}. --resume --tables prints all tables.")


def draw_solutions(
    folder: Path, instances: Sequence[Instance], results: Iterable[Result], plots: Mapping[str, str]
) -> None:
    """Write `<instance>.<method>.svg` and .pdf of each result that has a solution. Raises OutputError.

    `plots`: the `module:function` that draws a solution, by problem.
    """
    from experiments.canvas import add_subject, save_all  # with matplotlib, which few runs need

    named = {(instance.problem, instance.name): instance.data for instance in instances}
    for result in results:
        if result.solution is not None and result.status != "error":
            figure = resolve(plots[result.problem])(named[result.problem, result.instance], result.solution)
            add_subject(figure, f"{result.instance}, {result.method}")
            save_all(figure, folder / result_file(result.instance, result.method, "svg"))


def best_of(results: Iterable[Result]) -> Result | None:
    """Return the best feasible result of one instance, the first of equal ones."""
    best = None
    for result in results:
        if result.solved and result.objective is not None:
            better = best is None or best.objective is None or ahead(result.objective, best.objective, result.sense)
            best = result if better else best
    return best


MOST = 30  # lines of a plan


def print_plan(instances: Sequence[Instance], results: Sequence[Result], plans: Mapping[str, str]) -> None:
    """Print the best solution if there is only one instance.

    `plans`: the `module:function` that puts a solution in words, by problem; others are tables.
    """
    best = best_of(results)
    if len(instances) != 1 or best is None or best.solution is None:
        return
    lines = _lines(instances[0], best, plans.get(best.problem))
    # the last lines of a plan in words are the sum of the others
    cut = [*lines[: MOST - 2], f"... {len(lines) - MOST} more lines; --plan writes them all", *lines[-2:]]
    out.print()
    print_rich(f"the plan of {escape_text(best.method)}:")
    for line in lines if len(lines) <= MOST else cut:
        print_rich(f"  {line}")


def _lines(instance: Instance, result: Result, plan: str | None) -> list[str]:
    if plan is not None:
        return list(resolve(plan)(instance.data, result.solution))
    return table_lines(solution_rows(result.solution))


def table_lines(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """Return the rows as a table of text, its head first; pandas would take longer to load than most runs take."""

    def cell(value: object) -> str:
        return f"{value:.7g}" if isinstance(value, float) else "-" if value is None else escape_text(str(value))

    names = dict.fromkeys(name for row in rows for name in row)
    columns = [[escape_text(name), *(cell(row.get(name)) for row in rows)] for name in names]
    widths = [max(map(len, column)) for column in columns]
    return [" ".join(map(str.rjust, line, widths)) for line in zip(*columns, strict=True)]
