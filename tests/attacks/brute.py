"""Compare exact methods with brute force: `python -m tests.attacks.brute [slow|command] [FAMILY...] COUNT SEED`.

A FAMILY is the beginning of a family's name, `eva-packing` or `eva-packing cost`; without one all are tried. With
`slow` the slow methods alone, which are the literal ones, are tried on every instance. With `command` the exact method
is tried the way of `gapwise solve`, with the starts and limits of a user; otherwise methods get no start. Prints a line
for each family and for each false word, and ends with status 1 if there is one.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from instances import Stopwatch
from tests.attacks import brute_aryl, brute_boa, brute_eva, brute_kubernetes, brute_sia
from tests.attacks.families import Family, attack, attack_as_commanded

FAMILIES: dict[str, Family] = {
    family.name: family
    for paper in (brute_eva, brute_aryl, brute_boa, brute_sia, brute_kubernetes)
    for family in paper.FAMILIES
}


def main() -> None:
    """Try the families that the command line names."""
    *wanted, count, seed = sys.argv[1:]
    slow, commanded = wanted[:1] == ["slow"], wanted[:1] == ["command"]
    wanted = wanted[slow or commanded :]
    chosen = [family for name, family in FAMILIES.items() if not wanted or name.startswith(tuple(wanted))]
    if slow:
        chosen = [replace(f, methods=f.slow, slow={}, heuristics={}) for f in chosen if f.slow]
    if commanded:
        chosen = [family for family in chosen if "exact" in family.methods]
    if not chosen:
        sys.exit(f"no such family; there are {', '.join(FAMILIES)}")
    wrong = 0
    for family in chosen:
        with Stopwatch() as clock:
            tally = (attack_as_commanded if commanded else attack)(family, int(count), int(seed))
        wrong += len(tally.wrong)
        print(*tally.wrong, *(f"open: {line}" for line in tally.unproven), sep="\n", end="\n")
        print(
            f"{family.name}: {tally.instances} instances, {tally.infeasible} infeasible, {tally.runs} runs, "
            f"{tally.refused} refused, {len(tally.unproven)} unproven, {len(tally.wrong)} wrong, "
            f"{clock.cpu_s:.1f} CPU s",
            flush=True,
        )
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
