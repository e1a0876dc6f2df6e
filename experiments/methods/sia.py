"""Methods for SIA's oracle."""

from __future__ import annotations

from typing import Any

from experiments.methods.method import EXACT, SEEDED, Method, exact, heuristic

LITERAL_BINARIES = 250_000
COSTLY_BINARIES = 20_000  # HiGHS takes a minute and more with the literal model from about here on
STARTS = 5_000_000
SLOTS = 50_000_000


def _unfit_exact(data: Any) -> str | None:
    starts = sum(cutoff - job.submit + 1 for job, cutoff in zip(data.jobs, data.cutoffs, strict=True))
    return f"the windows of its jobs hold {starts:,} starts, more than {STARTS:,}" if starts > STARTS else None


def _binaries(data: Any) -> int:
    jobs = zip(data.jobs, data.cutoffs, strict=True)
    return sum(2 * (cutoff - job.submit) + job.duration + 1 for job, cutoff in jobs)


def _costly_literal(data: Any) -> bool:
    return _binaries(data) > COSTLY_BINARIES


def _unfit_literal(data: Any) -> str | None:
    binaries = _binaries(data)
    if binaries > LITERAL_BINARIES:
        return f"its windows make {binaries:,} binaries X and Y, more than {LITERAL_BINARIES:,}"
    return None


def _unfit_unshared(data: Any) -> str | None:
    own = {pool.name: pool.gpus for pool in data.pools}
    wide = next((job for job in data.jobs if job.gpus > own[job.pool]), None)
    return None if wide is None else f"job {wide.id} is wider than its pool, which shares nothing"


def _unfit_slots(data: Any) -> str | None:
    last = max(cutoff + job.duration for job, cutoff in zip(data.jobs, data.cutoffs, strict=True))
    span = last - min(job.submit for job in data.jobs)
    return None if span <= SLOTS else f"its jobs span {span:,} slots, more than {SLOTS:,}"


BUILDERS = {"sia-oracle": "models.sia:build_literal"}
METHODS: dict[str, tuple[Method, ...]] = {
    "sia-oracle": (
        exact("exact", "models.sia:exact", _unfit_exact),
        exact("literal", "models.sia:literal", _unfit_literal, _costly_literal),
        Method("literal-windows", "models.sia:literal_windows", "heuristic", EXACT, _unfit_literal, _costly_literal),
        heuristic("fcfs", "heuristics.sia:fcfs", _unfit_unshared),
        heuristic("ssf", "heuristics.sia:ssf", _unfit_unshared),
        heuristic("sjf", "heuristics.sia:sjf", _unfit_unshared),
        heuristic("gssf", "heuristics.sia:gssf"),
        heuristic("mmfs", "heuristics.sia:mmfs"),
        heuristic("hived", "heuristics.sia:hived"),
        heuristic("themis", "heuristics.sia:themis"),
        heuristic("sia-vc", "heuristics.sia:sia_vc", _unfit_slots),
        heuristic("sia-vc-literal", "heuristics.sia:sia_vc_literal"),
        heuristic("safe-ssf", "heuristics.sia:safe_ssf", _unfit_slots),
        heuristic("sia-perfect", "heuristics.sia:sia_perfect"),
        heuristic("sia-sliding", "heuristics.sia:sia_sliding"),
        heuristic("sia-random-load", "heuristics.sia:sia_random_load", honours=SEEDED),
        heuristic("sia-random", "heuristics.sia:sia_random", honours=SEEDED),
    ),
}
