"""The compact formulations of Aryl's three problems: the paper's programs in Pyomo, solved by HiGHS.

- `aryl-elastic`: the knapsack of section 5.2, and an event-interval program for section 5.1.
- `aryl-reclaim` (section 4): return N_R servers such that the number of preempted jobs, or their loss, is minimum. A
  job may be preempted only if too few of its workers remain.
- `aryl-placement` (sections 5.3 and 6): a variable for each job, part and server.

Functions import Pyomo when they build a model, because the import takes a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from instances import Answer, Options, Report, Result, Solution, Stopwatch
from instances.aryl import ArylElastic, ArylPlacement, ArylReclaim
from instances.aryl.arrays import ElasticArrays, Workers
from instances.aryl.placement import PARTS
from instances.aryl.schedule import Schedule
from instances.method import method
from instances.options import ignore
from models.aryl.list_schedules import convert_schedule, replay_allocations
from models.core.highs import TIGHT, solve_arrays
from models.core.safe_bounds import real_bound, whole_bound
from models.core.scaling import rescale_model

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

    from models.core.pyomo_model import Values


def build_knapsack(data: ArylElastic) -> ConcreteModel:
    """Build the multiple-choice knapsack of section 5.2 and Algorithm 2: a group per job, an item per allocation.

    Item (j, w): job j gets w extra workers, w = 1, ..., w^max - w^min. Its weight is their GPUs. Its value is the
    running time saved, T_j^max w / (w + w_j^min) with linear scaling. The capacity is the GPUs beyond the base demand
    of all jobs.
    """
    from pyomo.environ import Binary, ConcreteModel, Constraint, Objective, RangeSet, Set, Var, maximize

    model = ConcreteModel(name="aryl-knapsack")
    jobs = ElasticArrays.of(data)
    # Items that save no time are in no optimum. Their large negative values would hide the other values from HiGHS.
    extra = [
        [w - jobs.least[j] for w in rates if rates[w] > rates[jobs.least[j]]] for j, rates in enumerate(jobs.speed)
    ]
    items = [(j, w) for j, more in enumerate(extra) for w in more]
    model.J = RangeSet(0, len(data.jobs) - 1)
    model.I = Set(dimen=2, initialize=items)
    model.x = Var(model.I, domain=Binary)

    def compute_value(j: int, w: int) -> float:
        work, least = jobs.work[j], jobs.least[j]
        return float(work / jobs.speed[j][least] - work / jobs.speed[j][least + w])

    def limit_items(m: Any, j: int) -> Any:
        return sum(m.x[j, w] for w in extra[j]) <= 1 if extra[j] else Constraint.Skip

    spare = data.whole_gpus - sum(job.base_gpus for job in data.jobs)
    model.reduction = Objective(expr=sum(compute_value(j, w) * model.x[j, w] for j, w in model.I), sense=maximize)
    model.one_item = Constraint(model.J, rule=limit_items)
    weights = [jobs.gpus[j] * w * model.x[j, w] for j, w in model.I]
    model.capacity = Constraint(expr=sum(weights) <= spare) if weights else Constraint(rule=Constraint.Skip)
    return model


def build_mean_jct(data: ArylElastic) -> ConcreteModel:
    """Build the event-interval program of section 5.1.

    All jobs are present at time 0, and interval m ends at completion m.

    Variables: x_jm = 1 if job j is the m-th to complete; q_jm = 1 if it holds workers in interval m; z_jmk = 1 if it
    holds k workers there; L_m, the length of interval m; t_jmk = L_m if z_jmk = 1, else 0. Times are in units of the
    longest minimum running time, and speeds in units of the job's fastest speed; the objective is in seconds. Interval
    m is at most S / (n + 1 - m) long; S is the total completion time of the jobs one after the other. k workers work at
    most for the time that the whole job takes them.
    """
    from pyomo.environ import (
        Binary,
        ConcreteModel,
        Constraint,
        NonNegativeReals,
        Objective,
        RangeSet,
        Set,
        Var,
        minimize,
    )

    jobs = ElasticArrays.of(data)
    n = len(jobs.work)
    alone = [jobs.shortest(j) for j in range(n)]
    longest_job = max(alone)
    work = [float(seconds / longest_job) for seconds in alone]
    total = sum((n - i) * p for i, p in enumerate(sorted(work)))
    fastest = [jobs.speed[j][jobs.most[j]] for j in range(n)]
    speed = [{k: float(rate / fastest[j]) for k, rate in jobs.speed[j].items()} for j in range(n)]
    mean_seconds = float(longest_job / n)

    model = ConcreteModel(name="aryl-mean-jct")
    model.J, model.M = RangeSet(0, n - 1), RangeSet(1, n)
    model.JMK = Set(dimen=3, initialize=[(j, m, k) for j in range(n) for m in range(1, n + 1) for k in speed[j]])
    model.x, model.q = Var(model.J, model.M, domain=Binary), Var(model.J, model.M, domain=Binary)
    longest = {m: total / (n + 1 - m) for m in model.M}
    most = {
        (j, m, k): min(longest[m], work[j] / rate) for j in range(n) for m in model.M for k, rate in speed[j].items()
    }
    model.z = Var(model.JMK, domain=Binary)
    model.t = Var(model.JMK, domain=NonNegativeReals, bounds=lambda _, *jmk: (0, most[jmk]))
    model.L = Var(model.M, domain=NonNegativeReals)

    def complete_once(m: Any, j: int) -> Any:
        return sum(m.x[j, i] for i in m.M) == 1

    def complete_one_job(m: Any, i: int) -> Any:
        return sum(m.x[j, i] for j in m.J) == 1

    def stop_after_completion(m: Any, j: int, i: int) -> Any:
        return m.q[j, i] + sum(m.x[j, e] for e in m.M if e < i) <= 1

    def complete_running(m: Any, j: int, i: int) -> Any:
        return m.x[j, i] <= m.q[j, i]

    def keep_running(m: Any, j: int, i: int) -> Any:
        return Constraint.Skip if i == 1 else m.q[j, i] >= m.q[j, i - 1] - m.x[j, i - 1]

    def choose_allocation(m: Any, j: int, i: int) -> Any:
        return sum(m.z[j, i, k] for k in speed[j]) == m.q[j, i]

    def limit_time(m: Any, j: int, i: int, k: int) -> Any:
        return m.t[j, i, k] <= most[j, i, k] * m.z[j, i, k]

    def limit_by_interval(m: Any, j: int, i: int) -> Any:
        return sum(m.t[j, i, k] for k in speed[j]) <= m.L[i]

    def fill_interval(m: Any, j: int, i: int) -> Any:
        return sum(m.t[j, i, k] for k in speed[j]) >= m.L[i] - longest[i] * (1 - m.q[j, i])

    def do_work(m: Any, j: int) -> Any:
        return sum(rate * m.t[j, i, k] for i in m.M for k, rate in speed[j].items()) == work[j]

    def limit_capacity(m: Any, i: int) -> Any:
        return sum(jobs.gpus[j] * k * m.z[j, i, k] for j in m.J for k in speed[j]) <= jobs.capacity

    seconds = sum(mean_seconds * (n + 1 - i) * model.L[i] for i in model.M)
    model.mean = Objective(expr=seconds, sense=minimize)
    model.completes_once = Constraint(model.J, rule=complete_once)
    model.one_completion = Constraint(model.M, rule=complete_one_job)
    model.not_after_completion = Constraint(model.J, model.M, rule=stop_after_completion)
    model.completes_running = Constraint(model.J, model.M, rule=complete_running)
    model.keeps_running = Constraint(model.J, model.M, rule=keep_running)
    model.one_allocation = Constraint(model.J, model.M, rule=choose_allocation)
    model.time_of_allocation = Constraint(model.JMK, rule=limit_time)
    model.at_most_the_interval = Constraint(model.J, model.M, rule=limit_by_interval)
    model.all_of_the_interval = Constraint(model.J, model.M, rule=fill_interval)
    model.work_done = Constraint(model.J, rule=do_work)
    model.capacity = Constraint(model.M, rule=limit_capacity)
    return model


def build_elastic(data: ArylElastic) -> ConcreteModel:
    """Build the compact formulation of the objective of `data`."""
    return build_mean_jct(data) if data.objective == "mean-jct" else build_knapsack(data)


def literal_elastic(data: ArylElastic, options: Options, report: Report = ignore) -> Answer:
    """Solve the compact formulation with HiGHS; recompute a mean JCT exactly from the allocation.

    The objective is scaled by its largest coefficient, because HiGHS may treat small numbers of seconds as 0.
    """
    from models.core.pyomo_model import compile_model

    clock = Stopwatch(options.time_limit)
    with Stopwatch() as building:
        standard = compile_model(build_elastic(data))
        cost = np.asarray(standard.model.cost)
        unit = float(np.max(np.abs(cost), initial=0.0)) or 1.0
        model = replace(standard.model, cost=cost / unit, offset=standard.model.offset / unit)
        model, sizes = rescale_model(model)

    def read(x: Any) -> dict[str, Any]:
        return _read_elastic(data, standard.values(x * sizes))

    def convert_bound(bound: float) -> float:
        return real_bound(bound * unit, data.sense, trivial=0.0 if data.sense == "minimize" else None)

    def watch(x: Any, bound: float | None) -> None:
        report(None if x is None else read(x), None if bound is None else convert_bound(bound))

    limit = clock.limit_left_s
    half = replace(options, time_limit=limit, gap=options.gap / 2)  # the bound gives up the other half for tolerances
    # HiGHS's presolve has cut off the optimum of two jobs whose numbers differ in the last digit only.
    extra = TIGHT | ({"presolve": "off"} if data.objective == "mean-jct" else {})
    solved = solve_arrays(model, half, watch=None if report is ignore else watch, extra=extra)
    rows, columns = model.matrix.shape
    return Answer(
        solution=None if solved.x is None else read(solved.x),
        bound=None if solved.bound is None else convert_bound(solved.bound),
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=[(t, v and v * unit, b and b * unit) for t, v, b in solved.trace],
        info={**solved.info, "rows": rows, "columns": columns},
    )


def _read_elastic(data: ArylElastic, values: Values) -> dict[str, Any]:
    if data.objective == "mean-jct":
        return convert_schedule(_read_schedule(ElasticArrays.of(data), values), data)
    return _read_knapsack(data, values)


def _read_knapsack(data: ArylElastic, values: Values) -> dict[str, Any]:
    workers = {job.id: job.min_workers for job in data.jobs}
    for (name, index), value in values.items():
        if name == "x" and value > 0.5:
            workers[data.jobs[index[0]].id] += index[1]
    return {"workers": workers}


def _read_schedule(jobs: ElasticArrays, values: Values) -> Schedule[int]:
    """Return the schedule of the program's allocations, with exact lengths."""
    n = len(jobs.work)
    allocations: list[Workers] = [
        {j: k for j in range(n) for k in jobs.speed[j] if values.get(("z", (j, m, k)), 0.0) > 0.5}
        for m in range(1, n + 1)
    ]
    return replay_allocations(jobs, allocations)


