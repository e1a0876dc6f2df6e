"""Whether the numbers of a VIPR file can be added up: over one denominator that is not too long.

Adding up n numbers whose denominators have nothing in common takes n^2 times as long as one; what a file says of a
derived constraint is compared with the sum only once that is done. The files of this project have denominators of some
hundred bits together.
"""

from __future__ import annotations

import math
import re

from instances.errors import InputError

MOST_BITS = 1 << 16
LONGEST = 4000  # digits; what has more is refused as a number
DENOMINATOR = re.compile(r"/(\d+)|\.(\d+)", re.ASCII)


def see_denominators(certificate: str) -> None:
    """Raise InputError where the denominators in the text of a VIPR file have too many bits together."""
    known, common = set[str](), 1
    for found in DENOMINATOR.finditer(certificate):
        word = found[0]
        if word in known or len(word) > LONGEST:
            continue
        known.add(word)
        common = math.lcm(common, 10 ** len(found[2]) if found[1] is None else int(found[1]) or 1)
        if common.bit_length() > MOST_BITS:
            raise InputError(f"the denominators of all numbers have more than {MOST_BITS:,} bits together")
