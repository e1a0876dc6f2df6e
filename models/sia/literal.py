"""The anticipatory oracle of Figure 19, constraint by constraint, to be read beside the paper.

X and Y exist only where job j can start or be running: constraint (10) needs no rows. All slots are the data's own.

With locality a job starts once, at one slot and on one server: X and Y get the server as a third index, and (12)
becomes a row a server. Cut-offs are those of cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from instances import Answer, Options, Report, Result
from instances.method import method
from instances.options import OPTION_NAMES, ignore
from instances.sia import SiaLocalOracle, SiaOracle
from instances.sia.local_oracle import SERVER_GPUS
from models.bounds import whole_bound
from models.sia.bounds import proven_bound, solver_options, trivial_bound

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

    from models.literal import Values


Windows = dict[int, tuple[int, ...]]


def build_literal(data: SiaOracle, *, windows: int | None = None) -> ConcreteModel:
    """The model of Figure 19: X_jt, Y_jt and, with a fairness weight, α_t.

    J and I are the places of jobs and pools in the data. `windows`: the paper's windows of job-dependent size
    (Appendix A). Job j may then start only at s_j and every ⌈d_j / windows⌉ slots from there, and at its cut-off, so
    that long jobs have as few starts as short ones.
    """
    from pyomo.environ import Binary, ConcreteModel, Constraint, NonNegativeReals, Objective, Set, Var, minimize

    model = ConcreteModel(name="sia-oracle")
    starts, running = _starts(data, windows), _running(data)
    model.J = Set(initialize=range(len(data.jobs)))
    model.T = Set(initialize=sorted({t for slots in running.values() for t in slots}))
    model.X_index = Set(initialize=[(j, t) for j, slots in starts.items() for t in slots], dimen=2)
    model.Y_index = Set(initialize=[(j, t) for j, slots in running.items() for t in slots], dimen=2)
    model.X = Var(model.X_index, domain=Binary)
    model.Y = Var(model.Y_index, domain=Binary)
    fair = data.fairness_weight > 0
    if fair:
        model.I = Set(initialize=range(len(data.pools)))
        model.alpha = Var(model.T, domain=NonNegativeReals)
    model.delay_and_fairness = Objective(rule=_objective(data), sense=minimize)  # (8)
    model.start_once = Constraint(model.J, rule=_start_once(starts))  # (9), (10)
    model.is_running = Constraint(model.Y_index, rule=_is_running(data, starts))  # (11)
    model.capacity = Constraint(model.T, rule=_capacity(data, running))  # (12)
    if fair:
        model.fair_share = Constraint(model.I, model.T, rule=_fair_share(data, running))  # (13)
    return model


def _starts(data: SiaOracle, windows: int | None) -> Windows:
    found = {}
    for j, (job, cutoff) in enumerate(zip(data.jobs, data.cutoffs, strict=True)):
        step = 1 if windows is None else max(1, -(-job.duration // windows))
        found[j] = tuple(sorted({*range(job.submit, cutoff + 1, step), cutoff}))
    return found


def _running(data: SiaOracle) -> Windows:
    jobs = enumerate(zip(data.jobs, data.cutoffs, strict=True))
    return {j: tuple(range(job.submit, cutoff + job.duration)) for j, (job, cutoff) in jobs}


def _objective(data: SiaOracle) -> Any:
    def rule(m: Any) -> Any:
        delay = sum((t - data.jobs[j].submit) * m.X[j, t] for j, t in m.X_index)
        return delay + data.fairness_weight * sum(m.alpha[t] for t in m.T) if data.fairness_weight else delay

    return rule


def _start_once(starts: Windows) -> Any:
    return lambda m, j: sum(m.X[j, t] for t in starts[j]) == 1


def _is_running(data: SiaOracle, starts: Windows) -> Any:
    """Row (11): running at t if started in [t - d_j + 1, t], clipped to the window of starts."""

    def rule(m: Any, j: int, t: int) -> Any:
        begun = (u for u in starts[j] if t - data.jobs[j].duration + 1 <= u <= t)
        return m.Y[j, t] == sum(m.X[j, u] for u in begun)

    return rule


def _capacity(data: SiaOracle, running: Windows) -> Any:
    at = _jobs_at(running)

    def rule(m: Any, t: int) -> Any:
        return sum(data.jobs[j].gpus * m.Y[j, t] for j in at[t]) <= data.capacity

    return rule


def _fair_share(data: SiaOracle, running: Windows) -> Any:
    """Row (13), or with `above-share` the same row with α_t counted from 1 on."""
    from pyomo.environ import Constraint

    at = _jobs_at(running)
    free = 0 if data.fair_share == "all-use" else 1

    def rule(m: Any, i: int, t: int) -> Any:
        here = [j for j in at[t] if data.jobs[j].pool == data.pools[i].name]
        if not here:
            return Constraint.Skip
        return sum(data.jobs[j].gpus * m.Y[j, t] for j in here) <= data.pools[i].gpus * (m.alpha[t] + free)

    return rule


def _jobs_at(running: Windows) -> dict[int, list[int]]:
    at: dict[int, list[int]] = {}
    for j, slots in running.items():
        for t in slots:
            at.setdefault(t, []).append(j)
    return at


def read_literal(data: SiaOracle | SiaLocalOracle, model: ConcreteModel) -> Result:
    """What a solver of your own has found for the literal model of `data`, with rows of your own or without.

    It has passed the checker, or is `violates` with what it breaks. Raises InputError for a model without values, and
    for values that are no solution.
    """
    from models.literal import read_model

    return read_model(data, model, _read_local if isinstance(data, SiaLocalOracle) else _read)


def literal_names(data: SiaOracle | SiaLocalOracle) -> Mapping[str, Callable[..., Mapping[str, Any]]]:
    """What the indices of each variable of the literal model of `data` stand for."""
    job = [job.id for job in data.jobs]
    if isinstance(data, SiaLocalOracle):

        def placed(j: int, k: int, t: int) -> dict[str, Any]:
            return {"job": job[j], "server": k, "slot": t}

        return {"X": placed, "Y": placed}

    def at(j: int, t: int) -> dict[str, Any]:
        return {"job": job[j], "slot": t}

    return {"X": at, "Y": at, "alpha": lambda t: {"slot": t}}


def _read(data: SiaOracle, values: Values) -> dict[str, Any]:
    chosen = {index for (name, index), value in values.items() if name == "X" and value > 0.5}
    return {"starts": {data.jobs[j].id: t for j, t in sorted(chosen)}}


@method("exact")
def literal(data: SiaOracle, options: Options, report: Report) -> Answer:
    """Solve the model of Figure 19 as printed, with HiGHS."""
    from models.literal import solve_literal

    trivial = trivial_bound(data)

    def proven(bound: float) -> float:
        return max(trivial, proven_bound(data, bound))

    return solve_literal(data, build_literal, _read, solver_options(data, options), report, proven)


@method("heuristic", OPTION_NAMES)
def literal_windows(data: SiaOracle, options: Options, report: Report, *, windows: int = 12) -> Answer:
    """Solve Figure 19 with windows of job-dependent size: a restriction, whose bound bounds nothing else."""
    from models.literal import solve_literal

    def build(data: SiaOracle) -> ConcreteModel:
        return build_literal(data, windows=windows)

    def incumbents(solution: Any, bound: float | None) -> None:
        report(solution, None)

    listen = ignore if report is ignore else incumbents
    solved = solve_literal(data, build, _read, options, listen)
    return Answer(
        solution=solved.solution,
        termination=solved.termination,
        reason=solved.reason,
        build_s=solved.build_s,
        solve_s=solved.solve_s,
        trace=[(when, found, None) for when, found, _ in solved.trace],
        info={**solved.info, "restricted_bound": solved.bound},
    )


def build_local_literal(data: SiaLocalOracle) -> ConcreteModel:
    """The model of Figure 19 with servers: X_jkt, Y_jkt for job j, server k and slot t."""
    from pyomo.environ import Binary, ConcreteModel, Constraint, Objective, Set, Var, minimize

    jobs, cutoffs = data.jobs, data.cutoffs
    starts = {j: range(job.submit, cutoffs[j] + 1) for j, job in enumerate(jobs)}
    running = {j: range(job.submit, cutoffs[j] + job.duration) for j, job in enumerate(jobs)}
    model = ConcreteModel(name="sia-local-oracle")
    model.J = Set(initialize=range(len(jobs)))
    model.K = Set(initialize=range(data.servers))
    model.T = Set(initialize=sorted({t for slots in running.values() for t in slots}))
    model.X_index = Set(initialize=[(j, k, t) for j in model.J for k in model.K for t in starts[j]], dimen=3)
    model.Y_index = Set(initialize=[(j, k, t) for j in model.J for k in model.K for t in running[j]], dimen=3)
    model.X = Var(model.X_index, domain=Binary)
    model.Y = Var(model.Y_index, domain=Binary)

    def start_once(m: Any, j: int) -> Any:
        return sum(m.X[j, k, t] for k in m.K for t in starts[j]) == 1

    def is_running(m: Any, j: int, k: int, t: int) -> Any:
        begun = (u for u in starts[j] if t - jobs[j].duration + 1 <= u <= t)
        return m.Y[j, k, t] == sum(m.X[j, k, u] for u in begun)

    def capacity(m: Any, k: int, t: int) -> Any:
        return sum(jobs[j].gpus * m.Y[j, k, t] for j in m.J if t in running[j]) <= SERVER_GPUS

    model.delay = Objective(
        expr=sum((t - jobs[j].submit) * model.X[j, k, t] for j, k, t in model.X_index), sense=minimize
    )  # (8)
    model.start_once = Constraint(model.J, rule=start_once)  # (9), (10)
    model.is_running = Constraint(model.Y_index, rule=is_running)  # (11)
    model.capacity = Constraint(model.K, model.T, rule=capacity)  # (12), of each server
    return model


def _read_local(data: SiaLocalOracle, values: Values) -> dict[str, Any]:
    chosen = sorted(index for (name, index), value in values.items() if name == "X" and value > 0.5)
    return {
        "starts": {data.jobs[j].id: t for j, _, t in chosen},
        "servers": {data.jobs[j].id: k for j, k, _ in chosen},
    }


@method("exact", name="literal")
def local_literal(data: SiaLocalOracle, options: Options, report: Report) -> Answer:
    """Solve the model of Figure 19 with servers, with HiGHS."""
    from models.literal import solve_literal

    return solve_literal(
        data, build_local_literal, _read_local, options, report, lambda bound: float(max(0, whole_bound(bound)))
    )
