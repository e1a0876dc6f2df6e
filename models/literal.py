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
from pyomo.environ import Objective, maximize
from pyomo.opt import WriterFactory
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

from instances import Answer, InputError, Options, ProblemData, Report, Solution, Stopwatch
from instances.deadline import within
from instances.options import ignore
from models.fine_units import FineUnits
from models.highs import TIGHT, LinearModel, solve_arrays

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
        named = ((v.parent_component().local_name, v.index()) for v in self.variables)
        return {name: float(value) for name, value in zip(named, x, strict=True)}


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
        time_limit=None if options.time_limit is None else max(building.remaining_s, 1e-3),
        gap=options.gap / 2 if real else options.gap,  # The bound gives up the other half for tolerances.
    )
    fine = FineUnits.of(standard.model)

    def made(bound: float | None) -> float | None:
        return None if bound is None else proven(bound)

    def watch(x: NDArray[np.float64] | None, bound: float | None) -> None:
        safe = None if bound is None else fine.proven(bound)
        report(None if x is None else read(data, standard.values(x)), made(safe))

    heard, extra = None if report is ignore else watch, TIGHT if real else None
    solved = fine.told(solve_arrays(fine.model, left, watch=heard, extra=extra))
    rows, columns = standard.model.matrix.shape
    return Answer(
        solution=None if solved.x is None else read(data, standard.values(solved.x)),
        bound=made(solved.bound),
        termination=solved.termination,
        reason=solved.reason,
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


def write_model(model: ConcreteModel, path: Path) -> None:
    """Export `model` to `path`: .lp or .mps. Raises InputError for another ending or where it cannot be written."""
    writers = {".lp": "lp", ".mps": "mps"}
    if path.suffix not in writers:
        raise InputError(f"{path}: a model is written as .lp or .mps")
    try:
        if path.suffix == ".lp":
            with path.open("w", encoding="utf-8") as file:
                WriterFactory("lp").write(model, file, symbolic_solver_labels=True)
        else:
            model.write(str(path), format="mps", io_options={"symbolic_solver_labels": True})
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
