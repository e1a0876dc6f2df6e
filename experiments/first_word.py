"""The first word of `gap_study`. It stands alone because everything else takes seconds to load on a busy machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

HARMLESS = {"--quick", "--tables"}  # flags without a value
_is_said = False


def announce_early(words: Sequence[str]) -> None:
    """Print the first word now if these arguments and the folder for results are certainly valid."""
    place = "results" if os.path.lexists("results") else "."
    if HARMLESS.issuperset(words) and os.path.isdir(place) and os.access(place, os.W_OK):
        announce()


def announce() -> None:
    """Print the first word on standard error if it is not printed yet."""
    global _is_said
    if not _is_said and sys.stderr is not None:
        print("preparing the instances", file=sys.stderr, flush=True)
    _is_said = True