def build_reclaim(data: ArylReclaim) -> ConcreteModel:
    """Build the program of reclaiming.

    Variables: x_s = 1 if server s is returned; z_j = 1 if job j is preempted. A job is preempted if a server with its
    base workers is returned. A job with `min_workers` is preempted if fewer workers than that remain.
    """
    from pyomo.environ import Binary, ConcreteModel, Constraint, Objective, RangeSet, Set, Var, minimize

    model = ConcreteModel(name="aryl-reclaim")
    place = {server: s for s, server in enumerate(data.servers)}
    strict = [j for j, job in enumerate(data.jobs) if job.min_workers is None]
    hosted = [(j, place[server]) for j in strict for server in data.jobs[j].servers]
    model.S, model.J = RangeSet(0, len(data.servers) - 1), Set(initialize=range(len(data.jobs)))
    model.hosted = Set(dimen=2, initialize=hosted)
    model.T = Set(initialize=[j for j, job in enumerate(data.jobs) if job.min_workers])
    model.x, model.z = Var(model.S, domain=Binary), Var(model.J, domain=Binary)

    def preempt_hosted(m: Any, j: int, s: int) -> Any:
        return m.z[j] >= m.x[s]

    def preempt_if_too_few_remain(m: Any, j: int) -> Any:
        workers, spare = data.jobs[j].needs()
        gone = sum(n * m.x[place[server]] for server, n in workers.items())
        return gone <= spare + (sum(workers.values()) - spare) * m.z[j]

    lost = zip(data.losses(), model.J, strict=True)
    model.preemptions = Objective(expr=sum(float(loss) * model.z[j] for loss, j in lost), sense=minimize)
    model.reclaim = Constraint(expr=sum(model.x[s] for s in model.S) == data.reclaim)
    model.preempted = Constraint(model.hosted, rule=preempt_hosted)
    model.too_few_remain = Constraint(model.T, rule=preempt_if_too_few_remain)
    return model


