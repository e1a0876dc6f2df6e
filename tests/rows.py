"""List the heuristics of a problem from its methods, so that a test covers a new one unchanged."""

from __future__ import annotations

from typing import Any

from experiments.harness.user_functions import resolve
from experiments.papers import METHODS


def heuristics_of(problem: str) -> dict[str, Any]:
    """Return all heuristics of a problem by name."""
    return {entry.name: resolve(entry.target) for entry in METHODS[problem] if entry.is_heuristic}
