"""How methods and policies look, by their names: one palette for every picture and for the report.

The colours are those of Okabe and Ito that stand out on white, which readers of any colour vision tell apart, with ink
and grey. Of one colour there are four line styles, each with a marker and, where something is filled, a hatch of its
own, so that nothing is told by colour alone. Ink is what is proven, blue the algorithm of a paper, grey the baseline.
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
"""Of things that are neither methods nor policies: a colour as it is, lighter, darker."""

# names of each colour, a text for each line style; those of one text are never in one picture
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
"""A policy with locality looks as it does without."""


@dataclass(frozen=True)
class Look:
    """A colour, and the place of a line style."""

    colour: str
    line: int

    @property
    def marker(self) -> int:
        """The place of a marker: no two looks of a colour have one, nor neighbours among the colours of one line."""
        return (COLOURS.index(self.colour) + 3 * self.line) % MARKERS


KNOWN = {
    name: Look(hue, line) for hue, lines in NAMED.items() for line, names in enumerate(lines) for name in names.split()
}
FREE = tuple(Look(hue, line) for line in range(LINES) for hue in HUES[:-1])
"""What names that are in no list have."""


def looks(names: Iterable[str]) -> dict[str, Look]:
    """How each of these looks in one picture: known names as everywhere, others as their letters say, all apart.

    What is a known name and more, after a comma, has the colour of that. More names than there are looks share them.
    """
    found: dict[str, Look] = {}
    taken: set[Look] = set()
    listed = list(dict.fromkeys(names))
    for name in sorted(listed, key=lambda one: _known(one) is None):
        known = _known(name)
        if known is None or known in taken:
            first = zlib.crc32(name.encode("utf-8", "surrogatepass")) % len(FREE)
            stem = _known(name.partition(", ")[0])
            kin = () if stem is None else tuple(Look(stem.colour, line) for line in range(LINES))
            turned = kin + FREE[first:] + FREE[:first]
            known = next((look for look in turned if look not in taken), turned[0])
        taken.add(known)
        found[name] = known
    return {name: found[name] for name in listed}


def in_order(names: Iterable[str]) -> dict[str, Look]:
    """Looks of what is neither a method nor a policy, in the order of these."""
    return {name: FREE[place % len(FREE)] for place, name in enumerate(dict.fromkeys(names))}


def _known(name: str) -> Look | None:
    return KNOWN.get(name.removeprefix(BESIDE))


def widths(number: int) -> list[float]:
    """Widths of so many lines in the order in which they are drawn, so that none hides one that is equal to it."""
    return [1.1 + 1.1 * max(0, min(number, 4) - 1 - place) for place in range(number)]


def things(number: int) -> list[str]:
    """Colours of so many tasks, pools or classes: as they are, then lighter, then darker, then again."""
    places = ((k // len(HUES), HUES[k % len(HUES)]) for k in range(number))
    return [_tinted(hue, TINTS[place % len(TINTS)]) for place, hue in places]


def _tinted(colour: str, by: float) -> str:
    """A colour moved towards white, or towards black where `by` is negative."""
    parts = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(part + (255 * (by > 0) - part) * abs(by)):02x}" for part in parts)


def ink_on(colour: str) -> str:
    """Black or white, whichever is read better on a colour, by the luminance of both."""
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return "black" if 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2 > 0.18 else "white"