def literal_reclaim(data: ArylReclaim, options: Options, report: Report = ignore) -> Answer:
    """Solve the compact formulation with HiGHS."""
    from models.core.pyomo_model import solve_literal

    is_integral = data.objective == "preempted-jobs"

    def convert_bound(bound: float) -> float:
        return max(0.0, float(whole_bound(bound)) if is_integral else real_bound(bound))

    return solve_literal(data, build_reclaim, _read_reclaim, options, report, convert_bound)


def _read_reclaim(data: ArylReclaim, values: Values) -> dict[str, Any]:
    return {"servers": [server for s, server in enumerate(data.servers) if values.get(("x", s), 0.0) > 0.5]}


def build_placement(data: ArylPlacement) -> ConcreteModel:
    """Build the program of placement.

    Variables: n_j_p_s, workers of part p of job j on server s; y_j = 1 if all base workers of job j are placed; k_j_0 =
    1 (k_j_1 = 1) if a job that is not heterogeneous is on training (loaned) servers; u_s = 1 if server s is in use; f_s
    = 1 if loaned server s hosts flexible workers and no base workers.
    """
    from pyomo.environ import Binary, ConcreteModel, Constraint, NonNegativeIntegers, Objective, Set, Var, minimize

    model = ConcreteModel(name="aryl-placement")
    jobs, servers = list(enumerate(data.jobs)), list(enumerate(data.servers))
    fits = [
        (j, p, s)
        for j, job in jobs
        for p, part in enumerate(PARTS)
        for s, server in servers
        if job.workers(part) and server.kind in job.kinds and job.gpus_on(server.kind) <= server.free_gpus
    ]
    here = dict[tuple[int, int], list[int]]()
    for j, p, s in fits:
        here.setdefault((j, p), []).append(s)
    model.fits = Set(dimen=3, initialize=fits)
    model.J, model.S = Set(initialize=range(len(jobs))), Set(initialize=range(len(servers)))
    model.n = Var(model.fits, domain=NonNegativeIntegers)
    model.y, model.k = Var(model.J, domain=Binary), Var(model.J, [0, 1], domain=Binary)
    model.u, model.f = Var(model.S, domain=Binary), Var(model.S, domain=Binary)

    def count_placed(m: Any, j: int, p: int) -> Any:
        return sum(m.n[j, p, s] for s in here.get((j, p), []))

    def compute_cost(m: Any) -> Any:
        total = sum(m.u[s] for s, server in servers if not server.is_in_use)
        for j, job in jobs:
            for p, part in enumerate(PARTS):
                gpus, wanted = job.gpus_per_worker, job.choose_kind(part)
                total += data.unplaced_cost * gpus * (job.workers(part) - count_placed(m, j, p))
                elsewhere = [s for s in here.get((j, p), []) if data.servers[s].kind != wanted]
                total += data.misplaced_cost * gpus * sum(m.n[j, p, s] for s in elsewhere)
        return total

    def limit_gpus(m: Any, s: int) -> Any:
        server = data.servers[s]
        held = [m.n[j, p, t] * data.jobs[j].gpus_on(server.kind) for j, p, t in fits if t == s]
        return sum(held) <= server.free_gpus * m.u[s] if held else Constraint.Skip

    def place_base_workers(m: Any, j: int) -> Any:
        workers = data.jobs[j].base_workers
        return count_placed(m, j, 0) == workers * m.y[j] if workers else Constraint.Skip

    def limit_flexible_workers(m: Any, j: int) -> Any:
        workers = data.jobs[j].flexible_workers
        return count_placed(m, j, 1) <= workers * m.y[j] if workers else Constraint.Skip

    def choose_kind(m: Any, j: int) -> Any:
        return m.k[j, 0] + m.k[j, 1] <= 1 if not data.jobs[j].heterogeneous else Constraint.Skip

    def use_chosen_kind(m: Any, j: int, p: int, s: int) -> Any:
        if data.jobs[j].heterogeneous:
            return Constraint.Skip
        kind = 0 if data.servers[s].kind == "training" else 1
        return m.n[j, p, s] <= data.jobs[j].workers(PARTS[p]) * m.k[j, kind]

    def separate_parts(m: Any, j: int, p: int, s: int) -> Any:
        server = data.servers[s]
        if server.kind == "training" or not data.grouped:
            return Constraint.Skip
        flexible = m.f[s] if server.hosts is None else int(server.hosts == "flexible")
        return m.n[j, p, s] <= data.jobs[j].workers(PARTS[p]) * (flexible if p else 1 - flexible)

    model.cost = Objective(rule=compute_cost, sense=minimize)
    model.gpus = Constraint(model.S, rule=limit_gpus)
    model.all_base_workers = Constraint(model.J, rule=place_base_workers)
    model.flexible_after_base = Constraint(model.J, rule=limit_flexible_workers)
    model.one_kind = Constraint(model.J, rule=choose_kind)
    model.on_that_kind = Constraint(model.fits, rule=use_chosen_kind)
    model.group = Constraint(model.fits, rule=separate_parts)
    return model


