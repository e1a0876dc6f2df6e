"""`net-saving`: the exact counterpart of Eva's heuristic under interference, as a set partitioning over patterns.

maximise sum_p (TNRP(p) - C_p) x_p subject to sum_p a_cp x_p = n_c for each class c, x integer, p over all feasible
patterns, each on the cheapest type that holds it (sections 4.3 to 4.5: the saving S of a configuration). A pattern
without a positive net is omitted, because each of its tasks alone has a net of 0.

If there are more than a few feasible patterns, columns are generated (`models.eva.saving`). If this ends without a
proof, the patterns are listed, up to a limit. An instance may hold too many tasks for both methods. Then patterns of
few tasks give solutions. The reservation prices less the minimum cost of a packing give a bound, because throughputs
are at most 1.

The set partitioning is solved by sifting (Bixby et al., 1992). The linear program starts with few columns, and columns
of positive reduced net are added as long as there are any. Let z be its value and u that of an incumbent. A better
solution uses only columns of a reduced net of at least u - z, so the integer program over these proves the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from instances import Answer, Options, Report, Solution, Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.errors import InputError
from instances.eva.arrays import Group, PackingArrays
from instances.eva.reconfiguration_arrays import NEW, Placed
from instances.options import ignore
from models.core.fine_units import FineUnits, coarse_unit
from models.core.highs import LinearModel, OutOfTime, Solved, SolveFailed, Watch, solve_arrays
from models.core.linear_program import LinearProgram
from models.core.safe_bounds import real_bound
from models.eva.covering import CELLS, Patterns, convert_to_usd, feasible_patterns
from models.eva.parameters import DEFAULTS, EvaExactParameters
from models.eva.saving_nets import COUNTED_TASKS, NOISE, exact_signs, pack_greedily

ROUNDING = 1e-9  # columns enter the linear program if their reduced net exceeds this share of the largest net


@dataclass(frozen=True)
class NetPartition:
    """The set partitioning problem over P columns and N classes.

    - `net` (P,): net of each column.
    - `columns` (P, N): tasks of each class in each column.
    - `count` (N,): number of tasks of each class.
    - `alone` (N,): the column of a single task of each class.
    - `noise`: bound on the rounding error in the value of a solution.
    """

    net: FloatArray
    columns: IntArray
    count: IntArray
    alone: IntArray
    noise: float = 0.0

    def value(self, x: FloatArray) -> float:
        """Return the value of a solution `x` (P,)."""
        return float(self.net @ x)

    def over(self, chosen: IntArray, *, integer: bool) -> LinearModel:
        """Return the model over the columns `chosen`."""
        return LinearModel(
            cost=self.net[chosen],
            matrix=self.columns[chosen].T,
            row_lower=self.count,
            row_upper=self.count,
            integer=integer,
            sense="maximize",
        )


def solve_partition(
    partition: NetPartition,
    start: FloatArray,
    options: Options,
    watch: Watch | None = None,
    parameters: EvaExactParameters = DEFAULTS,
) -> Solved:
    """Solve the set partitioning to proven optimality, or as far as the limits allow.

    The solution (P,) and the bound are over all columns.

    - `partition`: the problem.
    - `start`: a solution (P,) to begin from.
    - `options`: limits, gap and threads.
    - `watch`: called with each new incumbent (P,) and each better bound.
    - `parameters`: the constants of the method.
    """
    with Stopwatch(options.time_limit) as clock:
        solved = _solve(partition, start, options, clock, watch, parameters)
    return replace(solved, solve_s=clock.cpu_s)


def _solve(
    partition: NetPartition,
    start: FloatArray,
    options: Options,
    clock: Stopwatch,
    watch: Watch | None,
    parameters: EvaExactParameters,
) -> Solved:
    incumbent = Solved("time_limit", start, partition.value(start), reason="time limit")
    relaxed = _sift(partition, options, clock, parameters.entering_columns)
    if relaxed is None:
        return incumbent
    ceiling, reduced, used = relaxed
    ceiling += partition.noise
    if watch is not None:
        watch(None, ceiling)
    if ceiling - _value(incumbent) <= options.gap * abs(_value(incumbent)):
        return replace(incumbent, termination="finished", reason=None, bound=ceiling)
    nearest = np.argsort(-reduced, kind="stable")[: parameters.first_columns]
    chosen = np.union1d(np.union1d(nearest, used), np.flatnonzero(start))
    solved = _integer(partition, chosen, options, clock, watch, incumbent)
    spread = ceiling - _value(solved) + ROUNDING * max(1.0, abs(ceiling))
    kept = np.union1d(np.flatnonzero(reduced >= -spread), np.union1d(partition.alone, np.flatnonzero(_values(solved))))
    if solved.termination == "finished" and not set(kept) <= set(chosen):
        solved = _integer(partition, kept, options, clock, watch, solved)
        chosen = kept
    bound = ceiling
    if solved.termination == "finished" and solved.bound is not None:
        bound = real_bound(max(solved.bound, _value(solved)) + partition.noise, "maximize", trivial=ceiling)
    return replace(solved, bound=bound, info={**solved.info, "columns": len(chosen), "lp_bound": ceiling})


def _sift(
    partition: NetPartition, options: Options, clock: Stopwatch, most_entering: int
) -> tuple[float, FloatArray, IntArray] | None:
    """Solve the linear program by sifting (Bixby et al., 1992); return a bound, reduced nets (P,) and its columns.

    The bound is the value of the linear program. If effort is limited or HiGHS fails, it is that of the last duals.
    Return `None` if time runs out.
    """
    chosen = partition.alone
    unit = coarse_unit(replace(partition.over(chosen, integer=False), cost=partition.net))
    coarse = replace(partition, net=partition.net / unit)
    model = coarse.over(chosen, integer=False)
    program = LinearProgram(model, Options(threads=options.threads), {"presolve": "choose"})
    duals, failed = np.zeros(len(partition.count)), False
    scale = ROUNDING * max(1.0, float(np.abs(partition.net).max()))
    rounds = 0
    while not clock.has_expired:
        rounds += 1
        try:
            duals = program.solve(clock.remaining_s).duals * unit
        except OutOfTime:
            return None
        except SolveFailed:  # the previous duals still prove a bound
            failed = True
        reduced: FloatArray = partition.net - partition.columns @ duals
        # Without the difference, a present column within the solver's tolerance would enter again and again.
        entering = np.setdiff1d(np.flatnonzero(reduced > scale), chosen)
        if not len(entering) or failed or rounds == options.effort:
            # This bound holds for any duals: no column is used more often than the tasks of its classes allow.
            often = np.min(
                np.where(
                    partition.columns > 0, partition.count // np.maximum(partition.columns, 1), np.iinfo(np.int64).max
                ),
                axis=1,
            )
            return float(partition.count @ duals + np.maximum(reduced, 0.0) @ often), reduced, chosen
        entering = entering[np.argsort(-reduced[entering], kind="stable")[:most_entering]]
        chosen = np.concatenate([chosen, entering])
        entries = sparse.csc_array(partition.columns[entering].T)
        program.add(coarse.net[entering], entries.indptr[:-1], entries.indices, entries.data)
    return None


def _integer(
    partition: NetPartition, chosen: IntArray, options: Options, clock: Stopwatch, watch: Watch | None, start: Solved
) -> Solved:
    """Solve the integer program over `chosen`; the incumbent `start` stays if nothing better is found."""

    def expand(x: FloatArray) -> FloatArray:
        full = np.zeros(len(partition.net))
        full[chosen] = np.round(x)
        return full

    def report_solution(x: FloatArray | None, bound: float | None) -> None:
        if watch is not None and x is not None:
            watch(expand(x), None)

    left = None if options.time_limit is None else max(0.05, clock.remaining_s)
    assert start.x is not None
    fine = FineUnits.of(partition.over(chosen, integer=True))
    solved = solve_arrays(
        fine.model,
        replace(options, time_limit=left),
        start=start.x[chosen],
        watch=None if watch is None else report_solution,
    )
    solved = fine.convert_result(solved)
    if solved.x is None or _value(solved) < _value(start):
        return replace(solved, x=start.x, objective=start.objective)
    return replace(solved, x=expand(solved.x))


def _values(solved: Solved) -> FloatArray:
    assert solved.x is not None
    return solved.x


def _value(solved: Solved) -> float:
    return -math.inf if solved.objective is None else solved.objective


LEAST_S = 1e-3  # smallest time limit of a step in seconds
LISTING = 0.4  # share of the time limit in which patterns may be listed


def solve_net_saving(
    arrays: PackingArrays,
    least_cost: Callable[[float | None], float | None],
    options: Options,
    report: Report = ignore,
    start: Sequence[Group] | None = None,
    parameters: EvaExactParameters = DEFAULTS,
) -> Answer:
    """Solve the set partitioning over patterns; the start, or Algorithm 1's, is returned unless a better one is found.

    - `arrays`: the instance.
    - `least_cost`: returns a lower bound on the cost of a packing in USD/h, within a time limit in seconds (`None` for
      no limit). It is called only if the patterns are too many to list.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each new incumbent and each better bound.
    - `start`: instances to begin from, else those of Algorithm 1.
    - `parameters`: the constants of the method.
    """
    listing = Stopwatch(None if options.time_limit is None else LISTING * options.time_limit)
    with Stopwatch(options.time_limit) as building:
        listed = _list_patterns(
            arrays, min(parameters.first_saving_patterns, parameters.saving_patterns), None, listing
        )
        if listed is None and parameters.saving.suits(arrays):
            answer = _generate_columns(arrays, least_cost, options, report, start, building, parameters)
            if answer.reason is None or answer.termination == "time_limit" or building.has_expired:
                return answer
            listed = _list_patterns(arrays, parameters.saving_patterns, None, listing)
            if listed is None:
                return answer
            start = None if answer.solution is None else arrays.groups(answer.solution)
        elif listed is None:
            listed = _list_patterns(arrays, parameters.saving_patterns, None, listing)
        if start is None:
            start = pack_greedily(arrays)
            report(arrays.solution(start), None)
        patterns, net = listed or few_patterns(arrays, parameters.saving_patterns, listing)
        complete = listed is not None
        alone = np.flatnonzero(patterns.on_it.sum(axis=1) == 1)
        alone = alone[np.argsort(patterns.on_it[alone].argmax(axis=1))]
        patterns, net, x, known = _add_start(arrays, patterns, net, alone, start)
        noise = NOISE * arrays.price_alone if len(net) > len(alone) else 0.0  # the net of a task alone is exactly 0
        partition = NetPartition(net, patterns.on_it, arrays.count, alone, noise)
    unit = float(arrays.price_unit)
    seconds = None if options.time_limit is None else max(building.remaining_s / 2, LEAST_S)
    ceiling = None if complete else _ceiling(arrays, least_cost(seconds))

    def scale_bound(bound: float | None) -> float | None:
        return (None if bound is None else bound * unit) if complete else ceiling

    def watch(x: FloatArray | None, bound: float | None) -> None:
        if x is not None and partition.value(x) <= known + partition.noise:
            x = None
        report(None if x is None else arrays.solution(patterns.groups(x)), scale_bound(bound))

    left = options if options.time_limit is None else replace(options, time_limit=max(building.remaining_s, LEAST_S))
    solved = solve_partition(partition, x, left, None if report is ignore else watch, parameters)
    better = solved.x is not None and partition.value(solved.x) > known + partition.noise
    return Answer(
        solution=arrays.solution(patterns.groups(solved.x) if better and solved.x is not None else start),
        bound=scale_bound(solved.bound),
        termination=solved.termination,
        reason=solved.reason,
        build_s=building.cpu_s,
        solve_s=solved.solve_s,
        trace=convert_to_usd(arrays, solved.trace),
        info={**solved.info, "method": "set partitioning", "patterns": len(net), "all_patterns": complete},
    )


def _add_start(
    arrays: PackingArrays, patterns: Patterns, net: FloatArray, alone: IntArray, start: Sequence[Group]
) -> tuple[Patterns, FloatArray, FloatArray, float]:
    """Return the patterns and nets with unlisted ones of the start, the start as a solution (P,), and its value.

    The value of the solution may exceed that of the start. Tasks of an instance without a positive net are each alone,
    and tasks on a type that is too expensive are on the cheapest one.
    """
    listed = {row.tobytes(): p for p, row in enumerate(patterns.on_it)}
    used: dict[int, int] = {}
    kinds: list[int] = []
    rows: list[IntArray] = []
    nets: list[float] = []
    worth = 0.0
    for kind, pattern, copies in start:
        on_it = np.zeros(arrays.classes, dtype=np.int64)
        on_it[list(pattern)] = list(pattern.values())
        saved = float(arrays.value(on_it)) - int(arrays.price[kind])
        worth += saved * copies
        p = listed.get(on_it.tobytes())
        if p is None and saved > 0:
            p = listed[on_it.tobytes()] = len(net) + len(rows)
            kinds, rows, nets = [*kinds, kind], [*rows, on_it], [*nets, saved]
        if p is not None:
            used[p] = used.get(p, 0) + copies
        else:
            for c, k in pattern.items():
                used[int(alone[c])] = used.get(int(alone[c]), 0) + k * copies
    if rows:
        patterns = Patterns(np.append(patterns.kind, kinds), np.vstack([patterns.on_it, *rows]))
        net = np.append(net, nets)
    x = np.zeros(len(net))
    x[list(used)] = list(used.values())
    return patterns, net, x, worth


def _generate_columns(
    arrays: PackingArrays,
    least_cost: Callable[[float | None], float | None],
    options: Options,
    report: Report,
    start: Sequence[Group] | None,
    building: Stopwatch,
    parameters: EvaExactParameters,
) -> Answer:
    """Solve by column generation, for `solve_net_saving`; `building` measures the time since the start."""
    from models.eva.saving_columns import PackingMaster  # slow to load, for numba
    from models.eva.saving_search import SavingSearch

    unit = float(arrays.price_unit)

    def groups(placed: Sequence[Placed]) -> list[Group]:
        return [(kind, on_it, copies) for _, kind, on_it, copies in placed]

    def report_incumbent(placed: list[Placed] | None, bound: float | None) -> None:
        report(None if placed is None else arrays.solution(groups(placed)), None if bound is None else bound * unit)

    def ceiling(seconds: float | None) -> float | None:
        found = _ceiling(arrays, least_cost(seconds))
        return None if found is None else found / unit

    with Stopwatch(building.remaining_s if options.time_limit is not None else None) as clock:
        first = [(NEW, kind, on_it, copies) for kind, on_it, copies in start or pack_greedily(arrays)]
        search = SavingSearch(
            PackingMaster(arrays), first, options, clock, report_incumbent, parameters.saving, ceiling
        )
        search.run()
    return Answer(
        solution=arrays.solution(groups(search.incumbent_instances)),
        bound=search.bound * unit,
        termination=search.termination,
        reason=search.reason,
        build_s=building.cpu_s - clock.cpu_s,
        solve_s=clock.cpu_s,
        info={
            "method": "column generation",
            "rounds": search.rounds,
            "patterns": search.listed,
            "lp_bound": search.lp_bound * unit,
        },
    )


def few_patterns(arrays: PackingArrays, limit: int, clock: Stopwatch | None = None) -> tuple[Patterns, FloatArray]:
    """Return patterns of single tasks and of positive net, for a small number of tasks, and the nets (P,).

    The number of tasks rises as long as each type has at most `limit` / 4 feasible patterns, and time is left. Nets are
    in price units.
    """
    clock = clock or Stopwatch()
    fewer = _list_patterns(arrays, limit, 1, Stopwatch())
    assert fewer is not None, "a task alone is a pattern"
    for largest in range(2, COUNTED_TASKS):
        more = _list_patterns(arrays, limit // 4, largest, clock)
        if more is None:
            break
        fewer = more
    return fewer


def _list_patterns(
    arrays: PackingArrays, limit: int, largest: int | None, clock: Stopwatch
) -> tuple[Patterns, FloatArray] | None:
    """Return the useful patterns of at most `largest` tasks, with the number of tasks as a further resource.

    Return `None` if a type has more than `limit` feasible patterns, or time runs out.
    """
    from models.eva.pattern_kernels import has_more_patterns  # compiled at first use, which takes seconds

    kinds: list[IntArray] = []
    on_it: list[IntArray] = []
    by_price = np.argsort(arrays.price, kind="stable")
    if largest is None:  # the most expensive types hold most, so usually the first one exceeds the limit
        for k in by_price[::-1]:
            most = np.where(arrays.fits[k], arrays.count, 0)
            if has_more_patterns(limit, arrays.capacity[k], arrays.demand_of_type[k], most):
                return None
    for k in by_price:
        most = np.where(arrays.fits[k], arrays.count, 0)
        capacity, demand = arrays.capacity[k], arrays.demand_of_type[k]
        if largest is not None:
            capacity = np.append(capacity, largest)
            demand = np.hstack([demand, np.ones((arrays.classes, 1), dtype=np.int64)])
        found = feasible_patterns(capacity, demand, most, limit)
        if found is None or clock.has_expired:
            return None
        kinds.append(np.full(len(found), k))
        on_it.append(found)
    every, kind = np.concatenate(on_it), np.concatenate(kinds)
    if clock.has_expired:
        return None
    # Types are in order of price, so the first of equal patterns is on the cheapest type.
    _, cheapest = np.unique(every, axis=0, return_index=True)
    every, kind = every[cheapest], kind[cheapest]
    step = max(1, CELLS // arrays.classes**2)
    values = []
    for i in range(0, len(every), step):
        if clock.has_expired:
            return None
        values.append(arrays.value(every[i : i + step]))
    value = np.concatenate(values)
    net = value - arrays.price[kind]
    tasks, noise = every.sum(axis=1), NOISE * (every.astype(float) @ arrays.reservation_price)
    few = tasks <= COUNTED_TASKS
    net[few] = exact_signs(arrays, kind[few], every[few], net[few])
    keep = (net > np.where(few, 0.0, -noise)) & (tasks > 1) | (tasks == 1)
    return Patterns(kind[keep], every[keep]), net[keep]


def _ceiling(arrays: PackingArrays, least_cost: float | None) -> float | None:
    """Return the reservation prices of all tasks less the minimum cost, a bound because throughputs are at most 1."""
    return None if least_cost is None else arrays.usd(arrays.price_alone) - least_cost * (1 - NOISE)


OUT_OF_INSTANCES = "the limits of instances leave tasks without a place"


def saving_patterns(arrays: PackingArrays, limit: int) -> Patterns | None:
    """Return all nonempty feasible patterns of every type of the data, or `None` if they are more than `limit`.

    The first offer of a type represents all its offers.
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
    arrays: PackingArrays, options: Options, report: Report, start: Solution | None, parameters: EvaExactParameters
) -> Answer:
    """Maximise the net saving with limits of instances: a set partitioning over all patterns, with counts of offers.

    maximise sum_p TNRP(p) x_p - sum_k C_k z_k subject to sum_p a_cp x_p = n_c for each class c, and sum_k z_k <= m for
    the offers k of each limit; x and z integer. For each type, the sum of x over its patterns equals the sum of z over
    its offers. Raises InputError for too many patterns.
    """
    with Stopwatch(options.time_limit) as building:
        patterns = saving_patterns(arrays, parameters.saving_patterns)
        if patterns is None:
            many = f"more than {parameters.saving_patterns:,}"
            raise InputError(f"data: net-saving with limits of instances needs all patterns, {many}")
        fine = FineUnits.of(_saving_model(arrays, patterns))
        none_pays = _is_none_profitable(arrays, patterns)
        first = None if start is None else _as_variables(arrays, patterns, arrays.groups(start))
    noise = NOISE * arrays.price_alone

    def usd(units: float | None) -> float | None:
        return None if units is None else units * float(arrays.price_unit)

    def proven(bound: float | None) -> float | None:
        # The saving may be a small difference of large terms, the values of tasks and the prices.
        largest = float(arrays.price_alone)
        units = None if bound is None else real_bound(bound + noise, "maximize", largest=largest)
        return usd(min(units, 0.0) if none_pays and units is not None else units)

    def read(x: FloatArray) -> Solution | None:
        return arrays.solution(patterns.groups(x[: len(patterns.kind)]))

    def watch(x: FloatArray | None, bound: float | None) -> None:
        report(None if x is None else read(x), None if bound is None else proven(fine.proven(bound)))

    left = building.limit_left_s
    solved = fine.convert_result(
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


def _is_none_profitable(arrays: PackingArrays, patterns: Patterns) -> bool:
    """Return whether it is certain that no pattern has a positive net, even on the cheapest offer of its type."""
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
    joint = np.array([np.isin(np.arange(offered), limit.types) for limit in arrays.joint]).reshape(-1, offered)
    kept = np.hstack([np.zeros((len(joint), len(patterns.kind))), joint])
    return LinearModel(
        cost=np.append(arrays.value(patterns.on_it), -arrays.price),
        matrix=np.vstack([np.block([[patterns.on_it.T, np.zeros((arrays.classes, offered))], [used, -same]]), kept]),
        row_lower=np.concatenate([arrays.count, np.zeros(len(types)), np.full(len(joint), -np.inf)]),
        row_upper=np.concatenate([arrays.count, np.zeros(len(types)), [limit.most for limit in arrays.joint]]),
        upper=np.append(
            np.full(len(patterns.kind), np.inf), [float(tasks if m is None else min(m, tasks)) for m in arrays.most]
        ),
        integer=True,
        sense="maximize",
    )


def _as_variables(arrays: PackingArrays, patterns: Patterns, start: Sequence[Group]) -> FloatArray:
    """Return the variables (P + K,) of a plan `start`."""
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
