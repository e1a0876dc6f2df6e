"""Methods for SIA's oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from experiments.harness.entry import Entry, select_by_name

LITERAL_BINARIES = 250_000
COSTLY_BINARIES = 20_000  # From about here on HiGHS takes a minute and more with the literal model.
COSTLY_LOCAL_BINARIES = 5_000  # The same with locality.
SLOTS = 50_000_000
SHORTEST_WINDOW_MINUTES = 5.0
WAKINGS = 10_000_000


def _binaries(data: Any) -> int:
    """Return the number of binaries X and Y of the literal model; with locality each server has its own."""
    jobs = zip(data.jobs, data.cutoffs, strict=True)
    return getattr(data, "servers", 1) * sum(2 * (cutoff - job.submit) + job.duration + 1 for job, cutoff in jobs)


def _costly_literal(data: Any) -> bool:
    return _binaries(data) > COSTLY_BINARIES


def _costly_local_literal(data: Any) -> bool:
    return _binaries(data) > COSTLY_LOCAL_BINARIES


def _unfit_literal(data: Any) -> str | None:
    binaries = _binaries(data)
    if binaries > LITERAL_BINARIES:
        return f"its windows make {binaries:,} binaries X and Y, more than {LITERAL_BINARIES:,}"
    return None


def _reject_too_wide(data: Any) -> str | None:
    """Return the job that is wider than its pool, if there is one."""
    own = {pool.name: pool.gpus for pool in data.pools}
    wide = (f"job {job.id} is wider than its pool" for job in data.jobs if job.gpus > own[job.pool])
    return next(wide, None)


def _unfit_unshared(data: Any) -> str | None:
    wide = _reject_too_wide(data)
    return None if wide is None else f"{wide}, which shares nothing"


def _span(data: Any, starts: Sequence[int]) -> int:
    """Return the slots from the first submission to the last end."""
    ends = (start + job.duration for job, start in zip(data.jobs, starts, strict=True))
    return int(max(ends) - min(job.submit for job in data.jobs))


def _unfit_slots(data: Any) -> str | None:
    span = _span(data, data.cutoffs)
    return None if span <= SLOTS else f"its jobs span {span:,} slots, more than {SLOTS:,}"


def _unfit_local_slots(data: Any) -> str | None:
    span = data.servers * _span(data, data.cutoffs)
    return None if span <= SLOTS else f"its servers have {span:,} slots together, more than {SLOTS:,}"


def _unfit_sia(data: Any) -> str | None:
    wide = _reject_too_wide(data)
    return (
        _unfit_wakings(data, data.fcfs_starts) if wide is None else f"{wide}, in which it holds up all jobs behind it"
    )


def _unfit_local_sia(data: Any) -> str | None:
    return _unfit_wakings(data, data.cutoffs)


def _unfit_wakings(data: Any, starts: Sequence[int]) -> str | None:
    wakings = int(_span(data, starts) / max(1.0, SHORTEST_WINDOW_MINUTES / data.slot_minutes))
    return None if wakings <= WAKINGS else f"it could be woken {wakings:,} times, more than {WAKINGS:,}"


_POLICIES = (
    Entry("fcfs", "heuristics.sia:fcfs", _unfit_unshared),
    Entry("ssf", "heuristics.sia:ssf", _unfit_unshared),
    Entry("sjf", "heuristics.sia:sjf", _unfit_unshared),
    Entry("gssf", "heuristics.sia:gssf"),
    Entry("mmfs", "heuristics.sia:mmfs"),
    Entry("hived", "heuristics.sia:hived"),
    Entry("themis", "heuristics.sia:themis"),
    Entry("sia-vc", "heuristics.sia:sia_vc", _unfit_slots),
    Entry("sia-vc-literal", "heuristics.sia:sia_vc_literal"),
    Entry("safe-ssf", "heuristics.sia:safe_ssf", _unfit_slots),
    Entry("sia-perfect", "heuristics.sia:sia_perfect", _unfit_sia),
    Entry("sia-fine", "heuristics.sia:sia_fine", _unfit_sia),
    Entry("sia-sliding", "heuristics.sia:sia_sliding", _unfit_sia),
    Entry("sia-perfect-arrivals", "heuristics.sia:sia_perfect_arrivals", _unfit_sia),
    Entry("sia-random-load", "heuristics.sia:sia_random_load", _unfit_sia),
    Entry("sia-random", "heuristics.sia:sia_random", _unfit_sia),
)
_LOCAL_POLICIES = (
    Entry("fcfs", "heuristics.sia:local_fcfs"),
    Entry("hived", "heuristics.sia:local_hived"),
    Entry("sia-vc", "heuristics.sia:local_sia_vc", _unfit_local_slots),
    Entry("safe-ssf", "heuristics.sia:local_safe_ssf", _unfit_local_slots),
    Entry("sia-perfect", "heuristics.sia:local_sia_perfect", _unfit_local_sia),
    Entry("sia-sliding", "heuristics.sia:local_sia_sliding", _unfit_local_sia),
)
# Heuristics of a few seconds at most; those that break a cut-off are left out when they have run.
_STARTS = select_by_name(_POLICIES, "fcfs", "sia-vc", "safe-ssf", "gssf", "ssf", "mmfs", "sia-perfect")
_LOCAL_STARTS = select_by_name(_LOCAL_POLICIES, "sia-vc", "safe-ssf", "hived", "sia-perfect")
METHODS: dict[str, tuple[Entry, ...]] = {
    "sia-oracle": (
        Entry("exact", "models.sia:exact", starts=_STARTS),
        Entry("literal", "models.sia:literal", _unfit_literal, _costly_literal),
        Entry("literal-windows", "models.sia:literal_windows", _unfit_literal, _costly_literal),
        *_POLICIES,
    ),
    "sia-local-oracle": (
        Entry("exact", "models.sia:local_exact", starts=_LOCAL_STARTS),
        Entry("literal", "models.sia:local_literal", _unfit_literal, _costly_local_literal),
        *_LOCAL_POLICIES,
    ),
}
