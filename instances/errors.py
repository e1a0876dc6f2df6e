"""Errors that the user can correct: one line each, without a traceback on the command line."""

from __future__ import annotations

from typing import Any


class InputError(ValueError):
    """Bad input: the message is one line that names the file, the path inside it and the offending value."""

    of_record: Any = None  # pydantic's error of a record, to which the loader adds the name of the file


class MalformedSolution(ValueError):
    """A solution without the documented form: an unknown name, a missing job, or a value that is not a number."""


class CheckFailed(RuntimeError):
    """The independent checker contradicts a claim of a method. This is an error of the program, never of the user."""


class OutputError(InputError):
    """An output file cannot be written: the folder is missing, the disk is full, or permission is denied."""
