"""The mixed-integer problem of Lemma 4.8 as it reads, in Pyomo: binaries for widths and for changes of width.

Sets: classes i, epochs j of class i, choices s = (GPU type, width k). Variables: `width[i, j, s]`, 1 where epoch j of
class i runs at s; `change[i, j, s]`, 1 where it starts a run at s (the indicator 1_ij of the lemma, by the width it
changes to, which makes the products k_ij 1_ij linear).
"""

from __future__ import annotations

from typing import Any

from pyomo.environ import Binary, ConcreteModel, Constraint, NonNegativeReals, Objective, Set, Var, minimize, quicksum

from instances import InputError, Solution
from instances.boa import BoaAllocation, WidthArrays, width_arrays
from models.literal import Values


def build_literal(data: BoaAllocation) -> ConcreteModel:
    """The problem of minimising equation (2) while equation (3), without its factor 1/λ, keeps within the budget.

    Raises InputError where the instance asks for the convex problem, which is no linear model.
    """
    if data.convex:
        raise InputError("the convex problem is stated in cvxpy; only the one with rescaling times is a linear model")
    a = width_arrays(data)
    model = ConcreteModel(name="boa-allocation")
    classes = range(len(data.classes))
    model.EPOCHS = Set(dimen=2, initialize=[(i, j) for i in classes for j in range(int(a.epochs[i]))])
    model.CHOICES = Set(initialize=range(len(a.width)))
    runs = [(i, j, s) for i, j in model.EPOCHS for s in model.CHOICES if a.hours[j, i, s] < float("inf")]
    model.RUNS = Set(dimen=3, initialize=runs)
    model.width = Var(model.RUNS, domain=Binary)
    model.change = Var(model.RUNS, domain=NonNegativeReals, bounds=(0, 1))
    model.mean_jct = Objective(expr=_mean_jct(model, a), sense=minimize)
    model.budget = Constraint(expr=_cost(model, a) <= data.budget)
    model.one_width = Constraint(model.EPOCHS, rule=_one_width)
    model.changed = Constraint(model.RUNS, rule=_changed)
    return model


def _mean_jct(model: Any, a: WidthArrays) -> Any:
    """Equation (2): (1/λ) Σ_i λ_i Σ_j (E[X_ij] / s_ij(k_ij) + r_i 1_ij), weighted."""
    return quicksum(
        a.share[i] * (a.hours[j, i, s] * model.width[i, j, s] + a.rescale[i] * model.change[i, j, s])
        for i, j, s in model.RUNS
    )


def _cost(model: Any, a: WidthArrays) -> Any:
    """Equation (3) without 1/λ: Σ_i λ_i Σ_j k_ij (E[X_ij] / s_ij(k_ij) + r_i 1_ij), times the price of the type."""
    return quicksum(
        a.arrivals[i] * a.rate[s] * (a.hours[j, i, s] * model.width[i, j, s] + a.rescale[i] * model.change[i, j, s])
        for i, j, s in model.RUNS
    )


def _one_width(model: Any, i: int, j: int) -> Any:
    """Every epoch runs at one width (Definition 4.4)."""
    return quicksum(model.width[i, j, s] for s in model.CHOICES if (i, j, s) in model.RUNS) == 1


def _changed(model: Any, i: int, j: int, s: int) -> Any:
    """1_ij = 1 where the width differs from that of the epoch before, and in the first epoch."""
    before = model.width[i, j - 1, s] if (i, j - 1, s) in model.RUNS else 0
    return model.change[i, j, s] >= model.width[i, j, s] - before


def read_literal(data: BoaAllocation, values: Values) -> Solution:
    """The solution in JSON form from the values of the variables."""
    a = width_arrays(data)
    chosen: dict[str, list[Any]] = {c.name: [None] * len(c.epochs) for c in data.classes}
    for (name, index), value in values.items():
        if name == "width" and value > 0.5:
            i, j, s = index
            run = {"type": data.gpu_types[int(a.type[s])].name, "width": int(a.width[s]), "fraction": 1.0}
            chosen[data.classes[i].name][j] = [run] if data.heterogeneous else run["width"]
    return {"assignment" if data.heterogeneous else "widths": chosen}
