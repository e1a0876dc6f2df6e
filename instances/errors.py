"""Errors that are the user's to mend: one line each, no traceback on the command line."""

from __future__ import annotations

from typing import Any


class InputError(ValueError):
    """Bad input: the message is one line that names the file, the path inside it and the offending value."""

    of_record: Any = None  # what pydantic found of a record, which does not know what file it is of


class MalformedSolution(ValueError):
    """A solution that is not of the documented form: an unknown name, a missing job, a number that is not one."""


class CheckFailed(RuntimeError):
    """A method's claim that the independent checker refutes. It is an error of the program, never of the user."""


class OutputError(InputError):
    """What was found cannot be written: no such folder, no space left, no permission."""