def literal_placement(data: ArylPlacement, options: Options, report: Report = ignore) -> Answer:
    """Solve the compact formulation with HiGHS."""
    from models.core.pyomo_model import solve_literal

    return solve_literal(
        data, build_placement, _read_placement, options, report, lambda bound: float(max(0, whole_bound(bound)))
    )


def _read_placement(data: ArylPlacement, values: Values) -> Solution:
    placed: dict[str, dict[str, dict[str, int]]] = {"base": {}, "flexible": {}}
    for j, job in enumerate(data.jobs):
        for p, part in enumerate(PARTS):
            for s, server in enumerate(data.servers):
                workers = round(values.get(("n", (j, p, s)), 0.0))
                if workers:
                    placed[part].setdefault(job.id, {})[server.id] = workers
    return placed


Data = ArylElastic | ArylReclaim | ArylPlacement


def read_literal(data: Data, model: ConcreteModel) -> Result:
    """Read the solution that any solver has found for the compact formulation of `data`.

    `model`: the solved model, perhaps with additional constraints. The checker verifies the solution; the status of an
    infeasible one is `violates`. Raises InputError if variables have no values or the values are no solution.
    """
    from models.core.pyomo_model import read_model

    if isinstance(data, ArylReclaim):
        return read_model(data, model, _read_reclaim)
    return read_model(data, model, _read_placement if isinstance(data, ArylPlacement) else _read_elastic)


