"""The look of methods and policies by name: one palette for every figure and for the report.

The colours are those of Okabe and Ito that stand out on white, with ink and grey. Readers of any colour vision can
distinguish them. Each colour has four line styles, each with a marker and a hatch for filled areas, so that looks
differ by more than colour. Ink marks proven values, blue the algorithm of a paper, grey the baseline.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass

INK, GREY, BLUE, ORANGE = "#000000", "#5a5a5a", "#0072b2", "#e69f00"
GREEN, RED, PURPLE, SKY = "#009e73", "#d55e00", "#cc79a7", "#56b4e9"
HUES = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, GREY)
COLOURS = (INK, *HUES)
LINES = 4
"""Line styles of one colour."""
MARKERS = 8
TINTS = (0.0, 0.55, -0.4)
"""Tints for elements that are neither methods nor policies: the colour itself, lighter, darker."""

# names of each colour, one string per line style; names in the same string never occur in one figure
NAMED: dict[str, tuple[str, ...]] = {
    INK: ("exact", "literal acquiring-exact aryl-exact", "literal-windows short-list", "oracle"),
    GREY: (
        "no-packing fcfs fifo equal-share stay reclaim-random",
        "equal-split hived",
        "equal-split-sjf",
        "requested",
    ),
    BLUE: (
        "full-reconfiguration full eva width-calculator two-phase reclaim-greedy sia-vc aryl",
        "full-reconfiguration-artifact eva-without-full width-calculator-artifact reclaim-literal-order sia-vc-literal",
        "eva-single width-calculator-nearest sia-perfect-arrivals",
        "eva-without-partial width-calculator-whole-job",
    ),
    ORANGE: (
        "full-reconfiguration-first stratus one-width reclaim-scf mmfs partial fifo-two-phase",
        "stratus-remaining sjf-two-phase gssf",
    ),
    GREEN: (
        "synergy eva-choice randomised afs reclaim-gpu-fraction sia-perfect fifo-loans dot-product",
        "afs-gpus sia-perfect-preemptive sjf-loans",
        "afs-shorter sia-fine",
        "sjf-loans-two-phase",
    ),
    RED: ("eva-without-throughput pollux-sum ssf", "sia-random", "sia-random-load", "sjf"),
    PURPLE: (
        "owl gandiva themis pollux-as-mean pollux-as-mean-0.7 fifo-loans-two-phase first-fit-decreasing",
        "gandiva-sjf sia-sliding pollux-mean",
        "sia-sliding-preemptive",
        "sia-persistence",
    ),
    SKY: (
        "sia-learned pollux-as-sum pollux-as-sum-0.7 best-fit-decreasing",
        "sia-learned-durations",
        "sia-learned-modes",
        "safe-ssf",
    ),
}
BESIDE = "local-"
"""Prefix of policies with locality, which look like the policies without it."""


@dataclass(frozen=True)
class Look:
    """A colour, and the index of a line style."""

    colour: str
    line: int

    @property
    def marker(self) -> int:
        """Return the index of a marker; looks of one colour, and adjacent colours of one line style, differ."""
        return (COLOURS.index(self.colour) + 3 * self.line) % MARKERS


KNOWN = {
    name: Look(hue, line) for hue, lines in NAMED.items() for line, names in enumerate(lines) for name in names.split()
}
FREE = tuple(Look(hue, line) for line in range(LINES) for hue in HUES[:-1])
"""Looks for names that are not listed."""


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Return distinct looks of these names in one figure: fixed ones for known names, hashed ones for others.

    A known name followed by a comma and further text has the colour of the known name. If there are more names than
    looks, names share looks.
    """
    found: dict[str, Look] = {}
    taken: set[Look] = set()
    listed = list(dict.fromkeys(names))
    for name in sorted(listed, key=lambda one: _find_known(one) is None):
        known = _find_known(name)
        if known is None or known in taken:
            first = zlib.crc32(name.encode("utf-8", "surrogatepass")) % len(FREE)
            stem = _find_known(name.partition(", ")[0])
            kin = () if stem is None else tuple(Look(stem.colour, line) for line in range(LINES))
            turned = kin + FREE[first:] + FREE[:first]
            known = next((look for look in turned if look not in taken), turned[0])
        taken.add(known)
        found[name] = known
    return {name: found[name] for name in listed}


def assign_looks(names: Iterable[str]) -> dict[str, Look]:
    """Return looks for names that are neither methods nor policies, in their order."""
    return {name: FREE[place % len(FREE)] for place, name in enumerate(dict.fromkeys(names))}


def _find_known(name: str) -> Look | None:
    return KNOWN.get(name.removeprefix(BESIDE))


def widths(number: int) -> list[float]:
    """Return the widths of `number` lines in drawing order, so that no line hides an equal one."""
    return [1.1 + 1.1 * max(0, min(number, 4) - 1 - place) for place in range(number)]


def things(number: int) -> list[str]:
    """Return colours for `number` tasks, pools or classes: plain, then lighter, then darker, then repeated."""
    places = ((k // len(HUES), HUES[k % len(HUES)]) for k in range(number))
    return [_tint(hue, TINTS[place % len(TINTS)]) for place, hue in places]


def _tint(colour: str, by: float) -> str:
    """Return a colour moved towards white, or towards black if `by` is negative."""
    parts = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 * (by > 0) - part) * abs(by)):02x}" for part in parts)


def ink_on(colour: str) -> str:
    """Return black or white, whichever is easier to read on a colour, by the colour's luminance."""
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return "black" if 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 > 0.18 else "white"
