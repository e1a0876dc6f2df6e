"""Packing where types have limits: what other methods leave to be done otherwise.

A pattern of a limited type has no stand-in on another limited one, and a task alone may find no instance, so patterns
that do not pay by themselves may be needed: all of them are listed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.errors import InputError
from instances.eva.arrays import Group, PackingArrays
from instances.options import ignore
from models.bounds import real_bound
from models.eva.branch_and_price import list_patterns
from models.eva.parameters import ExactParameters
from models.eva.patterns import Patterns, feasible_patterns
from models.eva.saving.exact_net import NOISE, exact_signs
from models.fine_units import FineUnits
from models.highs import LinearModel, solve_arrays

LEAST_S = 1e-3  # Seconds that a step has in any case.
OUT_OF_INSTANCES = "the limits of instances leave tasks without a place"


def every_maximal_pattern(arrays: PackingArrays, parameters: ExactParameters) -> Patterns | None:
    """The maximal patterns of every type, `None` where they are too many for an integer program."""
    pricer = list_patterns(arrays, parameters.branch_and_price)
    if pricer is None or len(pricer) > parameters.covering_patterns:
        return None
    return Patterns(pricer.kind, pricer.on_it.astype(np.int64))


def saving_patterns(arrays: PackingArrays, limit: int) -> Patterns | None:
    """All feasible patterns of every type of the data but the empty one, `None` where they are more than `limit`.

    Of the offers of a type its first one stands for all.
    """
    kinds: list[IntArray] = []
    rows: list[IntArray] = []
    for k, place in enumerate(arrays.type_of):
        if k and arrays.type_of[k - 1] == place:
            continue
        most = np.where(arrays.fits[k], arrays.count, 0)
        found = feasible_patterns(arrays.capacity[k], arrays.demand_of_type[k], most, limit)
        if found is None:
            return None
        found = found[found.any(axis=1)]
        limit -= len(found)
        kinds.append(np.full(len(found), k, dtype=np.int64))
        rows.append(found)
    return Patterns(np.concatenate(kinds), np.vstack(rows)) if limit >= 0 else None


def solve_limited_saving(
    arrays: PackingArrays, options: Options, report: Report, start: Solution | None, parameters: ExactParameters
) -> Answer:
    """Solve for the net saving: a set partitioning over all patterns, with the number of instances of each offer.

    maximise sum_p TNRP(p) x_p - sum_k C_k z_k subject to sum_p a_cp x_p = n_c for each class c, the x of the patterns
    of a type being as many as the z of its offers k, and z_k <= m_k; x and z whole. Raises InputError for too many
    patterns.
    """
    with Stopwatch(options.time_limit) as building:
        patterns = saving_patterns(arrays, parameters.saving_patterns)
        if patterns is None:
            many = f"more than {parameters.saving_patterns:,}"
            raise InputError(f"data: net-saving with limits of instances needs all patterns, {many}")
        fine = FineUnits.of(_saving_model(arrays, patterns))
        none_pays = _none_pays(arrays, patterns)
        first = None if start is None else _as_variables(arrays, patterns, arrays.groups(start))
    noise = NOISE * arrays.price_alone

    def usd(units: float | None) -> float | None:
        return None if units is None else units * float(arrays.price_unit)

    def proven(bound: float | None) -> float | None:
        # The worth of tasks and the prices are terms of their own, of which what is saved may be a small difference.
        largest = float(arrays.price_alone)
        units = None if bound is None else real_bound(bound + noise, "maximize", largest=largest)
        return usd(min(units, 0.0) if none_pays and units is not None else units)

    def read(x: FloatArray) -> Solution | None:
        return arrays.solution(patterns.groups(x[: len(patterns.kind)]))

    def watch(x: FloatArray | None, bound: float | None) -> None:
        report(None if x is None else read(x), None if bound is None else proven(fine.proven(bound)))

    left = None if options.time_limit is None else max(building.remaining_s, LEAST_S)
    solved = fine.told(
        solve_arrays(
            fine.model,
            replace(options, time_limit=left),
            start=first,
            watch=None if report is ignore else watch,
        )
    )
    return Answer(
        solution=None if solved.x is None else read(solved.x),
        bound=proven(solved.bound),
        termination=solved.termination,
        reason=OUT_OF_INSTANCES if solved.termination == "infeasible" else solved.reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=[(t, usd(v), proven(b)) for t, v, b in solved.trace],
        info={**solved.info, "method": "set partitioning", "patterns": len(patterns.kind), "all_patterns": True},
    )


def _none_pays(arrays: PackingArrays, patterns: Patterns) -> bool:
    """Whether it is beyond doubt that no pattern saves anything, not on the cheapest offer of its type either."""
    net = arrays.value(patterns.on_it) - arrays.price[patterns.kind]
    largest = NOISE * float((patterns.on_it @ (arrays.reservation_price + arrays.job_price)).max(initial=0))
    if (net > largest).any():
        return False
    return not (exact_signs(arrays, patterns.kind, patterns.on_it, net) > 0).any()


def _saving_model(arrays: PackingArrays, patterns: Patterns) -> LinearModel:
    offered = len(arrays.price)
    types = sorted(set(arrays.type_of))
    of_pattern = np.array(arrays.type_of)[patterns.kind]
    same = np.array([[float(place == t) for place in arrays.type_of] for t in types])
    used = np.vstack([(of_pattern == t).astype(float) for t in types])
    tasks = arrays.count.sum()
    return LinearModel(
        cost=np.append(arrays.value(patterns.on_it), -arrays.price),
        matrix=np.block([[patterns.on_it.T, np.zeros((arrays.classes, offered))], [used, -same]]),
        row_lower=np.append(arrays.count, np.zeros(len(types))),
        row_upper=np.append(arrays.count, np.zeros(len(types))),
        upper=np.append(
            np.full(len(patterns.kind), np.inf), [float(tasks if m is None else min(m, tasks)) for m in arrays.most]
        ),
        integer=True,
        sense="maximize",
    )


def _as_variables(arrays: PackingArrays, patterns: Patterns, start: Sequence[Group]) -> FloatArray:
    """A plan as values of the variables."""
    type_of = np.array(arrays.type_of)
    rows = zip(type_of[patterns.kind].tolist(), patterns.on_it, strict=True)
    place = {(kind, row.tobytes()): p for p, (kind, row) in enumerate(rows)}
    x = np.zeros(len(patterns.kind) + len(arrays.price))
    for kind, pattern, copies in start:
        on_it = np.zeros(arrays.classes, dtype=np.int64)
        on_it[list(pattern)] = list(pattern.values())
        x[place[int(type_of[kind]), on_it.tobytes()]] += copies
        x[len(patterns.kind) + kind] += copies
    return x
