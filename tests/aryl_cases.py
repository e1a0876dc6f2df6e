"""Small instances of Aryl's problems for property tests, and optima by enumeration that share no code with models."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

from hypothesis import strategies as st

from instances import check
from instances.aryl import ArylElastic, ArylPlacement, ArylReclaim, ElasticJob, HostServer, LoanedJob, PlacedJob


@st.composite
def elastic(draw: st.DrawFn, objective: str, most_jobs: int = 3, most_extra: int = 2) -> ArylElastic:
    """Up to `most_jobs` jobs of 1 to 2 base workers and up to `most_extra` more, linear or imperfect scaling."""
    jobs = []
    for i in range(draw(st.integers(1, most_jobs))):
        least = draw(st.integers(1, 2))
        jobs.append(
            ElasticJob(
                id=f"j{i}",
                min_workers=least,
                max_workers=least + draw(st.integers(0, most_extra)),
                gpus_per_worker=draw(st.integers(1, 3)),
                min_running_time=float(draw(st.integers(1, 40))),
            )
        )
    base = [job.base_gpus for job in jobs]
    least_gpus = sum(base) if objective == "jct-reduction" else max(base)
    capacity = least_gpus + draw(st.integers(0, 8))
    loss = draw(st.sampled_from([0.0, 0.1, 0.5]))
    return ArylElastic(capacity_gpus=float(capacity), jobs=tuple(jobs), objective=objective, scaling_loss=loss)


@st.composite
def reclaims(draw: st.DrawFn, most_servers: int = 8, most_jobs: int = 8) -> ArylReclaim:
    """Up to `most_servers` servers and `most_jobs` jobs on up to four of them."""
    servers = tuple(f"s{i}" for i in range(draw(st.integers(1, most_servers))))
    some = st.lists(st.sampled_from(servers), min_size=1, max_size=4, unique=True)
    jobs = tuple(LoanedJob(id=f"j{i}", servers=tuple(draw(some))) for i in range(draw(st.integers(0, most_jobs))))
    return ArylReclaim(servers=servers, jobs=jobs, reclaim=draw(st.integers(0, len(servers))))


@st.composite
def losses(draw: st.DrawFn, most_servers: int = 7, most_jobs: int = 6) -> ArylReclaim:
    """Jobs on up to four servers each, some of which say how many workers they need, under either objective."""
    servers = tuple(f"s{i}" for i in range(draw(st.integers(1, most_servers))))
    some = st.lists(st.sampled_from(servers), min_size=1, max_size=4, unique=True)
    jobs = []
    for i in range(draw(st.integers(0, most_jobs))):
        on = draw(some)
        base = draw(st.integers(0, len(on)))
        workers = {server: draw(st.integers(1, 3)) for server in on} if draw(st.booleans()) else None
        jobs.append(
            LoanedJob(
                id=f"j{i}",
                servers=tuple(on[:base]),
                flexible_servers=tuple(on[base:]),
                workers=workers,
                min_workers=None if workers is None else draw(st.integers(0, sum(workers.values()))),
                gpu_hours=draw(st.sampled_from([0.0, 0.5, 1.0, 2.25, 40.0, 1e-9, 1e9])),
            )
        )
    objective = draw(st.sampled_from(["preempted-jobs", "lost-gpu-hours"]))
    reclaim = draw(st.integers(0, len(servers)))
    return ArylReclaim(servers=servers, jobs=tuple(jobs), reclaim=reclaim, objective=objective)


def best_mean_jct(data: ArylElastic) -> float:
    """The least mean JCT over every allocation of whole workers at time 0 and at each completion."""
    jobs = {job.id: job for job in data.jobs}
    choices = {n: range(j.min_workers, j.max_workers + 1) for n, j in jobs.items()}

    def speed(name: str, w: int) -> Fraction:
        job = jobs[name]
        over = w - (job.min_workers + job.max_workers) // 2
        return w * (1 - Fraction(repr(data.scaling_loss)) * over) if over > 0 else Fraction(w)

    def total(left: dict[str, Fraction], running: frozenset[str]) -> Fraction:
        if not left:
            return Fraction(0)
        best = None
        options = [[*choices[name]] if name in running else [0, *choices[name]] for name in left]
        for picked in itertools.product(*options):
            workers = {name: w for name, w in zip(left, picked, strict=True) if w}
            if not workers or sum(w * jobs[n].gpus_per_worker for n, w in workers.items()) > data.capacity_gpus:
                continue
            rates = {n: speed(n, w) for n, w in workers.items()}
            if min(rates.values()) <= 0:
                continue
            length = min(left[n] / rate for n, rate in rates.items())
            after = {n: work - length * rates.get(n, 0) for n, work in left.items()}
            after = {n: work for n, work in after.items() if work > 0}
            value = length * len(left) + total(after, frozenset(n for n in workers if n in after))
            best = value if best is None else min(best, value)
        assert best is not None  # every base demand fits alone
        return best

    work = {n: Fraction(j.min_running_time) * j.max_workers for n, j in jobs.items()}
    return float(total(work, frozenset()) / len(jobs))


def best_reduction(data: ArylElastic) -> float:
    """The largest reduction over every combination of numbers of workers, each judged by the checker alone."""
    ranges = [range(job.min_workers, job.max_workers + 1) for job in data.jobs]
    verdicts = (
        check(data, {"workers": dict(zip((job.id for job in data.jobs), workers, strict=True))})
        for workers in itertools.product(*ranges)
    )
    return max(v.objective for v in verdicts if not v.violations and v.objective is not None)


def fewest_preemptions(data: ArylReclaim) -> float:
    """The fewest preempted jobs over every choice of servers, each judged by the checker alone."""
    chosen = itertools.combinations(data.servers, data.reclaim)
    return min(check(data, {"servers": list(servers)}).objective or 0.0 for servers in chosen)


@st.composite
def placements(draw: st.DrawFn, most_servers: int = 3, most_jobs: int = 2) -> ArylPlacement:
    """A few servers of either kind, some in use, and jobs of up to two base and two flexible workers."""
    servers = []
    for i in range(draw(st.integers(1, most_servers))):
        kind, gpus = draw(st.sampled_from(["training", "loaned"])), draw(st.integers(2, 8))
        free = draw(st.integers(0, gpus))
        group = draw(st.sampled_from([None, "base", "flexible"])) if kind == "loaned" and free < gpus else None
        servers.append(HostServer(id=f"s{i}", kind=kind, gpus=gpus, free_gpus=free, group=group))
    jobs = []
    for i in range(draw(st.integers(1, most_jobs))):
        base, elastic = draw(st.integers(0, 2)), draw(st.booleans())
        flexible = draw(st.integers(0, 2)) if elastic else 0
        kinds = draw(st.sampled_from([("training",), ("loaned",), ("training", "loaned"), ("loaned", "training")]))
        jobs.append(
            PlacedJob(
                id=f"j{i}",
                gpus_per_worker=draw(st.integers(1, 5)),
                loaned_gpus_per_worker=draw(st.sampled_from([None, 1, 6])),
                base_workers=base or int(not flexible),
                flexible_workers=flexible,
                elastic=elastic,
                kinds=kinds,
                heterogeneous=len(kinds) == 2 and draw(st.booleans()),
            )
        )
    costs = draw(st.sampled_from([(10, 100), (0, 1), (3, 2)]))
    return ArylPlacement(
        servers=tuple(servers),
        jobs=tuple(jobs),
        misplaced_cost=costs[0],
        unplaced_cost=costs[1],
        grouped=draw(st.booleans()),
    )


def least_cost(data: ArylPlacement) -> float:
    """The least cost over every way to place the workers, each judged by the checker alone."""
    names = [server.id for server in data.servers]

    def choices(job: PlacedJob) -> Iterator[tuple[dict[str, int], dict[str, int]]]:
        for base in (0, job.base_workers):
            for flexible in range(job.flexible_workers + 1):
                for at in itertools.combinations_with_replacement(names, base):
                    for more in itertools.combinations_with_replacement(names, flexible):
                        yield {s: at.count(s) for s in set(at)}, {s: more.count(s) for s in set(more)}

    best = float("inf")
    for picked in itertools.product(*(list(choices(job)) for job in data.jobs)):
        chosen = list(zip((job.id for job in data.jobs), picked, strict=True))
        solution = {"base": {n: b for n, (b, _) in chosen if b}, "flexible": {n: f for n, (_, f) in chosen if f}}
        verdict = check(data, solution)
        if not verdict.violations:
            assert verdict.objective is not None
            best = min(best, verdict.objective)
    return best
