"""The result type that exact methods and heuristics share."""

from __future__ import annotations

import importlib.metadata
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from instances.errors import CheckFailed, MalformedSolution
from instances.fields import Frozen, ProblemData, Sense
from instances.gaps import agree, gap, is_gap_meaningless, is_gap_reached
from instances.options import OPTION_NAMES, Options, Solution
from instances.registry import check
from instances.solution_table import solution_table
from instances.text import escape_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Status = Literal["optimal", "feasible", "violates", "no_solution", "infeasible", "error"]
Termination = Literal["finished", "time_limit", "effort_limit", "killed", "interrupted", "infeasible", "error"]
Kind = Literal["exact", "heuristic"]
TracePoint = tuple[float, float | None, float | None]

SHOWN = 20  # maximum rows of a solution in a printed result
UNMET = "the search ended by itself and its bound is not met: what is left may be rounding"
UNSOLVED: dict[Termination, Status] = {"infeasible": "infeasible", "error": "error"}


@dataclass(frozen=True)
class Answer:
    """The unchecked answer of an algorithm.

    - `solution`: in the form of the file formats page, `None` if there is none.
    - `bound`: on the objective of every feasible solution.
    - `termination`: why the algorithm stopped.
    - `reason`: an explanation, such as why there is no solution.
    - `build_s`, `solve_s`: CPU seconds, `None` if they were not measured.
    - `trace`: points (wall-clock seconds, incumbent, bound).
    - `info`: further figures of the method.
    """

    solution: Solution | None
    bound: float | None = None
    termination: Termination = "finished"
    reason: str | None = None
    build_s: float | None = None
    solve_s: float | None = None
    trace: Sequence[TracePoint] = ()
    info: Mapping[str, Any] = field(default_factory=dict)


