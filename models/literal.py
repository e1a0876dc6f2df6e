"""Pyomo models through HiGHS: the paper's formulation as it is written, solved or exported.

Pyomo's standard form is handed to HiGHS as arrays, which keeps warm starts, callbacks and time limits, in units that
suit its tolerances.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyomo.core.base.PyomoModel import ConcreteModel
from pyomo.environ import Objective, Var, maximize
from pyomo.opt import WriterFactory
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from instances import (
    Answer,
    CheckFailed,
    InputError,
    MalformedSolution,
    Options,
    ProblemData,
    Report,
    Result,
    Solution,
    Stopwatch,
    check,
    conclude,
)
from instances.clock import within
from instances.options import ignore
from models.fine_units import FineUnits
from models.highs import TIGHT, LinearModel, Solved, solve_arrays
from models.scaling import rounded_rows

BY_TOLERANCES = "HiGHS's solution is one by its tolerances only"
Values = Mapping[tuple[str, Any], float]
"""Value of a variable by its name and index: `values["x", (0, "p3.2xlarge")]`."""


@dataclass(frozen=True)
class Standard:
    """A Pyomo model as arrays, and its variables in the order of the columns."""

    pyomo: ConcreteModel  # its variables know it by weak reference only
    model: LinearModel
    variables: tuple[Any, ...]

    def values(self, x: NDArray[np.float64]) -> Values:
        """The values of the variables by name and index."""
        return {_place(v): float(value) for v, value in zip(self.variables, x, strict=True)}


def _place(variable: Any) -> tuple[str, Any]:
    """The name and the index of a variable."""
    return variable.parent_component().local_name, variable.index()


def compile_model(model: ConcreteModel) -> Standard:
    """The arrays of a linear Pyomo `model` with one active objective."""
    objective = next(model.component_data_objects(Objective, active=True))
    form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=None)
    rows, signs = form.rhs, np.array([row.bound_type for row in form.rows])
    bounds = [v.bounds for v in form.columns]
    arrays = LinearModel(
        cost=np.asarray(form.c.todense()).ravel(),
        matrix=form.A,
        row_lower=np.where(signs <= 0, rows, -math.inf),
        row_upper=np.where(signs >= 0, rows, math.inf),
        lower=[-math.inf if low is None else low for low, _ in bounds],
        upper=[math.inf if high is None else high for _, high in bounds],
        integer=[not v.is_continuous() for v in form.columns],
        offset=float(form.c_offset[0]),
        sense="maximize" if objective.sense == maximize else "minimize",
    )
    return Standard(model, arrays, tuple(form.columns))


def solve_beyond_digits(
    model: LinearModel, solve: Callable[[LinearModel, bool], Solved], kept: Callable[[NDArray[np.float64]], bool]
) -> Solved:
    """What HiGHS finds for a `model` whose numbers may have more digits than it tells apart.

    Such numbers are rounded in favour of solutions. That gives the bound, and the solution where it is `kept`, being
    one of the data as they are; or else the model as it is gives one, and no word of HiGHS on better ones counts.
    `solve(model, proves)` runs HiGHS on a model whose bounds hold or do not.
    """
    rounded = rounded_rows(model)
    if rounded is None:
        return solve(model, True)
    relaxed = solve(rounded, True)
    if relaxed.x is None or kept(relaxed.x):
        return relaxed
    exact = solve(model, False)
    before = tuple((when, None, bound) for when, _, bound in relaxed.trace)
    after = tuple((relaxed.solve_s + when, found, relaxed.bound) for when, found, _ in exact.trace)
    return replace(
        exact,
        bound=relaxed.bound,
        termination="finished" if exact.termination == "infeasible" else exact.termination,
        reason=BY_TOLERANCES if exact.x is None else exact.reason,
        solve_s=relaxed.solve_s + exact.solve_s,
        trace=before + after,
    )


def solve_literal(
    data: ProblemData,
    build: Callable[[Any], ConcreteModel],
    read: Callable[[Any, Values], Solution],
    options: Options,
    report: Report = ignore,
    proven: Callable[[float], float] = lambda bound: bound,
) -> Answer:
    """Build a paper's model with `build(data)`, solve it, and turn the values of its variables into a solution.

    `read(data, values)` gets the values by name and index. The time limit holds for building and solving together.
    `proven(bound)` is what a bound of the solver proves. HiGHS gets a real objective in units of its largest
    coefficient, for it may be so small that HiGHS takes it for nothing.
    """

    with Stopwatch(options.time_limit) as building:
        standard: Standard | None = None
        with suppress(TimeoutError), _quiet_pyomo():
            standard = within(options.time_limit, lambda: compile_model(build(data)))
    if standard is None or building.expired:
        return Answer(None, None, "time_limit", "time limit, while the model was built", building.cpu_s, 0.0)
    real = bool(np.any(np.asarray(standard.model.cost) % 1))
    left = replace(
        options,
        time_limit=building.limit_left_s,
        gap=options.gap / 2 if real else options.gap,  # The bound gives up the other half for tolerances.
    )
    fine = FineUnits.of(standard.model)
    clock = Stopwatch(left.time_limit)

    def made(bound: float | None) -> float | None:
        return None if bound is None else proven(bound)

    def solution(x: NDArray[np.float64]) -> Solution | None:
        """The solution, or `None` where the values are one by the tolerances of HiGHS only."""
        found = read(data, standard.values(x))
        try:
            return None if check(data, found).violations else found
        except MalformedSolution:
            return None

    def solve(model: LinearModel, proves: bool) -> Solved:
        def watch(x: NDArray[np.float64] | None, bound: float | None) -> None:
            safe = None if bound is None or not proves else fine.proven(bound)
            report(None if x is None else solution(x), made(safe))

        limited = replace(left, time_limit=None if left.time_limit is None else max(clock.remaining_s, 1e-3))
        heard, extra = None if report is ignore else watch, TIGHT if real else None
        return solve_arrays(model, limited, watch=heard, extra=extra)

    solved = fine.told(solve_beyond_digits(fine.model, solve, lambda x: solution(x) is not None))
    rows, columns = standard.model.matrix.shape
    found = None if solved.x is None else solution(solved.x)
    return Answer(
        solution=found,
        bound=made(solved.bound),
        termination=solved.termination,
        reason=BY_TOLERANCES if solved.x is not None and found is None else solved.reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=[(when, found, made(bound)) for when, found, bound in solved.trace],
        info={**solved.info, "rows": rows, "columns": columns},
    )


@contextmanager
def _quiet_pyomo() -> Iterator[None]:
    """Without Pyomo's own log of a model whose building is broken off: the result says so."""
    log = logging.getLogger("pyomo")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


