"""The anticipatory oracle of Figure 19, constraint by constraint, to be compared with the paper.

X and Y exist only for slots at which job j can start or run, so constraint (10) needs no rows. Slots are those of the
data. With locality, X and Y get the server as a third index, (12) becomes a row per server, and cut-offs are those of
cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from instances import Answer, Options, Report, Result
from instances.method import method
from instances.options import OPTION_NAMES, ignore
from instances.sia import SiaLocalOracle, SiaOracle
from instances.sia.local_oracle import SERVER_GPUS
from models.core.safe_bounds import whole_bound
from models.sia.bounds import compute_trivial_bound, reduce_gap, round_bound

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

    from models.core.pyomo_model import Values


def build_literal(data: SiaOracle, *, windows: int | None = None) -> ConcreteModel:
    """Build the model of Figure 19: X_jt, Y_jt and, with a fairness weight, α_t.

    - `data`: the problem; J and I are the indices of its jobs and pools.
    - `windows`: the paper's windows of job-dependent size (Appendix A), which give long jobs as few starts as short
      ones. Job j may then start only at s_j, every ⌈d_j / windows⌉ slots from there, and at its cut-off.
    """
    from pyomo.environ import Binary, ConcreteModel, Constraint, NonNegativeReals, Objective, Set, Var, minimize

    jobs, pools, is_fair = data.jobs, data.pools, data.fairness_weight > 0
    starts = {}
    for j, (job, cutoff) in enumerate(zip(jobs, data.cutoffs, strict=True)):
        step = 1 if windows is None else max(1, -(-job.duration // windows))
        starts[j] = sorted({*range(job.submit, cutoff + 1, step), cutoff})
    slots_of_job = {j: range(job.submit, data.cutoffs[j] + job.duration) for j, job in enumerate(jobs)}
    running = _list_running(slots_of_job)
    model = ConcreteModel(name="sia-oracle")
    model.J = Set(initialize=range(len(jobs)))
    model.T = Set(initialize=sorted(running))
    model.X_index = Set(initialize=[(j, t) for j, slots in starts.items() for t in slots], dimen=2)
    model.Y_index = Set(initialize=[(j, t) for j, slots in slots_of_job.items() for t in slots], dimen=2)
    model.X = Var(model.X_index, domain=Binary)
    model.Y = Var(model.Y_index, domain=Binary)
    if is_fair:
        model.I = Set(initialize=range(len(pools)))
        model.alpha = Var(model.T, domain=NonNegativeReals)

    def delay_and_fairness(m: Any) -> Any:
        delay = sum((t - jobs[j].submit) * m.X[j, t] for j, t in m.X_index)
        return delay + data.fairness_weight * sum(m.alpha[t] for t in m.T) if is_fair else delay

    def start_once(m: Any, j: int) -> Any:
        return sum(m.X[j, t] for t in starts[j]) == 1

    def is_running(m: Any, j: int, t: int) -> Any:
        return m.Y[j, t] == sum(m.X[j, u] for u in starts[j] if t - jobs[j].duration + 1 <= u <= t)

    def capacity(m: Any, t: int) -> Any:
        return sum(jobs[j].gpus * m.Y[j, t] for j in running[t]) <= data.capacity

    def fair_share(m: Any, i: int, t: int) -> Any:
        """Return row (13); with `above-share`, α_t counts from 1 on."""
        own = [j for j in running[t] if jobs[j].pool == pools[i].name]
        if not own:
            return Constraint.Skip
        free = 0 if data.fair_share == "all-use" else 1
        return sum(jobs[j].gpus * m.Y[j, t] for j in own) <= pools[i].gpus * (m.alpha[t] + free)

    model.delay_and_fairness = Objective(rule=delay_and_fairness, sense=minimize)  # (8)
    model.start_once = Constraint(model.J, rule=start_once)  # (9), (10)
    model.is_running = Constraint(model.Y_index, rule=is_running)  # (11)
    model.capacity = Constraint(model.T, rule=capacity)  # (12)
    if is_fair:
        model.fair_share = Constraint(model.I, model.T, rule=fair_share)  # (13)
    return model


def build_local_literal(data: SiaLocalOracle) -> ConcreteModel:
    """Build the model of Figure 19 with servers: X_jkt, Y_jkt for job j, server k and slot t."""
    from pyomo.environ import Binary, ConcreteModel, Constraint, Objective, Set, Var, minimize

    jobs, cutoffs = data.jobs, data.cutoffs
    starts = {j: range(job.submit, cutoffs[j] + 1) for j, job in enumerate(jobs)}
    slots_of_job = {j: range(job.submit, cutoffs[j] + job.duration) for j, job in enumerate(jobs)}
    running = _list_running(slots_of_job)
    model = ConcreteModel(name="sia-local-oracle")
    model.J = Set(initialize=range(len(jobs)))
    model.K = Set(initialize=range(data.servers))
    model.T = Set(initialize=sorted(running))
    model.X_index = Set(initialize=[(j, k, t) for j in model.J for k in model.K for t in starts[j]], dimen=3)
    model.Y_index = Set(initialize=[(j, k, t) for j in model.J for k in model.K for t in slots_of_job[j]], dimen=3)
    model.X = Var(model.X_index, domain=Binary)
    model.Y = Var(model.Y_index, domain=Binary)

    def delay(m: Any) -> Any:
        return sum((t - jobs[j].submit) * m.X[j, k, t] for j, k, t in m.X_index)

    def start_once(m: Any, j: int) -> Any:
        return sum(m.X[j, k, t] for k in m.K for t in starts[j]) == 1

    def is_running(m: Any, j: int, k: int, t: int) -> Any:
        return m.Y[j, k, t] == sum(m.X[j, k, u] for u in starts[j] if t - jobs[j].duration + 1 <= u <= t)

    def capacity(m: Any, k: int, t: int) -> Any:
        return sum(jobs[j].gpus * m.Y[j, k, t] for j in running[t]) <= SERVER_GPUS

    model.delay = Objective(rule=delay, sense=minimize)  # (8)
    model.start_once = Constraint(model.J, rule=start_once)  # (9), (10)
    model.is_running = Constraint(model.Y_index, rule=is_running)  # (11)
    model.capacity = Constraint(model.K, model.T, rule=capacity)  # (12), per server
    return model


def _list_running(slots_of_job: dict[int, range]) -> dict[int, list[int]]:
    """Return the jobs that can run at each slot."""
    running: dict[int, list[int]] = {}
    for j, slots in slots_of_job.items():
        for t in slots:
            running.setdefault(t, []).append(j)
    return running


def read_literal(data: SiaOracle | SiaLocalOracle, model: ConcreteModel) -> Result:
    """Read the solution that any solver has stored in the literal model of `data`, with or without additional rows.

    The result has passed the checker, or its status is `violates`, with the violated constraints. Raises InputError if
    the model has no values, or if they do not form a solution.
    """
    from models.core.pyomo_model import read_model

    return read_model(data, model, _read_local_starts if isinstance(data, SiaLocalOracle) else _read_starts)


def literal_names(data: SiaOracle | SiaLocalOracle) -> Mapping[str, Callable[..., Mapping[str, Any]]]:
    """Return, for each variable of the literal model of `data`, a function that names the objects of its indices."""
    job = [job.id for job in data.jobs]
    if isinstance(data, SiaLocalOracle):

        def name_local(j: int, k: int, t: int) -> dict[str, Any]:
            return {"job": job[j], "server": k, "slot": t}

        return {"X": name_local, "Y": name_local}

    def name(j: int, t: int) -> dict[str, Any]:
        return {"job": job[j], "slot": t}

    return {"X": name, "Y": name, "alpha": lambda t: {"slot": t}}


def _read_starts(data: SiaOracle, values: Values) -> dict[str, Any]:
    chosen = sorted(index for (name, index), value in values.items() if name == "X" and value > 0.5)
    return {"starts": {data.jobs[j].id: t for j, t in chosen}}


def _read_local_starts(data: SiaLocalOracle, values: Values) -> dict[str, Any]:
    chosen = sorted(index for (name, index), value in values.items() if name == "X" and value > 0.5)
    return {
        "starts": {data.jobs[j].id: t for j, _, t in chosen},
        "servers": {data.jobs[j].id: k for j, k, _ in chosen},
    }


@method("exact")
def literal(data: SiaOracle, options: Options, report: Report) -> Answer:
    """Solve the model of Figure 19 as printed, with HiGHS."""
    from models.core.pyomo_model import solve_literal

    trivial = compute_trivial_bound(data)

    def bound_proven(bound: float) -> float:
        return max(trivial, round_bound(data, bound))

    return solve_literal(data, build_literal, _read_starts, reduce_gap(data, options), report, bound_proven)


@method("heuristic", OPTION_NAMES)
def literal_windows(data: SiaOracle, options: Options, report: Report, *, windows: int = 12) -> Answer:
    """Solve Figure 19 with windows of job-dependent size, a restriction; its bound is not a bound for the problem."""
    from models.core.pyomo_model import solve_literal

    def build(data: SiaOracle) -> ConcreteModel:
        return build_literal(data, windows=windows)

    def report_solution(solution: Any, bound: float | None) -> None:
        report(solution, None)

    solved = solve_literal(data, build, _read_starts, options, ignore if report is ignore else report_solution)
    return Answer(
        solution=solved.solution,
        termination=solved.termination,
        reason=solved.reason,
        build_s=solved.build_s,
        solve_s=solved.solve_s,
        trace=[(when, objective, None) for when, objective, _ in solved.trace],
        info={**solved.info, "restricted_bound": solved.bound},
    )


@method("exact", name="literal")
def local_literal(data: SiaLocalOracle, options: Options, report: Report) -> Answer:
    """Solve the model of Figure 19 with servers, with HiGHS."""
    from models.core.pyomo_model import solve_literal

    return solve_literal(
        data, build_local_literal, _read_local_starts, options, report, lambda bound: float(max(0, whole_bound(bound)))
    )