class Result(Frozen):
    """A checked answer. `objective` is the checker's own figure, never the method's; `None` means unknown.

    `status` says what is known of the solution, `termination` why the method stopped, `gap` is the solver's own gap
    between `objective` and `bound`; `build_s` and `solve_s` are CPU seconds; `options` are those in effect.
    """

    instance: str = ""
    problem: str
    method: str
    status: Status
    termination: Termination
    objective: float | None = None
    bound: float | None = None
    gap: float | None = None
    sense: Sense
    unit: str
    build_s: float | None = None
    solve_s: float | None = None
    trace: tuple[TracePoint, ...] = ()
    options: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    reason: str | None = None
    violations: tuple[str, ...] = ()
    info: dict[str, Any] = Field(default_factory=dict)
    solution: dict[str, Any] | None = None

    @property
    def solved(self) -> bool:
        """Return whether there is a solution that satisfies every constraint."""
        return self.status in ("optimal", "feasible")

    @property
    def cpu_s(self) -> float | None:
        """Return the CPU seconds of building and solving, `None` if they are unknown."""
        return None if self.solve_s is None else (self.build_s or 0.0) + self.solve_s

    def to_frame(self) -> pd.DataFrame:
        """Return the solution as a table with one row per decision, empty without a solution."""
        return solution_table(self.solution)

    def plot(self) -> Axes:
        """Plot incumbent and bound against seconds, and return the axes of matplotlib."""
        import matplotlib.pyplot as plt

        axes = plt.figure(figsize=(6, 4)).add_subplot()
        final = (self.cpu_s or 0.0, self.objective, self.bound)
        end = max([final[0], *(when for when, _, _ in self.trace)])
        for place, name in ((1, "incumbent"), (2, "bound")):
            points = [(point[0], point[place]) for point in (*self.trace, (end, *final[1:]))]
            known = [(when, value) for when, value in points if value is not None]
            axes.step([when for when, _ in known], [value for _, value in known], where="post", label=name)
        axes.set(xlabel="seconds", ylabel=self.unit, title=f"{self.method} {self.instance}".strip())
        axes.legend()
        return axes

    @property
    def summary(self) -> str:
        """Return the result in one line: the objective in its unit, and the bound or gap."""
        what = f"{self.method} on {escape_text(self.instance)}" if self.instance else self.method
        parts = [self.status.replace("_", " ")]
        if self.objective is not None:
            parts.append(f"{self.objective:.10g} {self.unit}")
        if self.bound is not None and self.objective is not None:
            parts.append("proven" if agree(self.objective, self.bound) else f"bound {self.bound:.10g}")
            if self.gap is not None and parts[-1] != "proven" and not is_gap_meaningless(self.objective, self.bound):
                parts.append(f"gap {100 * self.gap:.2g}%")
        if self.cpu_s is not None:
            parts.append(f"{self.cpu_s:.3f} CPU s")
        said = self.reason or next(iter(self.violations), None)
        return f"{what}: {', '.join(parts)}" + (f" ({escape_text(said)})" if said else "")

    def __repr__(self) -> str:
        return f"<Result {self.summary}>"

    def __str__(self) -> str:
        table = self.to_frame()
        if not len(table):
            return self.summary
        more = f"\n... {len(table) - SHOWN} more rows" if len(table) > SHOWN else ""
        return f"{self.summary}\n{table.head(SHOWN).to_string(index=False)}{more}"

    def _repr_html_(self) -> str:
        """Return the result as HTML for a notebook."""
        table = self.to_frame()
        more = f"<p>{len(table) - SHOWN} more rows</p>" if len(table) > SHOWN else ""
        shown_rows = table.head(SHOWN).to_html(index=False, border=0) if len(table) else ""
        return f"<p>{escape(self.summary)}</p>{shown_rows}{more}"

    def unchecked(self) -> Answer:
        """Return the answer of the method, to check it again against trusted data of the instance."""
        return Answer(
            self.solution,
            self.bound,
            self.termination,
            self.reason,
            self.build_s,
            self.solve_s,
            self.trace,
            self.info,
        )


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Return the versions of this project, of Python and of the solvers."""
    found = {"python": platform.python_version()}
    for name in ("gapwise", "highspy", "pyomo", "cvxpy", "clarabel", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def conclude(
    data: ProblemData,
    method: str,
    answer: Answer,
    options: Options,
    *,
    kind: Kind,
    honours: frozenset[str] = OPTION_NAMES,
) -> Result:
    """Check `answer` with the independent checker of its problem and return its result.

    - `data`: the instance.
    - `method`: the name of the method.
    - `answer`: its answer.
    - `options`: the options in effect; the result lists those in `honours`.
    - `kind`: whether the method is exact or a heuristic.

    Raises CheckFailed if the solution of an exact method violates a constraint, or if CPU seconds are invalid. Raises
    it also if the bound is on the wrong side of the objective by more than a relative 1e-6. If the solution of a
    heuristic violates a constraint, the status is `violates`.
    """
    for name, seconds in (("build_s", answer.build_s), ("solve_s", answer.solve_s)):
        if seconds is not None and not 0 <= seconds < math.inf:
            raise CheckFailed(f"{method}: {name} must be CPU seconds >= 0, got {seconds!r}")
    verdict = None
    if answer.solution is not None:
        try:
            verdict = check(data, answer.solution)
        except MalformedSolution as error:
            raise CheckFailed(f"{method}: the solution is malformed: {error}") from error
        if verdict.violations and kind == "exact":
            raise CheckFailed(f"{method}: the solution breaks a constraint: {verdict.violations[0]}")
    objective = verdict.objective if verdict else None
    violations = verdict.violations if verdict else ()
    bound = answer.bound if answer.bound is not None and math.isfinite(answer.bound) else None
    status: Status
    if violations:
        status, bound, closed = "violates", None, None
    else:
        bound = _snap_bound(objective, bound, data.sense)
        try:
            closed = gap(objective, bound, data.sense)
        except ValueError as error:
            raise CheckFailed(f"{method}: {error}") from error
        if objective is None:
            status = UNSOLVED.get(answer.termination, "no_solution")
        else:
            status = "optimal" if closed is not None and is_gap_reached(closed, options.gap) else "feasible"
    unmet = status == "feasible" and closed is not None and answer.termination == "finished" and kind == "exact"
    return Result(
        problem=data.problem,
        method=method,
        status=status,
        termination=answer.termination,
        objective=objective,
        bound=bound,
        gap=closed,
        sense=data.sense,
        unit=data.unit,
        build_s=answer.build_s,
        solve_s=answer.solve_s,
        trace=tuple(answer.trace),
        options=options.select(honours),
        versions=versions(),
        reason=answer.reason or (UNMET if unmet else None),
        violations=violations,
        info=dict(answer.info),
        solution=dict(answer.solution) if answer.solution is not None else None,
    )


def _snap_bound(objective: float | None, bound: float | None, sense: Sense) -> float | None:
    """Return `bound`, or `objective` if the bound exceeds it only by the tolerances of a solver."""
    if objective is None or bound is None:
        return bound
    past = bound > objective if sense == "minimize" else bound < objective
    return objective if past and agree(objective, bound) else bound
