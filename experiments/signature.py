"""Convert the parameters of functions to flags of the command line."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any


def signed(call: Callable[..., None], like: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> None:
    """Give `call` the name and the docstring of a function and these parameters, by keyword all, for the flags."""
    functools.update_wrapper(call, like)
    by_keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    call.__signature__ = inspect.Signature(by_keyword)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in by_keyword}


def flags_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a paper's function that become flags: the keyword-only ones."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    return [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]


def option_of(parameter: inspect.Parameter) -> str:
    """Return the name of a parameter's flag on the command line."""
    said = [m.default for m in getattr(parameter.annotation, "__metadata__", ())]  # typer stores an own flag name there
    return said[0] if said and isinstance(said[0], str) else f"--{parameter.name.replace('_', '-')}"


def also(*functions: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace the `**said` of a command by the flags of functions of the papers; return the decorator."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        def call(**given: Any) -> None:
            command(**given)

        own = inspect.signature(command, eval_str=True).parameters.values()
        further = {p.name: p for function in functions for p in flags_of(function)}
        signed(call, command, [*(p for p in own if p.kind is not inspect.Parameter.VAR_KEYWORD), *further.values()])
        return call

    return decorate
