"""Define a row of a paper's list of methods: its name, its function, and the instances that it fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


def always(data: Any) -> str | None:
    """Return no reason against any instance of the problem."""
    return None


def accept_all(data: Any) -> bool:
    """Keep a method in `all` on every instance that it fits."""
    return False


@dataclass(frozen=True)
class Entry:
    """A method, named by `module:function` so that it is imported only when it is needed.

    `unfit(data)` says why the method cannot take an instance, `None` where it can. `costly(data)`: whether it would
    run for hours, so that it has to be asked for by name and is not part of `all`. `starts` are heuristics of the
    same problem, the best solution of which the method gets to start from. Kind and options are the method's
    own (`instances.method`). `code` is a function of the user's that came itself, pickled.
    """

    name: str
    target: str
    unfit: Callable[[Any], str | None] = field(default=always, compare=False)
    costly: Callable[[Any], bool] = field(default=accept_all, compare=False)
    starts: tuple[Entry, ...] = field(default=(), compare=False)
    code: bytes | None = field(default=None, repr=False)

    @property
    def is_heuristic(self) -> bool:
        """Return whether it is one of the project's heuristics."""
        return self.target.startswith("heuristics.")

    @property
    def is_by_user(self) -> bool:
        """Return whether it is a function of the user's, which has `module:function` for its name."""
        return self.name == self.target


GROUPS: dict[str, Callable[[Entry], bool]] = {"all": lambda entry: True, "heuristics": lambda entry: entry.is_heuristic}
"""Names that stand for all methods of a kind that fit an instance and do not run for hours."""


def select_by_name(entries: Sequence[Entry], *names: str) -> tuple[Entry, ...]:
    """Return the methods of these names."""
    known = {entry.name: entry for entry in entries}
    return tuple(known[name] for name in names)
