"""Convert validation errors for the user: one line with the path inside the data and the invalid value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from instances.errors import InputError
from instances.text import brief, escape_text

M = TypeVar("M", bound=BaseModel)
LONGEST_NAME = 200  # characters of a field that an error shows, as of the names in a file


def validate(model: type[M], content: Any, root: str = "data") -> M:
    """Build the `model` from `content`. Raises InputError with the path from `root` on."""
    with input_errors(root=root):
        return model.__pydantic_validator__.validate_python(content)


@contextmanager
def input_errors(where: str = "", root: str = "") -> Iterator[None]:
    """Convert validation errors of a block to an InputError for the file `where`, with paths from `root` on."""
    try:
        yield
    except ValidationError as error:
        raise _refuse(error, where, root) from None
    except InputError as error:
        if error.of_record is None or not where:
            raise
        raise _refuse(error.of_record, where, root) from None


def _refuse(error: ValidationError, where: str, root: str) -> InputError:
    line = _format_first_error(error, root)
    refused = InputError(f"{where}: {line}" if where else line)
    refused.of_record = None if where else error
    return refused


COMPARISONS = {
    "greater_than_equal": (">=", "ge"),
    "greater_than": (">", "gt"),
    "less_than_equal": ("<=", "le"),
    "less_than": ("<", "lt"),
}


PLAIN = {
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "mapping_type": "must be an object",
    "tuple_type": "must be a list",
    "string_type": "must be a string",
}


def _format_first_error(error: ValidationError, root: str) -> str:
    """Return the first error of pydantic in one line: the path, the condition, and the value."""
    first = error.errors(include_url=False)[0]
    kind, context, location = first["type"], first.get("ctx", {}), first["loc"]
    value = first.get("input")
    if kind == "refused":
        inner = context["path"]
        path = ".".join(part for part in (_path(root, location), inner) if part).replace(".[", "[")
        found = "" if context["value"] is None else f", got {show(context['value'])}"
        return f"{escape_text(path)}: {context['message']}{found}"
    path = escape_text(_path(root, location))
    if kind in COMPARISONS:
        sign, name = COMPARISONS[kind]
        return f"{path}: must be {sign} {context[name]:g}, got {show(value)}"
    if kind == "extra_forbidden":
        return f"{path}: unknown field"
    if kind == "missing":
        return f"{path}: missing"
    if kind in PLAIN:
        return f"{path}: {PLAIN[kind]}" + ("" if "empty" in PLAIN[kind] else f", got {show(value)}")
    message = first["msg"].replace("Input should be", "must be").replace("Value error, ", "")
    return f"{path}: {message}, got {show(value)}"


def _path(root: str, location: tuple[int | str, ...]) -> str:
    path = root
    for step in location:
        name = f"[{step}]" if isinstance(step, int) else brief(step, LONGEST_NAME)
        path += f".{name}" if path and isinstance(step, str) else name
    return path


def show(value: Any) -> str:
    """Return a value in one short line for an error message; a fraction is shown as the nearest float."""
    try:
        value = float(value) if isinstance(value, Fraction) else value
        said = value if isinstance(value, float) else repr(value) if not isinstance(value, str) else json.dumps(value)
    except (ValueError, OverflowError, RecursionError):  # numbers of thousands of digits, lists within lists
        return "something too long to be shown"
    text = " ".join(str(said).split())
    return text if len(text) <= 60 else text[:57] + "..."
