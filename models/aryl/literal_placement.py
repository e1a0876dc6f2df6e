"""The literal model of `aryl-placement` (sections 5.3 and 6): a variable for each job, part and server."""

from __future__ import annotations

from typing import Any

from pyomo.environ import Binary, ConcreteModel, Constraint, NonNegativeIntegers, Objective, Set, Var, minimize

from instances import Answer, Options, Report, Solution
from instances.aryl import ArylPlacement
from instances.aryl.placement import PARTS
from instances.options import ignore
from models.bounds import whole_bound
from models.literal import Values, solve_literal


def build_placement(data: ArylPlacement) -> ConcreteModel:
    """n_j_p_s: workers of part p of job j on server s. y_j: job j is placed, all of its base workers.

    k_j_0, k_j_1: a job that is not heterogeneous is on training servers, on loaned ones. u_s: server s is in use.
    f_s: loaned server s hosts flexible workers, and no base workers.
    """
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

    def placed(m: Any, j: int, p: int) -> Any:
        return sum(m.n[j, p, s] for s in here.get((j, p), []))

    def cost(m: Any) -> Any:
        total = sum(m.u[s] for s, server in servers if not server.in_use)
        for j, job in jobs:
            for p, part in enumerate(PARTS):
                gpus, wanted = job.gpus_per_worker, job.preferred(part)
                total += data.unplaced_cost * gpus * (job.workers(part) - placed(m, j, p))
                elsewhere = [s for s in here.get((j, p), []) if data.servers[s].kind != wanted]
                total += data.misplaced_cost * gpus * sum(m.n[j, p, s] for s in elsewhere)
        return total

    def gpus_of(m: Any, s: int) -> Any:
        server = data.servers[s]
        held = [m.n[j, p, t] * data.jobs[j].gpus_on(server.kind) for j, p, t in fits if t == s]
        return sum(held) <= server.free_gpus * m.u[s] if held else Constraint.Skip

    def all_base_workers(m: Any, j: int) -> Any:
        workers = data.jobs[j].base_workers
        return placed(m, j, 0) == workers * m.y[j] if workers else Constraint.Skip

    def flexible_after_base(m: Any, j: int) -> Any:
        workers = data.jobs[j].flexible_workers
        return placed(m, j, 1) <= workers * m.y[j] if workers else Constraint.Skip

    def one_kind(m: Any, j: int) -> Any:
        return m.k[j, 0] + m.k[j, 1] <= 1 if not data.jobs[j].heterogeneous else Constraint.Skip

    def on_that_kind(m: Any, j: int, p: int, s: int) -> Any:
        if data.jobs[j].heterogeneous:
            return Constraint.Skip
        kind = 0 if data.servers[s].kind == "training" else 1
        return m.n[j, p, s] <= data.jobs[j].workers(PARTS[p]) * m.k[j, kind]

    def group(m: Any, j: int, p: int, s: int) -> Any:
        server = data.servers[s]
        if server.kind == "training" or not data.grouped:
            return Constraint.Skip
        flexible = m.f[s] if server.hosts is None else int(server.hosts == "flexible")
        return m.n[j, p, s] <= data.jobs[j].workers(PARTS[p]) * (flexible if p else 1 - flexible)

    model.cost = Objective(rule=cost, sense=minimize)
    model.gpus = Constraint(model.S, rule=gpus_of)
    model.all_base_workers = Constraint(model.J, rule=all_base_workers)
    model.flexible_after_base = Constraint(model.J, rule=flexible_after_base)
    model.one_kind = Constraint(model.J, rule=one_kind)
    model.on_that_kind = Constraint(model.fits, rule=on_that_kind)
    model.group = Constraint(model.fits, rule=group)
    return model


def literal_placement(data: ArylPlacement, options: Options, report: Report = ignore) -> Answer:
    """Solve the model with HiGHS."""
    return solve_literal(data, build_placement, _read, options, report, lambda bound: float(max(0, whole_bound(bound))))


def _read(data: ArylPlacement, values: Values) -> Solution:
    placed: dict[str, dict[str, dict[str, int]]] = {"base": {}, "flexible": {}}
    for j, job in enumerate(data.jobs):
        for p, part in enumerate(PARTS):
            for s, server in enumerate(data.servers):
                workers = round(values.get(("n", (j, p, s)), 0.0))
                if workers:
                    placed[part].setdefault(job.id, {})[server.id] = workers
    return placed
