"""Methods for Aryl's elastic jobs and loaned servers."""

from __future__ import annotations

from typing import Any

from experiments.methods.method import SEEDED, Method, exact, heuristic

LITERAL_JOBS = 5  # jobs from which the literal mean-JCT program takes a minute and more
LITERAL_ROWS = 600  # pairs of a job and a server from which the literal reclaiming program may
LITERAL_ITEMS = 20_000
ELASTIC_STARTS = ("two-phase", "afs", "gandiva", "equal-split")
RECLAIM_STARTS = ("reclaim-greedy", "reclaim-literal-order", "reclaim-gpu-fraction", "reclaim-scf")


def _unfit_elastic_exact(data: Any) -> str | None:
    from models.aryl.knapsack import too_many

    return too_many(data) if data.objective == "jct-reduction" else None


def _unfit_elastic_literal(data: Any) -> str | None:
    items = sum(len(workers) for workers in data.choices())
    if data.objective == "mean-jct":
        items *= len(data.jobs)
    return f"{items:,} binaries, more than {LITERAL_ITEMS:,}" if items > LITERAL_ITEMS else None


def _costly_elastic_literal(data: Any) -> bool:
    return data.objective == "mean-jct" and len(data.jobs) > LITERAL_JOBS


def _unfit_two_phase(data: Any) -> str | None:
    from heuristics.aryl.allocation import too_many_cells

    return too_many_cells(data)


def _unfit_afs(data: Any) -> str | None:
    from heuristics.aryl.allocation import too_many_steps

    return too_many_steps(data) if data.scaling_loss else None


def _unfit_equal_split(data: Any) -> str | None:
    from heuristics.aryl.allocation import too_many_steps

    return too_many_steps(data)


def _unfit_reclaim_literal(data: Any) -> str | None:
    rows = sum(len(job.servers) for job in data.jobs)
    return f"{rows:,} rows, more than {LITERAL_ITEMS:,}" if rows > LITERAL_ITEMS else None


def _costly_reclaim_literal(data: Any) -> bool:
    return sum(len(job.servers) for job in data.jobs) > LITERAL_ROWS


BUILDERS = {"aryl-elastic": "models.aryl:build_elastic", "aryl-reclaim": "models.aryl:build_reclaim"}
METHODS: dict[str, tuple[Method, ...]] = {
    "aryl-elastic": (
        exact("exact", "models.aryl:exact", _unfit_elastic_exact, starts=ELASTIC_STARTS),
        exact("literal", "models.aryl:literal", _unfit_elastic_literal, _costly_elastic_literal),
        heuristic("two-phase", "heuristics.aryl:two_phase", _unfit_two_phase),
        heuristic("afs", "heuristics.aryl:afs", _unfit_afs),
        heuristic("gandiva", "heuristics.aryl:gandiva"),
        heuristic("equal-split", "heuristics.aryl:equal_split", _unfit_equal_split),
    ),
    "aryl-reclaim": (
        exact("exact", "models.aryl:exact", starts=RECLAIM_STARTS),
        exact("literal", "models.aryl:literal", _unfit_reclaim_literal, _costly_reclaim_literal),
        heuristic("reclaim-greedy", "heuristics.aryl:reclaim_greedy"),
        heuristic("reclaim-literal-order", "heuristics.aryl:reclaim_literal_order"),
        heuristic("reclaim-gpu-fraction", "heuristics.aryl:reclaim_gpu_fraction"),
        heuristic("reclaim-scf", "heuristics.aryl:reclaim_scf"),
        heuristic("reclaim-random", "heuristics.aryl:reclaim_random", honours=SEEDED),
    ),
}
