"""The literal models of `aryl-elastic`: the knapsack of section 5.2 and an event-interval program for section 5.1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyomo.environ import (
    Binary,
    ConcreteModel,
    Constraint,
    NonNegativeReals,
    Objective,
    RangeSet,
    Set,
    Var,
    maximize,
    minimize,
)

from instances import Answer, Options, Report, Result, Stopwatch, conclude, ignore
from instances.aryl import ArylElastic
from models.aryl.schedules import Jobs, Schedule, Workers, planned, replay
from models.highs import solve_arrays
from models.literal import Values, compile_model, solve_literal

BEFORE_ROUNDING = 0.5  # of the gap asked for: what HiGHS is told, for the exact replay may differ in the last digits


def build_knapsack(data: ArylElastic) -> ConcreteModel:
    """The multiple-choice knapsack of section 5.2 and Algorithm 2: a group for each job, an item for each allocation.

    Items (j, w): job j gets w extra workers, w = 1, ..., w^max - w^min. Weight: their GPUs. Value: T_j^max w / (w +
    w_j^min) with linear scaling, the running time saved. Capacity: what the base demand of all jobs leaves.
    """
    model = ConcreteModel(name="aryl-knapsack")
    jobs = Jobs.of(data)
    items = [(j, w - jobs.least[j]) for j, rates in enumerate(jobs.speed) for w in rates if w > jobs.least[j]]
    model.J = RangeSet(0, len(data.jobs) - 1)
    model.I = Set(dimen=2, initialize=items)
    model.x = Var(model.I, domain=Binary)

    def value(j: int, w: int) -> float:
        work, least = jobs.work[j], jobs.least[j]
        return float(work / jobs.speed[j][least] - work / jobs.speed[j][least + w])

    def at_most_one_item(m: Any, j: int) -> Any:
        chosen = [m.x[j, w] for i, w in m.I if i == j]
        return sum(chosen) <= 1 if chosen else Constraint.Skip

    spare = data.whole_gpus - sum(job.base_gpus for job in data.jobs)
    model.reduction = Objective(expr=sum(value(j, w) * model.x[j, w] for j, w in model.I), sense=maximize)
    model.one_item = Constraint(model.J, rule=at_most_one_item)
    weights = [jobs.gpus[j] * w * model.x[j, w] for j, w in model.I]
    model.capacity = Constraint(expr=sum(weights) <= spare) if weights else Constraint(rule=Constraint.Skip)
    return model


def build_mean_jct(data: ArylElastic) -> ConcreteModel:
    """All jobs present at time 0, re-allocation at each completion (section 5.1): interval m ends at completion m.

    x_jm: job j is the m-th to complete. q_jm: it holds workers in interval m. z_jmk: it holds k workers there. L_m:
    length of interval m, t_jmk: the same where z_jmk = 1, else 0. Times are in units of the longest minimum running
    time; no interval is longer than S / (n + 1 - m), S being the total completion time of one job after the other.
    """
    jobs = Jobs.of(data)
    n = len(jobs.work)
    scale = _scale(jobs)
    work = [float(w / scale) for w in jobs.work]
    alone = sorted(w / float(jobs.speed[j][jobs.most[j]]) for j, w in enumerate(work))
    total = sum((n - i) * p for i, p in enumerate(alone))

    model = ConcreteModel(name="aryl-mean-jct")
    model.J, model.M = RangeSet(0, n - 1), RangeSet(1, n)
    model.JMK = Set(dimen=3, initialize=[(j, m, k) for j in range(n) for m in range(1, n + 1) for k in jobs.speed[j]])
    model.x, model.q = Var(model.J, model.M, domain=Binary), Var(model.J, model.M, domain=Binary)
    model.z, model.t = Var(model.JMK, domain=Binary), Var(model.JMK, domain=NonNegativeReals)
    model.L = Var(model.M, domain=NonNegativeReals)
    longest = {m: total / (n + 1 - m) for m in model.M}

    def completes_once(m: Any, j: int) -> Any:
        return sum(m.x[j, i] for i in m.M) == 1

    def one_completion(m: Any, i: int) -> Any:
        return sum(m.x[j, i] for j in m.J) == 1

    def not_after_completion(m: Any, j: int, i: int) -> Any:
        return m.q[j, i] + sum(m.x[j, e] for e in m.M if e < i) <= 1

    def completes_running(m: Any, j: int, i: int) -> Any:
        return m.x[j, i] <= m.q[j, i]

    def keeps_running(m: Any, j: int, i: int) -> Any:
        return Constraint.Skip if i == 1 else m.q[j, i] >= m.q[j, i - 1] - m.x[j, i - 1]

    def one_allocation(m: Any, j: int, i: int) -> Any:
        return sum(m.z[j, i, k] for k in jobs.speed[j]) == m.q[j, i]

    def time_of_allocation(m: Any, j: int, i: int, k: int) -> Any:
        return m.t[j, i, k] <= longest[i] * m.z[j, i, k]

    def at_most_the_interval(m: Any, j: int, i: int) -> Any:
        return sum(m.t[j, i, k] for k in jobs.speed[j]) <= m.L[i]

    def all_of_the_interval(m: Any, j: int, i: int) -> Any:
        return sum(m.t[j, i, k] for k in jobs.speed[j]) >= m.L[i] - longest[i] * (1 - m.q[j, i])

    def work_done(m: Any, j: int) -> Any:
        return sum(float(rate) * m.t[j, i, k] for i in m.M for k, rate in jobs.speed[j].items()) == work[j]

    def capacity(m: Any, i: int) -> Any:
        return sum(jobs.gpus[j] * k * m.z[j, i, k] for j in m.J for k in jobs.speed[j]) <= jobs.capacity

    model.total = Objective(expr=sum((n + 1 - i) * model.L[i] for i in model.M), sense=minimize)
    model.completes_once = Constraint(model.J, rule=completes_once)
    model.one_completion = Constraint(model.M, rule=one_completion)
    model.not_after_completion = Constraint(model.J, model.M, rule=not_after_completion)
    model.completes_running = Constraint(model.J, model.M, rule=completes_running)
    model.keeps_running = Constraint(model.J, model.M, rule=keeps_running)
    model.one_allocation = Constraint(model.J, model.M, rule=one_allocation)
    model.time_of_allocation = Constraint(model.JMK, rule=time_of_allocation)
    model.at_most_the_interval = Constraint(model.J, model.M, rule=at_most_the_interval)
    model.all_of_the_interval = Constraint(model.J, model.M, rule=all_of_the_interval)
    model.work_done = Constraint(model.J, rule=work_done)
    model.capacity = Constraint(model.M, rule=capacity)
    return model


def build_elastic(data: ArylElastic) -> ConcreteModel:
    """The literal model of the objective of `data`."""
    return build_mean_jct(data) if data.objective == "mean-jct" else build_knapsack(data)


def literal_elastic(data: ArylElastic, options: Options = Options(), report: Report = ignore) -> Result:
    """Solve the literal model with HiGHS; a mean JCT is recomputed from the allocation, exactly."""
    if data.objective != "mean-jct":
        return solve_literal(data, build_knapsack, _read_knapsack, options, report)
    with Stopwatch() as building:
        jobs, standard = Jobs.of(data), compile_model(build_mean_jct(data))
    solved = solve_arrays(standard.model, replace(options, gap=options.gap * BEFORE_ROUNDING))
    schedule = _read_schedule(jobs, standard.values(solved.x)) if solved.x is not None else None
    mean = float(schedule.total / len(jobs.work)) if schedule else float("inf")
    scale = float(_scale(jobs)) / len(jobs.work)
    answer = Answer(
        solution=schedule.solution(data) if schedule else None,
        bound=None if solved.bound is None else min(mean, solved.bound * scale),
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=[(t, v and v * scale, b and b * scale) for t, v, b in solved.trace],
        info=solved.info,
    )
    return conclude(data, "literal", answer, options, kind="exact")


def _scale(jobs: Jobs) -> Any:
    return max(w / jobs.speed[j][jobs.most[j]] for j, w in enumerate(jobs.work))


def _read_knapsack(data: ArylElastic, values: Values) -> dict[str, Any]:
    workers = {job.id: job.min_workers for job in data.jobs}
    for (name, index), value in values.items():
        if name == "x" and value > 0.5:
            workers[data.jobs[index[0]].id] += index[1]
    return {"workers": workers}


def _read_schedule(jobs: Jobs, values: Values) -> Schedule:
    """The allocation, its lengths recomputed exactly."""
    n = len(jobs.work)
    chosen: list[Workers] = [
        {j: k for j in range(n) for k in jobs.speed[j] if values["z", (j, m, k)] > 0.5} for m in range(1, n + 1)
    ]
    return replay(jobs.work, jobs.speed, planned(jobs, chosen))
