"""A certificate as it is written, and what one proves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal


class NoCertificate(ValueError):
    """Why there is no certificate of a bound: the message is one line."""


@dataclass(frozen=True)
class Certificate:
    """The `text` of a certificate in the format `kind`, the `bound` that it proves and, in a few words, `how`."""

    kind: Literal["vipr", "json"]
    text: str
    bound: Fraction
    how: str


@dataclass(frozen=True)
class Proven:
    """The `bound` that a certificate has been seen to prove and, in a few words, `how`."""

    bound: Fraction
    how: str