def literal_names(data: Data) -> Mapping[str, Callable[..., Mapping[str, Any]]]:
    """Return functions that map the indices of each variable of the compact formulation to names of `data`."""
    job = [job.id for job in data.jobs]
    if isinstance(data, ArylReclaim):
        return {"x": lambda s: {"server": data.servers[s]}, "z": lambda j: {"job": job[j]}}
    if isinstance(data, ArylPlacement):
        server = [server.id for server in data.servers]
        kinds = ("training", "loaned")
        return {
            "n": lambda j, p, s: {"job": job[j], "part": PARTS[p], "server": server[s]},
            "y": lambda j: {"job": job[j]},
            "k": lambda j, kind: {"job": job[j], "kind": kinds[kind]},
            "u": lambda s: {"server": server[s]},
            "f": lambda s: {"server": server[s]},
        }
    if data.objective == "jct-reduction":
        return {"x": lambda j, w: {"job": job[j], "extra_workers": w}}

    def name_allocation(j: int, m: int, k: int) -> dict[str, Any]:
        return {"job": job[j], "interval": m, "workers": k}

    def name_interval(j: int, m: int) -> dict[str, Any]:
        return {"job": job[j], "interval": m}

    return {
        "x": name_interval,
        "q": name_interval,
        "z": name_allocation,
        "t": name_allocation,
        "L": lambda m: {"interval": m},
    }


@method("exact")
def literal(data: Data, options: Options, report: Report) -> Answer:
    """Solve the paper's formulation with HiGHS."""
    if isinstance(data, ArylReclaim):
        return literal_reclaim(data, options, report)
    if isinstance(data, ArylPlacement):
        return literal_placement(data, options, report)
    return literal_elastic(data, options, report)
