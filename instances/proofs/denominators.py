"""Reject VIPR files whose numbers have a common denominator that is too long.

The sum of n numbers with coprime denominators takes n^2 times as long as one number. A derived constraint is compared
with its statement only after the sum is known. In the files of this project the common denominator has some hundred
bits.
"""

from __future__ import annotations

import math
import re

from instances.errors import InputError

MOST_BITS = 1 << 16
LONGEST = 4000  # digits; the reader rejects longer numbers
DENOMINATOR = re.compile(r"/(\d+)|\.(\d+)", re.ASCII)


def see_denominators(certificate: str) -> None:
    """Raise InputError if the common denominator of the numbers in a VIPR file has more than `MOST_BITS` bits."""
    known, common = set[str](), 1
    for found in DENOMINATOR.finditer(certificate):
        word = found[0]
        if word in known or len(word) > LONGEST:
            continue
        known.add(word)
        common = math.lcm(common, 10 ** len(found[2]) if found[1] is None else int(found[1]) or 1)
        if common.bit_length() > MOST_BITS:
            raise InputError(f"the denominators of all numbers have more than {MOST_BITS:,} bits together")
