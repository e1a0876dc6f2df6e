"""What a generator may be asked for: the ranges of seeds, numbers and horizons, and how much is drawn."""

from __future__ import annotations

from instances.errors import InputError
from instances.fields import LARGEST

SEEDS = 2**31
LONGEST_DAYS = 3660.0  # ten years: what lies beyond is a unit mistake, and takes longer to draw than anyone waits
MOST_DRAWN = 1_000_000  # jobs


def refuse_seed(seed: int, name: str = "seed") -> None:
    """Raise InputError for what is no seed."""
    if not 0 <= seed < SEEDS:
        raise InputError(f"{name}: must be in [0, 2^31), got {seed}")


def refuse_outside(name: str, value: float, least: float, most: float = LARGEST) -> None:
    """Raise InputError for a number that is not from `least` to `most`, and for what is none."""
    if not least <= value <= most:
        wanted = f"<= {most:g}" if value > most else f">= {least:g}"
        raise InputError(f"{name}: must be a number {wanted}, got {value}")


def refuse_unless_positive(name: str, value: float, most: float = LARGEST) -> None:
    """Raise InputError for a number that is not above 0 and at most `most`, and for what is none."""
    if not 0 < value <= most:
        wanted = f"<= {most:g}" if value > most else "> 0"
        raise InputError(f"{name}: must be a number {wanted}, got {value}")


def refuse_too_many(name: str, expected: float) -> None:
    """Raise InputError where more jobs are to be expected than are drawn; before anything is."""
    if not expected <= MOST_DRAWN:
        raise InputError(f"{name}: some {expected:.3g} jobs would be drawn, and {MOST_DRAWN:,} are the most")
