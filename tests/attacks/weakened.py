"""Run exact methods with weak heuristics, so that an optimal incumbent cannot hide a false bound.

A bound is cut off at the incumbent. So if the incumbent is optimal, no false bound can be seen. Here packings lose a
task, and dives, annealing and searches find nothing. `python -m tests.attacks.weakened [FAMILY...] COUNT SEED` holds
what methods then say against brute force.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any
from unittest import mock

import numpy as np

from instances.eva.arrays import Group, PackingArrays
from models.aryl.list_schedules import ListSearch
from models.core.fixed_bins import FixedBins, PartialPacking
from models.eva.dive import ColumnDive
from models.eva.item_dive import PoolDive
from models.kubernetes.node_patterns import NodePatterns
from tests.attacks.brute import FAMILIES
from tests.attacks.families import Tally, attack

NAMES = tuple(name for name, family in FAMILIES.items() if "exact" in family.methods and "boa" not in name)
"""BOA's methods have no heuristics of their own."""


def nothing(*given: Any, **more: Any) -> None:
    """Find nothing."""


def losing(packed: Callable[..., PartialPacking]) -> Callable[..., PartialPacking]:
    """Make a packing lose a task."""

    def weak(self: FixedBins, *given: Any) -> PartialPacking:
        found = packed(self, *given)
        if not found.placed.any():
            return found
        placed, left = found.placed.copy(), found.left.copy()
        m, c = np.argwhere(placed)[0]
        placed[m, c] -= 1
        left[c] += 1
        return replace(found, placed=placed, left=left, size=found.size + 1.0)

    return weak


def one_each(arrays: PackingArrays) -> list[Group]:
    """Put each task on an instance of its own."""
    return [(int(k), {c: 1}, int(n)) for c, (k, n) in enumerate(zip(arrays.cheapest_type, arrays.count, strict=True))]


@contextmanager
def weakened() -> Iterator[None]:
    """Run a block with weak heuristics."""
    with ExitStack() as patched:

        def patch(where: Any, name: str, weak: Any) -> None:
            owner = import_module(where) if isinstance(where, str) else where  # a package may export its function
            patched.enter_context(mock.patch.object(owner, name, weak))

        for name in ("pack_by_dot_product", "pack_by_lp_assignment", "repair_by_ejection", "fix_and_optimise"):
            patch(FixedBins, name, losing(getattr(FixedBins, name)))
        for where in ("models.eva.exact", "models.eva.net_saving", "models.eva.totals"):
            patch(where, "pack_greedily", one_each)
        for dive in (ColumnDive, PoolDive):
            patch(dive, "run", nothing)
        patch(NodePatterns, "dive", nothing)
        patch(
            "models.aryl.reclaim", "choose_greedily", lambda sets, n_jobs, k: list(range(len(sets)))[-k:] if k else []
        )
        patch("models.aryl.reclaim", "anneal_jobs", lambda sets, size, n_jobs, start, *given: set(start))
        patch(ListSearch, "improve", lambda self, first: first)
        for where in ("models.sia.cutting_loop", "models.sia.time_indexed"):
            patch(where, "improve", lambda arrays, starts, clock, **given: starts)
            patch(where, "anneal_with_penalties", lambda arrays, starts, clock, **given: (None, starts))
        for where in ("models.sia.start_tree", "models.sia.cutting_loop"):
            patch(where, "schedule_in_order", nothing)
        patch("models.sia.exact", "construct", lambda arrays, reserved, clock: reserved)
        yield


def attack_weakened(name: str, count: int, seed: int) -> Tally:
    """Hold the exact methods of a family against brute force, with weak heuristics."""
    family = replace(FAMILIES[name], slow={}, heuristics={})
    with weakened():
        return attack(family, count, seed)


def main() -> None:
    """Try the families that the command line names, or all."""
    *wanted, count, seed = sys.argv[1:]
    wrong = 0
    for name in NAMES:
        if not wanted or name.startswith(tuple(wanted)):
            tally = attack_weakened(name, int(count), int(seed))
            wrong += len(tally.wrong)
            print(*tally.wrong, sep="\n", end="\n")
            print(f"{name}: {tally.runs} runs, {len(tally.unproven)} unproven, {len(tally.wrong)} wrong", flush=True)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
