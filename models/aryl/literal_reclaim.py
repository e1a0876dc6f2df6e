"""The literal model of `aryl-reclaim` (section 4): which N_R servers go back so that the fewest jobs are preempted.

Or so that the least work is lost, and with jobs that are preempted only where too few of their workers remain.
"""

from __future__ import annotations

from typing import Any

from pyomo.environ import Binary, ConcreteModel, Constraint, Objective, RangeSet, Set, Var, minimize

from instances import Answer, Options, Report
from instances.aryl import ArylReclaim
from instances.options import ignore
from models.bounds import real_bound, whole_bound
from models.literal import Values, solve_literal


def build_reclaim(data: ArylReclaim) -> ConcreteModel:
    """x_s: server s goes back. z_j: job j is preempted.

    It is when a server with its base workers goes back, or, of a job with a least number of workers, when more of them
    go than may.
    """
    model = ConcreteModel(name="aryl-reclaim")
    place = {server: s for s, server in enumerate(data.servers)}
    strict = [j for j, job in enumerate(data.jobs) if job.min_workers is None]
    hosted = [(j, place[server]) for j in strict for server in data.jobs[j].servers]
    model.S, model.J = RangeSet(0, len(data.servers) - 1), Set(initialize=range(len(data.jobs)))
    model.hosted = Set(dimen=2, initialize=hosted)
    model.T = Set(initialize=[j for j, job in enumerate(data.jobs) if job.min_workers])
    model.x, model.z = Var(model.S, domain=Binary), Var(model.J, domain=Binary)

    def preempted(m: Any, j: int, s: int) -> Any:
        return m.z[j] >= m.x[s]

    def too_few_remain(m: Any, j: int) -> Any:
        workers, spare = data.jobs[j].needs()
        gone = sum(n * m.x[place[server]] for server, n in workers.items())
        return gone <= spare + (sum(workers.values()) - spare) * m.z[j]

    lost = zip(data.losses(), model.J, strict=True)
    model.preemptions = Objective(expr=sum(float(loss) * model.z[j] for loss, j in lost), sense=minimize)
    model.reclaim = Constraint(expr=sum(model.x[s] for s in model.S) == data.reclaim)
    model.preempted = Constraint(model.hosted, rule=preempted)
    model.too_few_remain = Constraint(model.T, rule=too_few_remain)
    return model


def literal_reclaim(data: ArylReclaim, options: Options, report: Report = ignore) -> Answer:
    """Solve the literal model with HiGHS."""
    whole = data.objective == "preempted-jobs"

    def proven(bound: float) -> float:
        return max(0.0, float(whole_bound(bound)) if whole else real_bound(bound))

    return solve_literal(data, build_reclaim, _read, options, report, proven)


def _read(data: ArylReclaim, values: Values) -> dict[str, Any]:
    return {"servers": [server for s, server in enumerate(data.servers) if values["x", s] > 0.5]}
