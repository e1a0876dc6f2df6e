"""Methods for BOA's allocation."""

from __future__ import annotations

from experiments.harness.entry import Entry
from instances.boa import BoaAllocation, affordable_width, oversize

LITERAL_WIDTHS = 5_000  # With this number of binaries x or more, the literal program takes a minute or longer.


def _costly_literal(data: BoaAllocation) -> bool:
    if data.convex or _unfit_literal(data):
        return False
    return sum(len(c.epochs) for c in data.classes) * affordable_width(data) > LITERAL_WIDTHS


def _endless(data: BoaAllocation) -> str | None:
    """Say why the instance has no optimum, if a job runs ever faster at no additional cost without a limit."""
    for c in data.classes:
        for epoch in c.epochs:
            for curve in (epoch.speedup.on(t.name) for t in data.gpu_types):
                if 1.0 in (curve.amdahl, curve.power) and not c.rescale_hours and data.max_width is None:
                    return f"max_width must be given, since a speedup of class {c.name} is linear"
    return None


def _unfit_exact(data: BoaAllocation) -> str | None:
    return _endless(data) or (None if data.convex or data.real else oversize(data))


def _unfit_literal(data: BoaAllocation) -> str | None:
    return data.reason_for_exact_only or _unfit_exact(data)


def _unfit_mixed(data: BoaAllocation) -> str | None:
    return _unfit_types(data) or data.reason_for_exact_only or _endless(data)


def _unfit_types(data: BoaAllocation) -> str | None:
    return "it chooses among widths of one GPU type" if data.heterogeneous else None


def _unfit_heuristic(data: BoaAllocation) -> str | None:
    return _unfit_types(data) or _endless(data) or oversize(data)


_ONE_WIDTH = Entry("one-width", "heuristics.boa:one_width", _unfit_heuristic)
METHODS: dict[str, tuple[Entry, ...]] = {
    "boa-allocation": (
        Entry("exact", "models.boa:exact", _unfit_exact, starts=(_ONE_WIDTH,)),
        Entry("literal", "models.boa:literal", _unfit_literal, costly=_costly_literal, starts=(_ONE_WIDTH,)),
        Entry("width-calculator", "heuristics.boa:width_calculator", _unfit_heuristic),
        Entry("width-calculator-whole-job", "heuristics.boa:width_calculator_whole_job", _unfit_heuristic),
        Entry("width-calculator-nearest", "heuristics.boa:width_calculator_nearest", _unfit_heuristic),
        Entry("width-calculator-artifact", "heuristics.boa:width_calculator_artifact", _unfit_heuristic),
        _ONE_WIDTH,
        Entry("equal-share", "heuristics.boa:equal_share", _unfit_heuristic),
        Entry("randomised", "models.boa:randomised", _unfit_mixed),
    ),
}
