"""Figure 19 with locality, constraint by constraint: a job starts once, at one slot and on one server.

X and Y get the server as a third index, and (12) becomes a row a server. Cut-offs are those of cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from instances import Answer, Options, Report
from instances.method import method
from instances.sia import SiaLocalOracle
from instances.sia.local_oracle import SERVER_GPUS
from models.bounds import whole_bound

if TYPE_CHECKING:  # Pyomo takes its time to import, and so is imported where a model is built.
    from pyomo.environ import ConcreteModel

    from models.literal import Values


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


def _read(data: SiaLocalOracle, values: Values) -> dict[str, Any]:
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
        data, build_local_literal, _read, options, report, lambda bound: float(max(0, whole_bound(bound)))
    )
