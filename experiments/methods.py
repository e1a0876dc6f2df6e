"""The methods there are, by problem: exact ones first, then the papers' heuristics.

A method is named by the `module:function` it is, so that nothing is imported before it is needed; a user's own
heuristic is named the same way.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from instances import Answer, InputError, Instance, Options, Report, Result, Stopwatch, conclude
from instances.result import Kind

ANY = frozenset({"time_limit"})
SEEDED = ANY | {"seed"}
EXACT = frozenset({"time_limit", "gap", "threads", "seed"})


def always(data: Any) -> str | None:
    """A method that fits every instance of its problem."""
    return None


def never(data: Any) -> bool:
    """A method that is part of `all` on every instance it fits."""
    return False


@dataclass(frozen=True)
class Method:
    """A method of one problem.

    `target` is its `module:function`; `honours` names the options it takes notice of (every method is ended at the
    time limit); `unfit(data)` tells why the method cannot take an instance, `None` where it can. `costly(data)`:
    whether it would run for hours, so that it has to be asked for by name and is not part of `all`.
    """

    name: str
    target: str
    kind: Kind
    honours: frozenset[str]
    unfit: Callable[[Any], str | None] = field(default=always, compare=False)
    costly: Callable[[Any], bool] = field(default=never, compare=False)


def _exact(
    name: str,
    target: str,
    unfit: Callable[[Any], str | None] = always,
    costly: Callable[[Any], bool] = never,
) -> Method:
    return Method(name, target, "exact", EXACT, unfit, costly)


def _heuristic(
    name: str, target: str, unfit: Callable[[Any], str | None] = always, honours: frozenset[str] = ANY
) -> Method:
    return Method(name, target, "heuristic", honours, unfit)


LITERAL_BINARIES = 250_000
LITERAL_TASKS = 16  # HiGHS takes a minute and more with the literal model of Eva from about here on
SIA_BINARIES = 20_000  # HiGHS takes a minute and more with the literal model of SIA from about here on
SIA_STARTS = 5_000_000
SIA_SLOTS = 50_000_000
LITERAL_WIDTHS = 5_000  # the same of BOA, in binaries x


def _unfit_eva_literal(data: Any) -> str | None:
    tasks = sum(task.count for task in data.tasks)
    if data.objective != "cost":
        return "section 4.1 states the objective cost only"
    if tasks**2 > LITERAL_BINARIES:
        return f"{tasks} tasks make {tasks**2:,} binaries y, more than {LITERAL_BINARIES:,}"
    return None


def _costly_eva_literal(data: Any) -> bool:
    return sum(task.count for task in data.tasks) > LITERAL_TASKS


def _costly_boa_literal(data: Any) -> bool:
    tables = [e.speedup.table for c in data.classes for e in c.epochs if e.speedup.table]
    widest = max((min(points.gpus[-1], data.max_width or points.gpus[-1]) for points in tables), default=1)
    return not data.convex and sum(len(c.epochs) for c in data.classes) * widest > LITERAL_WIDTHS


def _unfit_boa_types(data: Any) -> str | None:
    return "it chooses among widths of one GPU type" if data.heterogeneous else None


def _unfit_sia_exact(data: Any) -> str | None:
    starts = sum(cutoff - job.submit + 1 for job, cutoff in zip(data.jobs, data.cutoffs, strict=True))
    if starts > SIA_STARTS:
        return f"the windows of its jobs hold {starts:,} starts, more than {SIA_STARTS:,}"
    return None


def _sia_binaries(data: Any) -> int:
    jobs = zip(data.jobs, data.cutoffs, strict=True)
    return sum(2 * (cutoff - job.submit) + job.duration + 1 for job, cutoff in jobs)


def _costly_sia_literal(data: Any) -> bool:
    return _sia_binaries(data) > SIA_BINARIES


def _unfit_sia_literal(data: Any) -> str | None:
    binaries = _sia_binaries(data)
    if binaries > LITERAL_BINARIES:
        return f"its windows make {binaries:,} binaries X and Y, more than {LITERAL_BINARIES:,}"
    return None


def _unfit_sia_unshared(data: Any) -> str | None:
    own = {pool.name: pool.gpus for pool in data.pools}
    wide = next((job for job in data.jobs if job.gpus > own[job.pool]), None)
    return None if wide is None else f"job {wide.id} is wider than its pool, which shares nothing"


def _unfit_sia_slots(data: Any) -> str | None:
    last = max(cutoff + job.duration for job, cutoff in zip(data.jobs, data.cutoffs, strict=True))
    span = last - min(job.submit for job in data.jobs)
    return None if span <= SIA_SLOTS else f"its jobs span {span:,} slots, more than {SIA_SLOTS:,}"


METHODS: dict[str, tuple[Method, ...]] = {
    "eva-packing": (
        _exact("exact", "models.eva:exact"),
        _exact("literal", "models.eva:literal", _unfit_eva_literal, _costly_eva_literal),
        _heuristic("no-packing", "heuristics.eva:no_packing"),
        _heuristic("full-reconfiguration", "heuristics.eva:full_reconfiguration"),
        _heuristic("full-reconfiguration-first", "heuristics.eva:full_reconfiguration_first"),
    ),
    "boa-allocation": (
        Method("exact", "models.boa:exact", "exact", frozenset({"time_limit", "gap"})),
        _exact("literal", "models.boa:literal", costly=_costly_boa_literal),
        _heuristic("width-calculator", "heuristics.boa:width_calculator", _unfit_boa_types, SEEDED),
        _heuristic("width-calculator-whole-job", "heuristics.boa:width_calculator_whole_job", _unfit_boa_types, SEEDED),
        _heuristic("one-width", "heuristics.boa:one_width", _unfit_boa_types),
        _heuristic("equal-share", "heuristics.boa:equal_share", _unfit_boa_types),
        _heuristic("randomised", "models.boa:randomised", _unfit_boa_types),
    ),
    "sia-oracle": (
        _exact("exact", "models.sia:exact", _unfit_sia_exact),
        _exact("literal", "models.sia:literal", _unfit_sia_literal, _costly_sia_literal),
        Method(
            "literal-windows", "models.sia:literal_windows", "heuristic", EXACT, _unfit_sia_literal, _costly_sia_literal
        ),
        _heuristic("fcfs", "heuristics.sia:fcfs", _unfit_sia_unshared),
        _heuristic("ssf", "heuristics.sia:ssf", _unfit_sia_unshared),
        _heuristic("sjf", "heuristics.sia:sjf", _unfit_sia_unshared),
        _heuristic("gssf", "heuristics.sia:gssf"),
        _heuristic("mmfs", "heuristics.sia:mmfs"),
        _heuristic("hived", "heuristics.sia:hived"),
        _heuristic("themis", "heuristics.sia:themis"),
        _heuristic("sia-vc", "heuristics.sia:sia_vc", _unfit_sia_slots),
        _heuristic("sia-vc-literal", "heuristics.sia:sia_vc_literal"),
        _heuristic("safe-ssf", "heuristics.sia:safe_ssf", _unfit_sia_slots),
        _heuristic("sia-perfect", "heuristics.sia:sia_perfect"),
        _heuristic("sia-sliding", "heuristics.sia:sia_sliding"),
        _heuristic("sia-random-load", "heuristics.sia:sia_random_load", honours=SEEDED),
        _heuristic("sia-random", "heuristics.sia:sia_random", honours=SEEDED),
    ),
}


def methods_for(instance: Instance, names: list[str]) -> list[Method]:
    """The methods called `names` on `instance`; `all` stands for every one that fits it, `a.b:f` for a user's own.

    Raises InputError for an unknown name, and for a method that is asked for but cannot take the instance.
    """
    known = {method.name: method for method in METHODS[instance.problem]}
    chosen: dict[str, Method] = {}
    for name in names:
        if name == "all":
            chosen |= {n: m for n, m in known.items() if m.unfit(instance.data) is None and not m.costly(instance.data)}
        elif ":" in name:
            honours = SEEDED if _takes_options(_resolve(name)) else ANY
            chosen[name] = Method(name, name, "heuristic", honours)
        elif name not in known:
            raise InputError(f"method: must be all, {', '.join(known)} or package.module:function, got {name!r}")
        else:
            why = known[name].unfit(instance.data)
            if why is not None:
                raise InputError(f"method: {name} cannot take {instance.name}: {why}")
            chosen[name] = known[name]
    return list(chosen.values())


def apply(method: Method, instance: Instance, options: Options, report: Report) -> Result:
    """Run `method` on `instance` here and now. Raises whatever the method raises.

    A user's own function gets the instance's data, and the options where it takes two arguments; it returns a solution
    in JSON form, an Answer or a Result.
    """
    function = _resolve(method.target)
    if method.name != method.target:
        if method.honours == ANY:
            result = function(instance.data)
        elif method.kind == "heuristic":
            result = function(instance.data, options)
        else:
            result = function(instance.data, options, report)
    else:
        with Stopwatch() as clock:
            arguments = (instance.data, options) if _takes_options(function) else (instance.data,)
            result = function(*arguments)
        if isinstance(result, Mapping):
            result = Answer(solution=result, solve_s=clock.cpu_s)
        if isinstance(result, Answer):
            result = conclude(instance.data, method.name, result, options, kind="heuristic")
        if not isinstance(result, Result):
            raise InputError(f"method: {method.name} must return a solution, got {type(result).__name__}")
    effective = options.only(method.honours)
    return result.model_copy(update={"instance": instance.name, "method": method.name, "options": effective})


def _takes_options(function: Callable[..., Any]) -> bool:
    """Whether a user's own function has a second positional parameter, for the options."""
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in places for p in inspect.signature(function).parameters.values()) > 1


def _resolve(target: str) -> Callable[..., Any]:
    module, _, name = target.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # a console script does not look for the user's module where the user is
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"method: {target}: {error}") from error
    function = getattr(found, name, None)
    if not callable(function):
        raise InputError(f"method: {target}: {module} has no function {name!r}")
    return function
