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
from typing import Any

from experiments.methods import aryl, boa, eva, sia
from experiments.methods.method import ANY, SEEDED, Method
from instances import Answer, InputError, Instance, Options, Report, Result, Stopwatch, conclude

METHODS: dict[str, tuple[Method, ...]] = eva.METHODS | boa.METHODS | aryl.METHODS | sia.METHODS
BUILDERS: dict[str, str] = eva.BUILDERS | boa.BUILDERS | aryl.BUILDERS | sia.BUILDERS
"""Where the literal Pyomo model of a problem is built, `module:function`."""


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
            honours = SEEDED if _takes_options(resolve(name)) else ANY
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
    function = resolve(method.target)
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


def resolve(target: str) -> Callable[..., Any]:
    """The function that `module:function` names, also of a module in the current folder. Raises InputError."""
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
