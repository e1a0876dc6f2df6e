"""The compact model of a round of Eva's scheduler: a variable for each pattern, or content, of an instance.

Existing instances e of type k_e with b_ec tasks of entry c, contents a and p of instances, entries c of n_c tasks:

maximise  sum_e sum_a [D (TNRP(a) - C_ke) - sum_c m_c (b_ec - a_c)^+] y_ea + sum_p [D (TNRP(p) - C_p) - s_p] x_p
          - sum_j m_j z_j
subject to  (1) sum_a y_ea = 1                                  for each existing instance e
            (2) sum_e sum_a a_c y_ea + sum_p a_cp x_p = n_c     for each task entry c
            (3) z_j + sum of y_ea with a_c >= b_ec >= 1         for each job j, instance e and entry c of j there

y and z are binary, x is integer. The empty content a = 0 terminates an instance at no cost. m_c is the cost to move a
task of an entry without a job. A named job j costs m_j once if it moves. s_p is the cost to start an instance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from instances import Answer, InputError, Options, Report, Result, Solution, Stopwatch
from instances.eva import EvaReconfiguration
from instances.eva.arrays import Content, contents
from instances.eva.checker import Book
from instances.method import method
from models.core.derivation import SMALL_TASKS, settle_small
from models.core.safe_bounds import real_bound

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

    from models.core.pyomo_model import Values

MOST_CONTENTS = 2_000  # most contents of one instance type


def build_literal_reconfiguration(data: EvaReconfiguration) -> ConcreteModel:
    """Build the model of a round, in USD. Raises InputError if an instance has too many contents to list."""
    from pyomo.environ import Binary, ConcreteModel, Constraint, NonNegativeIntegers, Objective, Var, maximize

    held = _contents(data)
    place = {kind.name: k for k, kind in enumerate(data.instance_types)}
    entry = {task.key: c for c, task in enumerate(data.tasks)}
    before = [{entry[key]: k for key, k in e.tasks.items()} for e in data.existing]
    kind_of = [place[e.type] for e in data.existing]
    net = _nets(data, held)
    model = ConcreteModel(name="eva-reconfiguration")
    model.y = Var([(e, a) for e, k in enumerate(kind_of) for a in range(len(held[k]) + 1)], domain=Binary)
    model.x = Var([(k, p) for k in range(len(held)) for p in range(len(held[k]))], domain=NonNegativeIntegers)
    jobs = _jobs(data)
    job: dict[str | None, int] = {name: j for j, name in enumerate(jobs)}
    model.z = Var(range(len(jobs)), domain=Binary)

    def moves(e: int, a: Content) -> float:
        lost = ((c, max(0, b - a.get(c, 0))) for c, b in before[e].items() if data.tasks[c].job is None)
        return sum(k * data.tasks[c].migration_usd for c, k in lost)

    def content(e: int, a: int) -> Content:
        """Return content a of instance e; the last one is empty."""
        of_type = held[kind_of[e]]
        return of_type[a] if a < len(of_type) else {}

    def compute_kept_net(e: int, a: int) -> float:
        there = content(e, a)
        return (net[kind_of[e]][a] if there else 0.0) - moves(e, there)

    model.worth = Objective(
        expr=sum(compute_kept_net(e, a) * model.y[e, a] for e, a in model.y)
        + sum((net[k][p] - data.instance_types[k].start_usd) * model.x[k, p] for k, p in model.x)
        - sum(usd * model.z[j] for j, usd in enumerate(jobs.values())),
        sense=maximize,
    )
    model.one_content = Constraint(
        range(len(kind_of)), rule=lambda m, e: sum(m.y[e, a] for a in range(len(held[kind_of[e]]) + 1)) == 1
    )
    model.each_task_once = Constraint(
        range(len(data.tasks)),
        rule=lambda m, c: (
            sum(content(e, a).get(c, 0) * m.y[e, a] for e, a in m.y)
            + sum(held[k][p].get(c, 0) * m.x[k, p] for k, p in m.x)
            == data.tasks[c].count
        ),
    )
    model.job_moves = Constraint(
        [(e, c) for e, there in enumerate(before) for c in there if data.tasks[c].job],
        rule=lambda m, e, c: (
            m.z[job[data.tasks[c].job]]
            + sum(m.y[e, a] for a in range(len(held[kind_of[e]])) if content(e, a).get(c, 0) >= before[e][c])
            >= 1
        ),
    )
    return model


def _jobs(data: EvaReconfiguration) -> dict[str, float]:
    """Return the named jobs with running tasks, and the cost to move each job, in USD."""
    tasks = {task.key: task for task in data.tasks}
    there = [tasks[key] for instance in data.existing for key in instance.tasks]
    return {task.job: task.migration_usd for task in there if task.job}


def _contents(data: EvaReconfiguration) -> list[list[Content]]:
    """Return all contents of each type. Raises InputError if they are too many."""
    found = []
    for kind in data.instance_types:
        held = contents(data, kind, MOST_CONTENTS)
        if held is None:
            raise InputError(f"data: a {kind.name} can hold more than {MOST_CONTENTS:,} different things")
        found.append(held)
    return found


def _nets(data: EvaReconfiguration, held: list[list[Content]]) -> list[list[float]]:
    """Return D (TNRP - C_k) for each content of each type, in USD."""
    book = Book(data)
    horizon = Fraction(repr(data.horizon_hours))
    worth: dict[tuple[tuple[int, int], ...], Fraction] = {}

    def tnrp(on: Content) -> Fraction:
        name = tuple(on.items())
        if name not in worth:
            keys: Mapping[str, int] = {data.tasks[c].key: k for c, k in on.items()}
            worth[name] = sum((k * book.normalise_price(key, keys) for key, k in keys.items()), Fraction(0))
        return worth[name]

    prices = [Fraction(repr(kind.usd_per_hour)) for kind in data.instance_types]
    return [[float(horizon * (tnrp(on) - price)) for on in of] for of, price in zip(held, prices, strict=True)]


def read_literal_reconfiguration(data: EvaReconfiguration, model: ConcreteModel) -> Result:
    """Return the result of an external solver for `build_literal_reconfiguration(data)`; see `read_literal`."""
    from models.core.pyomo_model import read_model  # slow to import, for Pyomo

    return read_model(data, model, _read)


def literal_names_reconfiguration(data: EvaReconfiguration) -> Mapping[str, Callable[..., Mapping[str, Any]]]:
    """Return the meaning of the indices of each variable of `build_literal_reconfiguration(data)`."""
    held = _contents(data)
    place = {kind.name: k for k, kind in enumerate(data.instance_types)}
    kind_of = [place[instance.type] for instance in data.existing]
    jobs = list(_jobs(data))

    def content(k: int, p: int) -> dict[str, Any]:
        there = held[k][p] if p < len(held[k]) else {}
        tasks = "; ".join(f"{data.tasks[c].key} x {n}" for c, n in there.items())
        return {"type": data.instance_types[k].name, "content": tasks}

    return {
        "y": lambda e, a: {"instance": data.existing[e].id} | content(kind_of[e], a),
        "x": content,
        "z": lambda j: {"job": jobs[j]},
    }


def _read(data: EvaReconfiguration, values: Values) -> Solution:
    held = _contents(data)
    place = {kind.name: k for k, kind in enumerate(data.instance_types)}
    existing: dict[str, dict[str, int]] = {}
    instances = []
    for (name, index), value in values.items():
        if value < 0.5:
            continue
        if name == "y":
            instance, of_type = data.existing[index[0]], held[place[data.existing[index[0]].type]]
            if index[1] < len(of_type):
                existing[instance.id] = {data.tasks[c].key: k for c, k in of_type[index[1]].items()}
        elif name == "x":
            k, p = index
            tasks = {data.tasks[c].key: n for c, n in held[k][p].items()}
            instances.append({"type": data.instance_types[k].name, "count": round(value), "tasks": tasks})
    return {"existing": existing, "instances": instances}


@method("exact", name="literal")
def literal_reconfiguration(data: EvaReconfiguration, options: Options, report: Report) -> Answer:
    """Solve the model with HiGHS. Raises InputError where `build_literal_reconfiguration` does."""
    from models.core.pyomo_model import solve_literal  # slow to import, for Pyomo

    def proven(bound: float) -> float:
        return real_bound(bound, "maximize")

    with Stopwatch(options.time_limit) as clock:
        answer = solve_literal(data, build_literal_reconfiguration, _read, options, report, proven)
        if sum(task.count for task in data.tasks) > SMALL_TASKS or clock.has_expired:
            return answer
        from models.eva.round_certificate import certificate  # slow to import, for numba

        limit = None if options.time_limit is None else clock.remaining_s
        answer = settle_small(data, answer, replace(options, time_limit=limit), report, certificate)
    return replace(answer, solve_s=clock.cpu_s - (answer.build_s or 0.0))
