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


def _unfit_eva_literal(data: Any) -> str | None:
    tasks = sum(task.count for task in data.tasks)
    if data.objective != "cost":
        return "section 4.1 states the objective cost only"
    if tasks**2 > LITERAL_BINARIES:
        return f"{tasks} tasks make {tasks**2:,} binaries y, more than {LITERAL_BINARIES:,}"
    return None


def _costly_eva_literal(data: Any) -> bool:
    return sum(task.count for task in data.tasks) > LITERAL_TASKS


LITERAL_ARYL_JOBS = 5  # jobs from which the literal mean-JCT program takes a minute and more
LITERAL_ARYL_ROWS = 600  # pairs of a job and a server from which the literal reclaiming program may
LITERAL_ARYL_ITEMS = 20_000


def _unfit_aryl_elastic_literal(data: Any) -> str | None:
    items = sum(job.max_workers - job.min_workers + 1 for job in data.jobs)
    if data.objective == "mean-jct":
        items *= len(data.jobs)
    return f"{items:,} binaries, more than {LITERAL_ARYL_ITEMS:,}" if items > LITERAL_ARYL_ITEMS else None


def _costly_aryl_elastic_literal(data: Any) -> bool:
    return data.objective == "mean-jct" and len(data.jobs) > LITERAL_ARYL_JOBS


def _unfit_aryl_reclaim_literal(data: Any) -> str | None:
    rows = sum(len(job.servers) for job in data.jobs)
    return f"{rows:,} rows, more than {LITERAL_ARYL_ITEMS:,}" if rows > LITERAL_ARYL_ITEMS else None


def _costly_aryl_reclaim_literal(data: Any) -> bool:
    return sum(len(job.servers) for job in data.jobs) > LITERAL_ARYL_ROWS


METHODS: dict[str, tuple[Method, ...]] = {
    "eva-packing": (
        _exact("exact", "models.eva:exact"),
        _exact("literal", "models.eva:literal", _unfit_eva_literal, _costly_eva_literal),
        _heuristic("no-packing", "heuristics.eva:no_packing"),
        _heuristic("full-reconfiguration", "heuristics.eva:full_reconfiguration"),
        _heuristic("full-reconfiguration-first", "heuristics.eva:full_reconfiguration_first"),
    ),
    "aryl-elastic": (
        _exact("exact", "models.aryl:exact"),
        _exact("literal", "models.aryl:literal", _unfit_aryl_elastic_literal, _costly_aryl_elastic_literal),
        _heuristic("two-phase", "heuristics.aryl:two_phase"),
        _heuristic("afs", "heuristics.aryl:afs"),
        _heuristic("gandiva", "heuristics.aryl:gandiva"),
        _heuristic("equal-split", "heuristics.aryl:equal_split"),
    ),
    "aryl-reclaim": (
        _exact("exact", "models.aryl:exact"),
        _exact("literal", "models.aryl:literal", _unfit_aryl_reclaim_literal, _costly_aryl_reclaim_literal),
        _heuristic("reclaim-greedy", "heuristics.aryl:reclaim_greedy"),
        _heuristic("reclaim-literal-order", "heuristics.aryl:reclaim_literal_order"),
        _heuristic("reclaim-gpu-fraction", "heuristics.aryl:reclaim_gpu_fraction"),
        _heuristic("reclaim-scf", "heuristics.aryl:reclaim_scf"),
        _heuristic("reclaim-random", "heuristics.aryl:reclaim_random", honours=SEEDED),
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
