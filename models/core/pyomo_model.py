"""Pyomo models solved by HiGHS: the paper's formulation as written, solved or exported.

Pyomo's standard form is passed to HiGHS as arrays, which keeps warm starts, callbacks and time limits. The units suit
HiGHS's tolerances.
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
from instances.clock import call_within
from instances.options import ignore
from models.core.fine_units import FineUnits
from models.core.highs import TIGHT, LinearModel, Solved, solve_arrays
from models.core.scaling import round_rows

BY_TOLERANCES = "HiGHS's solution is feasible within its tolerances only"
Values = Mapping[tuple[str, Any], float]
"""Value of a variable by its name and index: `values["x", (0, "p3.2xlarge")]`."""


@dataclass(frozen=True)
class Standard:
    """A Pyomo model as arrays, and its variables in the order of the columns."""

    pyomo: ConcreteModel  # keeps the model alive: its variables have weak references only
    model: LinearModel
    variables: tuple[Any, ...]

    def values(self, x: NDArray[np.float64]) -> Values:
        """Return the values of the variables by name and index."""
        return {_name_and_index(v): float(value) for v, value in zip(self.variables, x, strict=True)}


def _name_and_index(variable: Any) -> tuple[str, Any]:
    """Return the name and the index of a variable."""
    return variable.parent_component().local_name, variable.index()


def compile_model(model: ConcreteModel) -> Standard:
    """Return the arrays of a linear Pyomo `model` with one active objective."""
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
    """Solve a `model` whose numbers may have more digits than HiGHS distinguishes.

    Such numbers are first rounded in favour of solutions. This relaxation gives the bound, and the solution if `kept`
    accepts it, that is, if it is feasible for the exact data. Otherwise the exact model gives the solution, but its
    bound is ignored.

    - `solve(model, proves)`: runs HiGHS on a model, whose bounds hold if `proves`.
    - `kept(x)`: whether a solution is feasible for the data.
    """
    rounded = round_rows(model)
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
    """Build a paper's model with `build(data)`, solve it, and convert the values of its variables to a solution.

    A real objective is in units of its largest coefficient, because HiGHS may treat small numbers as zero.

    - `read(data, values)`: returns the solution for values by name and index.
    - `options`: the time limit covers building and solving together.
    - `report`: called with every improvement.
    - `proven(bound)`: returns the bound that a bound of the solver proves.
    """

    with Stopwatch(options.time_limit) as building:
        standard: Standard | None = None
        with suppress(TimeoutError), _quiet_pyomo():
            standard = call_within(options.time_limit, lambda: compile_model(build(data)))
    if standard is None or building.has_expired:
        return Answer(None, None, "time_limit", "time limit, while the model was built", building.cpu_s, 0.0)
    is_real = bool(np.any(np.asarray(standard.model.cost) % 1))
    remaining = replace(
        options,
        time_limit=building.limit_left_s,
        gap=options.gap / 2 if is_real else options.gap,  # the other half covers the error of the bound
    )
    fine = FineUnits.of(standard.model)
    clock = Stopwatch(remaining.time_limit)

    def make_safe(bound: float | None) -> float | None:
        return None if bound is None else proven(bound)

    def solution(x: NDArray[np.float64]) -> Solution | None:
        """Return the solution, or `None` if the values are feasible within HiGHS's tolerances only."""
        found = read(data, standard.values(x))
        try:
            return None if check(data, found).violations else found
        except MalformedSolution:
            return None

    def solve(model: LinearModel, proves: bool) -> Solved:
        def watch(x: NDArray[np.float64] | None, bound: float | None) -> None:
            safe = None if bound is None or not proves else fine.proven(bound)
            report(None if x is None else solution(x), make_safe(safe))

        limited = replace(remaining, time_limit=None if remaining.time_limit is None else max(clock.remaining_s, 1e-3))
        callback, extra = None if report is ignore else watch, TIGHT if is_real else None
        return solve_arrays(model, limited, watch=callback, extra=extra)

    solved = fine.convert_result(solve_beyond_digits(fine.model, solve, lambda x: solution(x) is not None))
    rows, columns = standard.model.matrix.shape
    found = None if solved.x is None else solution(solved.x)
    return Answer(
        solution=found,
        bound=make_safe(solved.bound),
        termination=solved.termination,
        reason=BY_TOLERANCES if solved.x is not None and found is None else solved.reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=[(when, found, make_safe(bound)) for when, found, bound in solved.trace],
        info={**solved.info, "rows": rows, "columns": columns},
    )


@contextmanager
def _quiet_pyomo() -> Iterator[None]:
    """Suppress Pyomo's log of an interrupted build, because the result contains the reason."""
    log = logging.getLogger("pyomo")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


def read_model(data: ProblemData, model: ConcreteModel, read: Callable[[Any, Values], Solution]) -> Result:
    """Return the result for the values of a `model` of `data`, from any solver, as the checker judges it.

    - `read(data, values)`: as in `solve_literal`. Additional rows and variables of the model have no effect.

    Raises InputError if no variable has a value, or the values do not form a solution.
    """
    variables = model.component_data_objects(Var)
    values = {_name_and_index(v): float(v.value) for v in variables if v.value is not None}
    if not values:
        raise InputError("model: no variable has a value; solve it first")
    try:
        answer = Answer(read(data, values))
        return conclude(data, "literal", answer, Options(), kind="heuristic", honours=frozenset())
    except CheckFailed as error:
        raise InputError(f"model: its values are no solution: {error}") from error


def write_model(model: ConcreteModel, path: Path) -> dict[str, tuple[str, Any]]:
    """Export `model` to `path`, .lp or .mps, and return the name and index of each variable by its name in the file.

    Raises InputError for another suffix, or if the file cannot be written.
    """
    writers = {".lp": "lp", ".mps": "mps"}
    if path.suffix not in writers:
        raise InputError(f"{path}: a model is written as .lp or .mps")
    try:
        if path.suffix == ".lp":
            with path.open("w", encoding="utf-8") as file:
                symbols = WriterFactory("lp").write(model, file, symbolic_solver_labels=True).symbol_map
        else:
            _, key = model.write(str(path), format="mps", io_options={"symbolic_solver_labels": True})
            symbols = model.solutions.symbol_map[key]
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    own = set(map(id, model.component_data_objects(Var)))  # the MPS writer adds a constant variable
    return {name: _name_and_index(v) for name, v in symbols.bySymbol.items() if id(v) in own}
