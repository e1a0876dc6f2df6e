"""Methods for BOA's allocation."""

from __future__ import annotations

from typing import Any

from experiments.methods.method import SEEDED, Method, exact, heuristic

LITERAL_WIDTHS = 5_000  # binaries x from which the literal program takes a minute and more


def _costly_literal(data: Any) -> bool:
    tables = [e.speedup.table for c in data.classes for e in c.epochs if e.speedup.table]
    widest = max((min(points.gpus[-1], data.max_width or points.gpus[-1]) for points in tables), default=1)
    return not data.convex and sum(len(c.epochs) for c in data.classes) * widest > LITERAL_WIDTHS


def _unfit_types(data: Any) -> str | None:
    return "it chooses among widths of one GPU type" if data.heterogeneous else None


BUILDERS = {"boa-allocation": "models.boa:build_literal"}
METHODS: dict[str, tuple[Method, ...]] = {
    "boa-allocation": (
        Method("exact", "models.boa:exact", "exact", frozenset({"time_limit", "gap"})),
        exact("literal", "models.boa:literal", costly=_costly_literal),
        heuristic("width-calculator", "heuristics.boa:width_calculator", _unfit_types, SEEDED),
        heuristic("width-calculator-whole-job", "heuristics.boa:width_calculator_whole_job", _unfit_types, SEEDED),
        heuristic("one-width", "heuristics.boa:one_width", _unfit_types),
        heuristic("equal-share", "heuristics.boa:equal_share", _unfit_types),
        heuristic("randomised", "models.boa:randomised", _unfit_types),
    ),
}
