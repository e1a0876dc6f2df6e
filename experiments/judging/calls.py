"""How programs are called: what they are given of an instance, and what is taken from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from experiments.harness.user_functions import plain
from instances.files import parse_data


@dataclass(frozen=True)
class Calls:
    """How a program is called: its `function(*arguments(content))`; `answer(arguments, returned)` is JSON."""

    function: str
    arguments: Callable[[Any], tuple[Any, ...]]
    answer: Callable[[tuple[Any, ...], Any], Any]


def of_problem() -> Calls:
    """`solve(data)`, with the typed data of an instance, returns a solution in the form of the file formats page."""
    return Calls("solve", _data, lambda _, returned: plain(returned, "solution"))


def _data(content: Any) -> tuple[Any, ...]:
    return (parse_data(content["problem"], content["data"]),)
