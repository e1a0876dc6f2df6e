"""One row of a paper's list of methods: what a method is called, where it is, and which instances it takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


def always(data: Any) -> str | None:
    """A method that fits every instance of its problem."""
    return None


def never(data: Any) -> bool:
    """A method that is part of `all` on every instance it fits."""
    return False


@dataclass(frozen=True)
class Entry:
    """A method by the `module:function` it is, so that nothing is imported before it is needed.

    `unfit(data)` says why the method cannot take an instance, `None` where it can. `costly(data)`: whether it would
    run for hours, so that it has to be asked for by name and is not part of `all`. `starts` are heuristics of the
    same problem, the best solution of which the method gets to start from. Kind and options are the method's
    own (`instances.method`). `code` is a function of the user's that came itself, pickled.
    """

    name: str
    target: str
    unfit: Callable[[Any], str | None] = field(default=always, compare=False)
    costly: Callable[[Any], bool] = field(default=never, compare=False)
    starts: tuple[Entry, ...] = field(default=(), compare=False)
    code: bytes | None = field(default=None, repr=False)

    @property
    def is_heuristic(self) -> bool:
        """Whether it is one of the project's heuristics."""
        return self.target.startswith("heuristics.")

    @property
    def by_user(self) -> bool:
        """Whether it is a function of the user's, which is called by where it is."""
        return self.name == self.target


GROUPS: dict[str, Callable[[Entry], bool]] = {"all": lambda entry: True, "heuristics": lambda entry: entry.is_heuristic}
"""Names that stand for all methods of a kind that fit an instance and do not run for hours."""


def named(entries: Sequence[Entry], *names: str) -> tuple[Entry, ...]:
    """The methods of these names."""
    known = {entry.name: entry for entry in entries}
    return tuple(known[name] for name in names)
