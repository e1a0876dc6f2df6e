"""Parse quantities of Kubernetes, such as `100m`, `1e3`, `129M` and `123Mi`, as exact fractions.

The grammar is that of `resource.Quantity` of apimachinery: a signed decimal number, then a binary suffix, a decimal
suffix or a decimal exponent. Fractions finer than a billionth are rounded away from zero, as in apimachinery. Amounts
over 2^63 - 1 are rejected, while apimachinery caps some of them.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any

from instances.errors import InputError
from instances.text import brief

NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?P<suffix>[A-Za-z]*)(?P<power>[+-]?[0-9]*)"
)
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
FINEST = 10**9  # parts of a unit
LONGEST = 64  # characters of a quantity
LARGEST = 2**63 - 1
MILLI = 1000


def quantity(value: Any) -> Fraction:
    """Return the amount of a JSON value. Raises InputError if the value is not a quantity."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"must be a quantity such as 100m or 123Mi, got {brief(repr(value), LONGEST)}")
    text = value if isinstance(value, str) else repr(value)
    if len(text) > LONGEST:
        raise InputError(f"must be a quantity of at most {LONGEST} characters, got {brief(repr(text), LONGEST)}")
    return _parse(text)


@lru_cache(maxsize=1 << 14)  # a cluster has few different quantities
def _parse(text: str) -> Fraction:
    found = NUMBER.fullmatch(text) if text.isascii() else None
    scale = None if found is None else _scale(found["suffix"], found["power"])
    if found is None or scale is None or not (found["whole"] or found["part"]):
        raise InputError(f"must be a quantity such as 100m or 123Mi, got {text!r}")
    digits, part = found["whole"] + (found["part"] or ""), found["part"] or ""
    base, power = scale
    amount = Fraction(int(digits))
    if amount and power > LONGEST:  # the power would not fit in memory
        raise _beyond(text)
    if amount:
        amount *= Fraction(base) ** max(power, -2 * LONGEST) / 10 ** len(part)
    amount = Fraction(ceil(amount * FINEST), FINEST)
    if amount > LARGEST:
        raise _beyond(text)
    return -amount if found["sign"] == "-" else amount


def _scale(suffix: str, power: str) -> tuple[int, int] | None:
    """Return the base and the power of a suffix and the digits after it; `None` if the suffix is unknown."""
    if suffix in ("e", "E") and power.strip("+-"):
        return 10, int(power)
    if power:
        return None
    if suffix in BINARY:
        return 2, BINARY[suffix]
    return (10, DECIMAL[suffix]) if suffix in DECIMAL else None


def _beyond(text: str) -> InputError:
    return InputError(f"must be at most 2^63 - 1, got {text!r}")


def requested(value: Any) -> Fraction:
    """Return the amount of a request or a capacity. Raises InputError if it is negative or invalid."""
    amount = quantity(value)
    if amount < 0:
        raise InputError(f"must be >= 0, got {value!r}")
    return amount


def whole(amount: Fraction, resource: str) -> int:
    """Return an amount as kube-scheduler counts it: thousandths of a CPU or units of others, rounded up."""
    return ceil(amount * MILLI) if resource == "cpu" else ceil(amount)
