"""Define how programs are called: their arguments from an instance, and the answer from their return value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from experiments.harness.user_functions import plain
from instances.files import parse_data


@dataclass(frozen=True)
class Calls:
    """The call of a program: its `function(*arguments(content))`; `answer(arguments, returned)` is JSON."""

    function: str
    arguments: Callable[[Any], tuple[Any, ...]]
    answer: Callable[[tuple[Any, ...], Any], Any]


def build_calls() -> Calls:
    """Return the call `solve(data)` with the typed data of an instance, which returns a solution in its file format."""
    return Calls("solve", _data, lambda _, returned: plain(returned, "solution"))


def _data(content: Any) -> tuple[Any, ...]:
    return (parse_data(content["problem"], content["data"]),)
