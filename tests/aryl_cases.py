"""Draw small instances of Aryl's problems, with optima by enumeration that share no code with models."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

from hypothesis import strategies as st

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


def speed(data: ArylElastic, job: ElasticJob, workers: int) -> Fraction:
    """Return the work of a job per second, in worker-seconds."""
    over = workers - (job.min_workers + job.max_workers) // 2
    return workers * (1 - Fraction(repr(data.scaling_loss)) * over) if over > 0 else Fraction(workers)


def best_mean_jct(data: ArylElastic) -> Fraction:
    """Return the minimum mean JCT over all integer allocations at time 0 and at each completion."""
    jobs, capacity = {job.id: job for job in data.jobs}, Fraction(data.capacity_gpus)
    rates = {
        n: {w: rate for w in range(j.min_workers, j.max_workers + 1) if (rate := speed(data, j, w)) > 0}
        for n, j in jobs.items()
    }

    def total(left: dict[str, Fraction], running: frozenset[str]) -> Fraction:
        if not left:
            return Fraction(0)
        best = None
        options = [[*rates[name]] if name in running else [0, *rates[name]] for name in left]
        for picked in itertools.product(*options):
            workers = {name: w for name, w in zip(left, picked, strict=True) if w}
            if not workers or sum(w * jobs[n].gpus_per_worker for n, w in workers.items()) > capacity:
                continue
            length = min(left[n] / rates[n][w] for n, w in workers.items())
            if best is not None and length * len(left) >= best:
                continue
            after = {n: work - length * rates[n][workers[n]] if n in workers else work for n, work in left.items()}
            after = {n: work for n, work in after.items() if work > 0}
            value = length * len(left) + total(after, frozenset(n for n in workers if n in after))
            best = value if best is None else min(best, value)
        assert best is not None  # every base demand fits alone
        return best

    work = {n: Fraction(j.min_running_time) * j.max_workers for n, j in jobs.items()}
    return total(work, frozenset()) / len(jobs)


def best_reduction(data: ArylElastic) -> Fraction:
    """Return the largest reduction over all numbers of workers that fit and make progress."""
    best = None
    for workers in itertools.product(*(range(job.min_workers, job.max_workers + 1) for job in data.jobs)):
        given = list(zip(data.jobs, workers, strict=True))
        if sum(w * job.gpus_per_worker for job, w in given) > Fraction(data.capacity_gpus):
            continue
        speeds = [(job, speed(data, job, job.min_workers), speed(data, job, w)) for job, w in given]
        if any(rate <= 0 for _, _, rate in speeds):
            continue
        work = [Fraction(job.min_running_time) * job.max_workers for job in data.jobs]
        saved = sum((w / least - w / rate for w, (_, least, rate) in zip(work, speeds, strict=True)), Fraction(0))
        best = saved if best is None else max(best, saved)
    assert best is not None  # the base demands fit together
    return best


def fewest_preemptions(data: ArylReclaim) -> Fraction:
    """Return the minimum loss over all choices of servers: preempted jobs, or their work."""
    return min(_lost(data, set(chosen)) for chosen in itertools.combinations(data.servers, data.reclaim))


def _lost(data: ArylReclaim, gone: set[str]) -> Fraction:
    lost = Fraction(0)
    for job in data.jobs:
        if job.workers is None or job.min_workers is None:
            preempted = any(server in gone for server in job.servers)
        else:
            preempted = sum(n for server, n in job.workers.items() if server not in gone) < job.min_workers
        if preempted:
            lost += Fraction(1) if data.objective == "preempted-jobs" else Fraction(repr(job.gpu_hours))
    return lost


@st.composite
def placements(draw: st.DrawFn, most_servers: int = 3, most_jobs: int = 2) -> ArylPlacement:
    """Draw a few servers of both kinds, some in use, and jobs of up to two base and two flexible workers."""
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


def least_cost(data: ArylPlacement) -> Fraction:
    """Return the minimum cost over all ways to place the workers of one job after the other."""
    best: int | None = None

    def place(k: int, cost: int, used: dict[str, int], parts: dict[str, frozenset[str]]) -> None:
        nonlocal best
        if best is not None and cost >= best:
            return
        if k == len(data.jobs):
            best = cost
            return
        for more, gpus, held in _ways(data, data.jobs[k]):
            now = {name: used[name] + gpus.get(name, 0) for name in used}
            both = {name: parts[name] | held.get(name, frozenset()) for name in parts}
            if all(now[s.id] <= s.free_gpus and _may_host(data, s, both[s.id]) for s in data.servers):
                opened = sum(s.free_gpus == s.gpus and s.id in held and not used[s.id] for s in data.servers)
                place(k + 1, cost + more + opened, now, both)

    place(0, 0, {s.id: 0 for s in data.servers}, {s.id: frozenset() for s in data.servers})
    assert best is not None  # nobody need be placed
    return Fraction(best)


def _may_host(data: ArylPlacement, server: HostServer, parts: frozenset[str]) -> bool:
    """Return whether base and flexible workers stay apart where they have to."""
    if server.kind == "training" or not data.grouped or not parts:
        return True
    return len(parts | ({server.group or "base"} if server.free_gpus < server.gpus else frozenset())) <= 1


def _ways(data: ArylPlacement, job: PlacedJob) -> Iterator[tuple[int, dict[str, int], dict[str, frozenset[str]]]]:
    """Every way to place a job: cost without servers, and GPUs and parts by server."""
    servers = [server for server in data.servers if server.kind in job.kinds]
    for base in {0, job.base_workers}:
        for flexible in range(job.flexible_workers + 1 if base or not job.base_workers else 1):
            for at in itertools.combinations_with_replacement(servers, base):
                for more in itertools.combinations_with_replacement(servers, flexible):
                    if len({server.kind for server in (*at, *more)}) > 1 and not job.heterogeneous:
                        continue
                    missing = job.base_workers - base + job.flexible_workers - flexible
                    cost = data.unplaced_cost * job.gpus_per_worker * missing
                    gpus, parts = dict[str, int](), dict[str, frozenset[str]]()
                    for part, hosts in (("base", at), ("flexible", more)):
                        on_loan = job.elastic and not (job.heterogeneous and part == "base")
                        wanted = "loaned" if on_loan else "training"
                        for server in hosts:
                            loaned = server.kind == "loaned" and job.loaned_gpus_per_worker
                            gpus[server.id] = gpus.get(server.id, 0) + (loaned or job.gpus_per_worker)
                            parts[server.id] = parts.get(server.id, frozenset()) | {part}
                            if server.kind != wanted and wanted in job.kinds:
                                cost += data.misplaced_cost * job.gpus_per_worker
                    yield cost, gpus, parts
