"""The flags of `cluster`, and the numbers that their texts mean."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from instances import InputError
from instances.kubernetes.dump import COLLECT
from instances.kubernetes.readings import Tool
from instances.text import brief

COUNT = re.compile(r"(?P<number>[0-9]{1,9})(?P<share>%?)")
SHARE = re.compile(r"([0-9]{1,3}(?:[.][0-9]{1,6})?)%")
LONGEST = 40  # characters of a flag in an error message


@dataclass(frozen=True)
class ClusterQuestion:
    """The flags of the command other than the common ones. `rules`: heuristics of `node-consolidation` by name."""

    dumps: Sequence[Path]
    types: Path | None = None
    rules: Sequence[str] = ()
    max_evictions: str | None = None
    plan: Path | None = None
    anonymous: bool = False
    prices: str | None = None
    since: Path | None = None
    fail_above: str | None = None

    @staticmethod
    def print_collect() -> None:
        """Print the command that makes a dump."""
        print(COLLECT)


def evictions_of(said: str | None, pods: int) -> int | None:
    """How many pods may be evicted: a number, or a share of those in place, rounded down. Raises InputError."""
    if said is None:
        return None
    found = COUNT.fullmatch(said)
    if found is None or (found["share"] and int(found["number"]) > 100):
        raise InputError(f"--max-evictions: must be a number of pods, or a share of them such as 10%, got {said!r}")
    return pods * int(found["number"]) // 100 if found["share"] else min(pods, int(found["number"]))


def share_of(said: str) -> float:
    """Return the share that a text such as `10%` states. Raises InputError."""
    found = SHARE.fullmatch(said)
    if found is None:
        raise InputError(f"--fail-above: must be a share of the bill such as 10%, got {brief(said, LONGEST)}")
    return float(found[1]) / 100


def tool_of(rule: str) -> Tool:
    """Return the program whose pins apply to a rule."""
    return "karpenter" if rule.startswith("karpenter") else "ca" if rule.startswith("ca-") else "drain"
