"""A method on an instance, here and now: its starts before it, and the independent checker after it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from experiments.harness.entry import Entry
from experiments.harness.starts import Start, from_start
from experiments.harness.user_functions import resolve, user_method
from instances import Answer, InputError, Instance, Options, Report, Result, conclude
from instances.method import ANY, Method
from instances.result import Kind


@dataclass(frozen=True)
class Unchecked:
    """What a process hands back of a run: an answer that nobody has checked, and what its method is."""

    answer: Answer
    kind: Kind = "heuristic"
    honours: frozenset[str] = ANY


def load_method(entry: Entry) -> Method[Any]:
    """The method that an entry names. Raises InputError where there is none."""
    if entry.by_user:
        return user_method(entry.target, entry.code)
    found = getattr(resolve(entry.target), "method", None)
    if not isinstance(found, Method):
        raise InputError(f"method: {entry.target} is not made a method by the decorator of instances.method")
    return found


def apply(entry: Entry, instance: Instance, options: Options, report: Report | None = None) -> Result:
    """Run a method and check what it finds. Raises whatever the method raises."""
    method = load_method(entry)
    found = Unchecked(answer(entry, method, instance, options, report), method.kind, method.honours)
    return concluded(entry, instance, found, options)


def answer(
    entry: Entry,
    method: Method[Any],
    instance: Instance,
    options: Options,
    report: Report | None = None,
    given: Start | None = None,
) -> Answer:
    """What a method finds, not yet checked by anybody else. Raises whatever the method raises.

    The heuristics that the entry starts from run first, as far as they fit the instance. A start that is `given` is
    for methods that have a use for it.
    """
    given = given if uses_start(method) else None
    if not entry.starts and given is None:
        return method.answer(instance.data, options, report)
    fitting = [start for start in entry.starts if start.unfit(instance.data) is None]
    heuristics = [(start.name, partial(apply, start, instance, options)) for start in fitting]
    return from_start(method, instance.data, heuristics, options, report, given)


def uses_start(method: Method[Any]) -> bool:
    """Whether a method has a use for a start: it begins there, or keeps it where it finds nothing better."""
    return method.kind == "exact" or "start" in method.takes


def concluded(entry: Entry, instance: Instance, found: Unchecked, options: Options) -> Result:
    """The result of what was found, checked against the data of `instance`. Raises CheckFailed."""
    result = conclude(instance.data, entry.name, found.answer, options, kind=found.kind, honours=found.honours)
    return result.model_copy(update={"instance": instance.name})
