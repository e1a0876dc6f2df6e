"""Solve models with CP-SAT of OR-tools within a limit of CPU seconds.

OR-tools and highspy each contain a HiGHS and cannot be loaded in the same process. So CP-SAT runs in a separate
process, in which the clock starts once OR-tools is imported.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from experiments.harness.host import start_method, start_process
from instances import Answer, InputError, Options, ProblemData, Report, Solution, Stopwatch
from instances.options import OPTION_NAMES
from instances.result import Termination

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar

LOOK_S = 0.02  # wall-clock seconds between two checks of the CPU limit
HONOURED = OPTION_NAMES - {"effort"}
Values = Mapping[Any, int]


@dataclass(frozen=True)
class CpProgram:
    """A minimisation model, and its variables by their mathematical names."""

    model: CpModel
    variables: Mapping[Any, IntVar]


Build = Callable[[Any], CpProgram]
Read = Callable[[Any, Values], Solution]


def solve_cp_sat(build: Build, read: Read, data: ProblemData, options: Options, report: Report) -> Answer:
    """Build a model with `build(data)`, solve it, and turn the values of its variables into a solution.

    `options.threads`: number of CP-SAT's workers; the limit is on the sum of their CPU seconds. Raises InputError if
    OR-tools is not installed, RuntimeError if its process dies.
    """
    if importlib.util.find_spec("ortools") is None:
        raise InputError("CP-SAT: needs OR-tools: pip install 'gapwise[peers]'")
    here, there = start_method().Pipe(duplex=False)
    process = start_process(start_method().Process(target=_search, args=(build, read, data, options, there)))
    there.close()  # so that the connection closes when the process ends
    try:
        while True:
            said = here.recv()
            if isinstance(said, Answer):
                return said
            if isinstance(said, Exception):
                raise said
            report(*said)
    except EOFError:
        process.join()
        raise RuntimeError(f"CP-SAT's process died with exit code {process.exitcode}") from None
    finally:
        process.kill()
        process.join()
        here.close()


def _search(build: Build, read: Read, data: ProblemData, options: Options, there: Connection) -> None:
    """Solve in the separate process: send incumbents and bounds, and finally the answer or the exception."""
    try:
        from ortools.sat.python import cp_model

        with Stopwatch(options.time_limit) as building:
            program = build(data)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = options.threads
        solver.parameters.random_seed = options.seed
        solver.parameters.relative_gap_limit = options.gap
        bounds: list[float] = []

        class Incumbents(cp_model.CpSolverSolutionCallback):
            def on_solution_callback(self) -> None:
                there.send((read(data, {key: self.value(x) for key, x in program.variables.items()}), None))

        def send_bound(bound: float) -> None:
            bounds.append(bound)
            there.send((None, bound))

        solver.best_bound_callback = send_bound
        ended = threading.Event()
        with Stopwatch(None if options.time_limit is None else building.remaining_s) as clock:
            watcher = threading.Thread(target=_stop_at_limit, args=(solver, clock, ended), daemon=True)
            watcher.start()
            status = solver.solve(program.model, Incumbents())
            ended.set()
        if status == cp_model.MODEL_INVALID:
            raise ValueError(program.model.validate())
        solved = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        values = {key: solver.value(x) for key, x in program.variables.items()} if solved else None
        known: dict[Any, Termination] = {cp_model.OPTIMAL: "finished", cp_model.INFEASIBLE: "infeasible"}
        termination = known.get(status, "time_limit")
        there.send(
            Answer(
                solution=None if values is None else read(data, values),
                bound=solver.best_objective_bound if status == cp_model.OPTIMAL else max(bounds, default=None),
                termination=termination,
                reason="time limit" if termination == "time_limit" else None,
                build_s=building.cpu_s,
                solve_s=clock.cpu_s,
                info={"solver": f"CP-SAT {version('ortools')}"},
            )
        )
    except Exception as error:
        there.send(error)


def _stop_at_limit(solver: Any, clock: Stopwatch, ended: threading.Event) -> None:
    """Stop a solver at its limit of CPU seconds, because its own limit is in wall-clock seconds.

    The request is repeated, because the solver ignores it before the search begins.
    """
    while not ended.wait(LOOK_S):
        if clock.has_expired:
            solver.stop_search()
