"""How many cases of a study the suite runs: a fair sample, or all of them with `GAPWISE_WHOLE=1 python -m pytest`.

Cases are drawn one like the other from a seed, so a sample has each of their kinds several times; the whole set is for
whoever changes the method.
"""

from __future__ import annotations

import os

WHOLE = bool(os.environ.get("GAPWISE_WHOLE"))


def sample(fair: int, whole: int) -> int:
    """`fair`, or `whole` where all cases are asked for."""
    return whole if WHOLE else fair
