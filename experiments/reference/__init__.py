"""The reference study: for each paper the instance sets that `gap_study` runs when it is given none."""

from __future__ import annotations

import importlib

from experiments.instance_set import InstanceSet

PAPERS = ("eva", "boa", "aryl", "sia")


def instance_sets(quick: bool = False) -> list[InstanceSet]:
    """The reference sets of all papers; `quick`: fewer instances of each, for a smoke test."""
    return [
        s for paper in PAPERS for s in importlib.import_module(f"experiments.reference.{paper}").instance_sets(quick)
    ]
