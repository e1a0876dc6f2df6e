"""The methods there are, by problem: exact ones first, then the papers' heuristics.

A method is named by the `module:function` it is, so that nothing is imported before it is needed; a user's own
heuristic is named the same way.
"""

from __future__ import annotations

from functools import partial

from experiments.methods import aryl, boa, eva, sia
from experiments.methods.method import ANY, Method
from experiments.methods.own import call_own, own_method, resolve
from experiments.methods.starts import from_start
from instances import Answer, InputError, Instance, Options, Report, Result, conclude, ignore

__all__ = ["BUILDERS", "METHODS", "Method", "answer", "apply", "concluded", "methods_for", "resolve"]

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
            chosen[name] = own_method(name)
        elif name not in known:
            raise InputError(f"method: must be all, {', '.join(known)} or package.module:function, got {name!r}")
        else:
            why = known[name].unfit(instance.data)
            if why is not None:
                raise InputError(f"method: {name} cannot take {instance.name}: {why}")
            chosen[name] = known[name]
    return list(chosen.values())


def apply(method: Method, instance: Instance, options: Options, report: Report = ignore) -> Result:
    """Run `method` on `instance` here and now, and check what it finds. Raises whatever the method raises."""
    return concluded(method, instance, answer(method, instance, options, report), options)


def answer(method: Method, instance: Instance, options: Options, report: Report) -> Answer:
    """What `method` finds on `instance`, not yet checked by anybody else. Raises whatever the method raises.

    A method with starts runs these heuristics first.
    """
    data = instance.data
    if method.own:
        return call_own(method.target, data, options)
    function = resolve(method.target)
    if method.starts:
        known = {m.name: m for m in METHODS[instance.problem]}
        fitting = [known[name] for name in method.starts if known[name].unfit(data) is None]
        heuristics = [(m.name, partial(apply, m, instance, options)) for m in fitting]
        return from_start(function, data, heuristics, options, report)
    result: Result
    if method.honours == ANY:
        result = function(data)
    elif method.kind == "heuristic":
        result = function(data, options)
    else:
        result = function(data, options, report)
    return result.unchecked()


def concluded(method: Method, instance: Instance, found: Answer, options: Options) -> Result:
    """The result of `found`, checked against the data of `instance`. Raises CheckFailed."""
    result = conclude(instance.data, method.name, found, options, kind=method.kind, honours=method.honours)
    return result.model_copy(update={"instance": instance.name})
