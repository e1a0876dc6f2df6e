"""Methods for Aryl's elastic jobs, loaned servers and placement."""

from __future__ import annotations

from functools import partial
from typing import Any

from experiments.harness.entry import Entry, select_by_name
from experiments.harness.user_functions import resolve

LITERAL_JOBS = 5
"""With more jobs the literal mean-JCT program takes a minute and more."""
LITERAL_ROWS = 600
"""With more pairs of a job and a server the literal reclaiming program may take a minute and more."""
LITERAL_PAIRS = 400
"""With more pairs of a job and a server the literal placement program may take a minute and more."""
LITERAL_ITEMS = 20_000
"""With more binaries of allocations, or more rows of reclaiming, a literal model is not built."""


def _ask(target: str, data: Any) -> str | None:
    """Ask a function, given as `module:function` and loaded only now, why a method does not fit an instance."""
    found: str | None = resolve(target)(data)
    return found


_unfit_two_phase = partial(_ask, "heuristics.aryl.two_phase:explain_large_table")
_unfit_equal_split = partial(_ask, "heuristics.aryl.schemes:explain_many_steps")
_unfit_placement_exact = partial(_ask, "models.aryl.placement:explain_too_many_patterns")


def _unfit_afs(data: Any) -> str | None:
    return _unfit_equal_split(data) if data.scaling_loss else None


def _unfit_elastic_exact(data: Any) -> str | None:
    return _ask("models.aryl.knapsack:explain_too_many_items", data) if data.objective == "jct-reduction" else None


def _reject_too_many(number: int, what: str) -> str | None:
    return f"{number:,} {what}, more than {LITERAL_ITEMS:,}" if number > LITERAL_ITEMS else None


def _unfit_elastic_literal(data: Any) -> str | None:
    items = sum(len(workers) for workers in data.choices())
    return _reject_too_many(items * len(data.jobs) if data.objective == "mean-jct" else items, "binaries")


def _costly_elastic_literal(data: Any) -> bool:
    return data.objective == "mean-jct" and len(data.jobs) > LITERAL_JOBS


def _unfit_placement_literal(data: Any) -> str | None:
    return _reject_too_many(len(data.jobs) * len(data.servers), "pairs of a job and a server")


def _costly_placement_literal(data: Any) -> bool:
    return len(data.jobs) * len(data.servers) > LITERAL_PAIRS


def _rows(data: Any) -> int:
    return sum(len(job.needs()[0]) for job in data.jobs)


def _unfit_reclaim_literal(data: Any) -> str | None:
    return _reject_too_many(_rows(data), "rows")


def _costly_reclaim_literal(data: Any) -> bool:
    return _rows(data) > LITERAL_ROWS


_RULES = (
    Entry("two-phase", "heuristics.aryl:two_phase", _unfit_two_phase),
    Entry("fifo", "heuristics.aryl:fifo"),
    Entry("afs", "heuristics.aryl:afs", _unfit_afs),
    Entry("afs-gpus", "heuristics.aryl:afs_gpus", _unfit_afs),
    Entry("afs-shorter", "heuristics.aryl:afs_shorter", _unfit_afs),
    Entry("gandiva", "heuristics.aryl:gandiva"),
    Entry("gandiva-sjf", "heuristics.aryl:gandiva_sjf"),
    Entry("equal-split", "heuristics.aryl:equal_split", _unfit_equal_split),
    Entry("equal-split-sjf", "heuristics.aryl:equal_split_sjf", _unfit_equal_split),
)
_ORDERS = (
    Entry("reclaim-greedy", "heuristics.aryl:reclaim_greedy"),
    Entry("reclaim-literal-order", "heuristics.aryl:reclaim_literal_order"),
    Entry("reclaim-gpu-fraction", "heuristics.aryl:reclaim_gpu_fraction"),
    Entry("reclaim-scf", "heuristics.aryl:reclaim_scf"),
    Entry("reclaim-random", "heuristics.aryl:reclaim_random"),
)
_RECLAIM_STARTS = select_by_name(
    _ORDERS, "reclaim-greedy", "reclaim-literal-order", "reclaim-gpu-fraction", "reclaim-scf"
)
_BEST_FIT = Entry("best-fit-decreasing", "heuristics.aryl:best_fit_decreasing")
METHODS: dict[str, tuple[Entry, ...]] = {
    "aryl-elastic": (
        Entry("exact", "models.aryl:exact", _unfit_elastic_exact, starts=_RULES),
        Entry("literal", "models.aryl:literal", _unfit_elastic_literal, _costly_elastic_literal),
        *_RULES,
    ),
    "aryl-reclaim": (
        Entry("exact", "models.aryl:exact", starts=_RECLAIM_STARTS),
        Entry("literal", "models.aryl:literal", _unfit_reclaim_literal, _costly_reclaim_literal),
        *_ORDERS,
    ),
    "aryl-placement": (
        Entry("exact", "models.aryl:exact", _unfit_placement_exact, starts=(_BEST_FIT,)),
        Entry("literal", "models.aryl:literal", _unfit_placement_literal, _costly_placement_literal),
        _BEST_FIT,
    ),
}