def read_model(data: ProblemData, model: ConcreteModel, read: Callable[[Any, Values], Solution]) -> Result:
    """The solution that the values of a `model` of `data` are, whoever has found them, as the checker judges it.

    `read(data, values)` is as in `solve_literal`; rows and variables that others have added make no difference.
    Raises InputError where no variable has a value, or the values are no solution at all.
    """
    variables = model.component_data_objects(Var)
    values = {_place(v): float(v.value) for v in variables if v.value is not None}
    if not values:
        raise InputError("model: no variable has a value; solve it first")
    try:
        answer = Answer(read(data, values))
        return conclude(data, "literal", answer, Options(), kind="heuristic", honours=frozenset())
    except CheckFailed as error:
        raise InputError(f"model: its values are no solution: {error}") from error


def write_model(model: ConcreteModel, path: Path) -> dict[str, tuple[str, Any]]:
    """Export `model` to `path`, .lp or .mps: the name and index of each variable, by what it is called there.

    Raises InputError for another ending or where it cannot be written.
    """
    writers = {".lp": "lp", ".mps": "mps"}
    if path.suffix not in writers:
        raise InputError(f"{path}: a model is written as .lp or .mps")
    try:
        if path.suffix == ".lp":
            with path.open("w", encoding="utf-8") as file:
                called = WriterFactory("lp").write(model, file, symbolic_solver_labels=True).symbol_map
        else:
            _, key = model.write(str(path), format="mps", io_options={"symbolic_solver_labels": True})
            called = model.solutions.symbol_map[key]
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    own = set(map(id, model.component_data_objects(Var)))  # of MPS a writer makes one more, which is constant
    return {name: _place(v) for name, v in called.bySymbol.items() if id(v) in own}
