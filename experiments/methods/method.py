"""One method of one problem: what it is called, where it is, which instances and options it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

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
    whether it would run for hours, so that it has to be asked for by name and is not part of `all`. `starts` names
    heuristics of the same problem, the best solution of which is handed to the method to start from.
    """

    name: str
    target: str
    kind: Kind
    honours: frozenset[str]
    unfit: Callable[[Any], str | None] = field(default=always, compare=False)
    costly: Callable[[Any], bool] = field(default=never, compare=False)
    starts: tuple[str, ...] = field(default=(), compare=False)

    @property
    def own(self) -> bool:
        """Whether it is a user's own function: nothing it says but its solution can be checked."""
        return self.name == self.target


def exact(
    name: str,
    target: str,
    unfit: Callable[[Any], str | None] = always,
    costly: Callable[[Any], bool] = never,
    starts: tuple[str, ...] = (),
) -> Method:
    """An exact method, which honours every option."""
    return Method(name, target, "exact", EXACT, unfit, costly, starts)


def heuristic(
    name: str, target: str, unfit: Callable[[Any], str | None] = always, honours: frozenset[str] = ANY
) -> Method:
    """A heuristic, which honours the time limit alone unless said otherwise."""
    return Method(name, target, "heuristic", honours, unfit)
