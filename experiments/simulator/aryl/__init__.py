"""Aryl's world: a training cluster borrows unused servers of an inference cluster, and returns them.

At one time, completions come first, then arrivals, and then the orchestrator lends or reclaims servers.
Decisions follow every event, or happen at the multiples of the scheduling period. A reclaim always triggers one.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cached_property, partial
from math import fsum
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from experiments.simulator.aryl.servers import BASE, FLEXIBLE, Servers
from experiments.simulator.kernel import (
    HOUR,
    TOLERANCE,
    Activity,
    Calendar,
    Integrals,
    Records,
    Time,
    World,
    refuse_unequal,
)
from instances.arrays import FloatArray, IntArray
from instances.aryl import ArylLoaning
from instances.aryl.online import Allocation, Changes, Demands, Live, LoaningJobView, LoaningView, ServerState
from instances.online import RuleBroken

COMPLETION, ARRIVAL, ORCHESTRATOR = range(3)  # the order in which things happen at one moment
LEAST_BELIEVED = 1.0  # worker-seconds that policies believe to be left of a job that takes longer than was predicted
CHECK_SECONDS = 14_400.0  # between two counts of all that is kept
State = TypeVar("State")


class Lazy(Mapping[str, State], Generic[State]):
    """A read-only mapping of ids to states, which are built on access."""

    def __init__(self, places: Callable[[], Mapping[str, int]], make: Callable[[int], State]) -> None:
        self._find, self._make = places, make
        self._made: dict[str, State] = {}

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return self._find()

    def __getitem__(self, name: str) -> State:
        if name not in self._made:
            self._made[name] = self._make(self._places[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class LoaningWorld(World["LoaningRecords"]):
    """An `aryl-loaning` workload. Jobs and servers are identified by index, jobs in order of arrival."""

    def __init__(self, data: ArylLoaning) -> None:
        super().__init__()
        self.data = data
        self.jobs = sorted(data.jobs, key=lambda job: job.arrival_seconds)
        self.demands = Demands.of(data)
        self.servers = Servers(data, self.demands)
        self.work = [
            Activity(self.calendar, job.work, partial(self._complete, place), rank=COMPLETION, rounding=0.0)
            for place, job in enumerate(self.jobs)
        ]
        self.records = LoaningRecords(data, self.calendar, self.demands, self.servers, self.work)
        training, inference = data.training_servers, data.inference_servers
        self._servers = [*(f"t{i}" for i in range(training)), *(f"l{i}" for i in range(inference))]
        self._server_place = {name: i for i, name in enumerate(self._servers)}
        self._job_place = {name: i for i, name in enumerate(self.demands.ids)}
        self._workers, self._kind = _read_only(self.servers.workers), _read_only(self.servers.kind)
        self._predicted = np.array([job.forecast_work for job in self.jobs])
        self._waiting: list[int] = []  # in order of arrival
        self._running: set[int] = set()  # with their base workers
        self._elastic: set[int] = set()  # of those that run
        self._unfinished = len(self.jobs)
        self._to_come = 0
        self._arrived: list[int] = []
        self._finished: list[int] = []
        self._preempted: list[int] = []
        self._wanted = 0  # servers that have to go back now
        self._lendable = 0
        self._end_of_load = len(data.inference_load.use) * data.inference_load.step_seconds
        self._last_check = 0.0
        self._next_step = 0.0  # of the orchestrator
        self._calendar_arrival()
        self.calendar.at(0.0, self._orchestrate, rank=ORCHESTRATOR)
        self._moment: Time | None = self._find_next_moment()
        self._view = LoaningView(0.0, {}, {}, loaned_worth=data.loaned_worth, scaling_loss=data.scaling_loss)

    def next_decision(self) -> Time | None:
        return self._moment

    def view(self) -> LoaningView:
        self.records.integrate()
        view, ids = self._view, self.demands.ids
        view.now, view.reclaim = self.calendar.now, self._wanted
        view.servers = Lazy(self._there, self._server)
        view.jobs = Lazy(lambda: {ids[j]: j for j in sorted([*self._waiting, *self._running])}, self._job)
        view.arrived = tuple(ids[j] for j in self._arrived)
        view.finished = tuple(ids[j] for j in self._finished)
        view.preempted = tuple(ids[j] for j in self._preempted)
        view.live = self._live()
        return view

    def apply(self, decision: Allocation | Changes) -> None:
        """Apply a decision, and plan the next one."""
        now = self.calendar.now
        if decision.wake_at is not None:
            raise RuleBroken(f"the policy asks at {now} to be woken at {decision.wake_at}; rounds are given")
        self._arrived.clear()
        self._finished.clear()
        self._preempted.clear()
        if self._wanted:
            self._take_back(decision)
            self._moment = now
            return
        self._change(decision if isinstance(decision, Changes) else self._changes(decision))
        self._moment = self._find_next_moment() if self._unfinished else None

    def waiting(self) -> str | None:
        return f"job {self.demands.ids[self._waiting[0]]}" if self._waiting else None

    def reclaims_table(self) -> pd.DataFrame:
        """Return one row per reclaim, see `Reclaim`."""
        return self.records.reclaims_table()

    def _calendar_arrival(self) -> None:
        if self._to_come < len(self.jobs):
            self.calendar.at(self.jobs[self._to_come].arrival_seconds, self._arrive, rank=ARRIVAL)

    def _arrive(self) -> None:
        job = self._to_come
        self._to_come += 1
        self.records.queue(job)
        self._waiting.append(job)
        self._arrived.append(job)
        self._calendar_arrival()

    def _orchestrate(self) -> None:
        """Lend the servers that the load leaves, or reclaim servers. After the end of the load, no server is lent."""
        data, servers, now = self.data, self.servers, self.calendar.now
        self.records.integrate()
        if servers.on_loan > self._lendable:
            raise RuleBroken(f"{servers.on_loan} servers are on loan at {now}, {self._lendable} may be")
        target = self._lendable = data.lendable(now)
        if servers.on_loan < target:
            servers.lend(target - servers.on_loan)
        self._wanted = servers.on_loan - target
        self.records.step(target, len(self._waiting), len(self._running))
        if now - self._last_check >= CHECK_SECONDS:
            self._last_check = now
            servers.check(now)
        if self._unfinished and (now < self._end_of_load or servers.on_loan):
            step = round(now / data.orchestrator_period_seconds) + 1
            self._next_step = step * data.orchestrator_period_seconds
            self.calendar.at(self._next_step, self._orchestrate, rank=ORCHESTRATOR)
        else:
            self._next_step = np.inf

    def _set_rate(self, job: int) -> None:
        work = self.work[job]
        work.settle()
        loaned = int(self.servers.loaned_workers[job])
        workers = int(self.servers.workers[job])
        rate = self.data.speed(self.jobs[job], workers - loaned, loaned)
        self.records.hold(job)
        if rate == work.rate:
            return
        if not rate > 0:
            now = self.calendar.now
            raise RuleBroken(f"job {self.demands.ids[job]} runs on {workers} workers at {now} without progress")
        work.set_rate(rate)

    def _complete(self, job: int) -> None:
        self.records.integrate()
        self._stop(job)
        self.records.finish(job)
        self._finished.append(job)
        self._unfinished -= 1

    def _preempt(self, job: int) -> None:
        work = self.work[job]
        work.stop()
        self._stop(job)
        lost = 0.0 if self.jobs[job].checkpointed else work.amount - work.left
        work.undo(lost)
        self.records.preempt(job, lost)
        self.records.queue(job)
        insort(self._waiting, job)
        self._preempted.append(job)

    def _stop(self, job: int) -> None:
        self.servers.release(job)
        self.servers.touched.discard(job)
        self.records.hold(job)
        self._running.discard(job)
        self._elastic.discard(job)

    def _take_back(self, decision: Allocation | Changes) -> None:
        now = self.calendar.now
        if not isinstance(decision, Allocation):
            raise RuleBroken(f"{self._wanted} servers have to go back at {now}, the policy names none")
        gone = set()
        for name in decision.give_back:
            place = self._server_place.get(name, -1)
            if place < self.data.training_servers or not self.servers.there[place]:
                raise RuleBroken(f"server {name} goes back at {now}, but is not on loan")
            gone.add(place)
        if len(gone) != self._wanted:
            raise RuleBroken(f"{len(gone)} servers go back at {now}, {self._wanted} have to")
        self._give_back(gone, regroup=decision.regroup)

    def _give_back(self, gone: Iterable[int], *, regroup: bool) -> None:
        """Return loaned servers, and preempt the jobs that cannot continue without them."""
        servers, places = self.servers, set(gone)
        hit = sorted({job for s in places for job in servers.base_on[s]})
        loaned, free = servers.on_loan, [s for s in places if not servers.base_on[s]]
        idle = sum(not servers.flexible_on[s] for s in free)
        held = sum(servers.used), sum(servers.gpus - int(servers.free[s]) for s in places)
        lost = [job for job in hit if not (regroup and servers.regroup(job, places))]
        for job in lost:
            self._preempt(job)
        for s in sorted(places):
            servers.clear_flexible(s)
            servers.give_back(s)
        collateral = held[0] - sum(servers.used) - held[1]
        counts = len(places), len(free), idle, len(lost)
        self.records.reclaims.append(Reclaim(self.calendar.now, loaned, *counts, collateral))
        self._wanted = 0
        self._go_on()

    def _changes(self, decision: Allocation) -> Changes:
        """Return the changes of an allocation of all jobs. Raises RuleBroken for an unknown job or a wrong number."""
        now = self.calendar.now
        least, most = self.demands.min_workers, self.demands.max_workers
        start, workers, waiting = [], {}, set(self._waiting)
        for name, k in decision.workers.items():
            place = self._job_place.get(name, -1)
            if place not in self._running and place not in waiting:
                raise RuleBroken(f"job {name} gets {k} workers at {now}, but is not there")
            if not least[place] <= k <= most[place]:
                raise RuleBroken(f"job {name} gets {k} workers at {now}, not {least[place]} to {most[place]}")
            if place in waiting:
                start.append(place)
            workers[place] = k
        dropped = {j: int(least[j]) for j in self._elastic if j not in workers}
        return Changes(start=start, workers=dropped | workers, scales=decision.scales)

    def _change(self, changes: Changes) -> None:
        """Remove flexible workers, then start jobs, then add flexible workers."""
        servers = self.servers
        least = self.demands.min_workers
        for job, k in changes.workers.items():
            if servers.workers[job] > k:
                self._refuse(job, k, scales=changes.scales)
                servers.shrink(job, int(servers.workers[job]) - k)
        waiting = set(self._waiting) if changes.start else ()
        for job in changes.start:
            if job not in waiting:
                raise RuleBroken(f"job {self.demands.ids[job]} starts at {self.calendar.now}, but does not wait")
            if not self._start(job, loans=changes.loans, scales=changes.scales) and changes.in_order:
                break
        for job, k in changes.workers.items():
            have = int(servers.workers[job])
            if have and k > have:
                self._refuse(job, k, scales=changes.scales)
                servers.grow(job, k - max(have, int(least[job])), loans=changes.loans)
        self._go_on()

    def _refuse(self, job: int, workers: int, *, scales: bool) -> None:
        name, now = self.demands.ids[job], self.calendar.now
        least, most = int(self.demands.min_workers[job]), int(self.demands.max_workers[job])
        if not least <= workers <= most:
            raise RuleBroken(f"job {name} gets {workers} workers at {now}, out of its range")
        if workers > least and not scales:
            raise RuleBroken(f"job {name} gets {workers} workers at {now}, of a policy that does not scale")

    def _start(self, job: int, *, loans: bool = True, scales: bool = True) -> bool:
        """Start a waiting job with its base workers, and return whether they fit."""
        if not self.servers.start(job, loans=loans, scales=scales):
            return False
        del self._waiting[bisect_left(self._waiting, job)]
        self._running.add(job)
        again = self.records.start(job)
        self.work[job].set_rate(0, self.calendar.now + (self.data.preemption_seconds if again else 0.0))
        if not self.demands.inelastic[job]:
            self._elastic.add(job)
        return True

    def _go_on(self) -> None:
        """Update the speed of the jobs whose workers have changed."""
        for job in sorted(self.servers.touched):
            if job in self._running:
                self._set_rate(job)
        self.servers.touched.clear()

    def _find_next_moment(self) -> Time | None:
        """Return the time of the next decision: the next event, or the first multiple of the period at or after it."""
        event, period = self.calendar.next_moment, self.data.scheduling_period_seconds
        if event is None or not period:
            return event
        moment = max(-(-event // period) * period, event)
        step = self._next_step
        return step if event <= step < moment else moment

    def _predict_remaining(self, places: IntArray) -> FloatArray:
        """Return the predicted remaining worker-seconds of some jobs."""
        done = np.array([self.work[place].done for place in places.tolist()])
        return np.maximum(LEAST_BELIEVED, self._predicted[places] - done)

    def _there(self) -> Mapping[str, int]:
        return {self._servers[s]: s for s in np.flatnonzero(self.servers.there).tolist()}

    def _server(self, place: int) -> ServerState:
        servers = self.servers
        loaned = place >= self.data.training_servers
        group = {BASE: "base", FLEXIBLE: "flexible"}.get(int(servers.group[place])) if servers.grouped else None
        return ServerState(
            self._servers[place],
            "loaned" if loaned else "training",
            servers.gpus,
            int(servers.free[place]),
            group,  # type: ignore[arg-type]
        )

    def _job(self, place: int) -> LoaningJobView:
        job = self.jobs[place]
        return LoaningJobView(
            job.id,
            job.arrival_seconds,
            job.min_workers,
            job.max_workers,
            job.gpus_per_worker,
            float(self._predict_remaining(np.array([place]))[0]),
            self._map_names(self.servers.base_of[place].items()),
            self._map_names(self.servers.flexible_of[place].items()),
            job.any_gpu,
            job.heterogeneous,
            job.checkpointed,
            self.records.preemptions(place),
            float(self.work[place].done),
        )

    def _map_names(self, held: Iterable[tuple[int, int]]) -> Mapping[str, int]:
        return MappingProxyType({self._servers[s]: k for s, k in held})

    def _live(self) -> Live:
        servers = self.servers
        return Live(
            demands=self.demands,
            waiting=np.array(self._waiting, dtype=np.int64),
            elastic=np.array(sorted(self._elastic), dtype=np.int64),
            free_gpus=servers.free_gpus(),
            flexible_gpus=tuple(servers.used_flexible),
            widest=servers.widest(),
            workers=self._workers,
            kind=self._kind,
            left=self._predict_remaining,
            hosted=self._list_hosted,
        )

    def _list_hosted(self) -> Iterable[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        """Yield for each server on loan its id and the ids of the jobs with base and with flexible workers there."""
        servers, ids = self.servers, self.demands.ids
        for s in range(self.data.training_servers, len(self._servers)):
            if servers.there[s]:
                base = tuple(ids[j] for j in servers.base_on[s])
                yield self._servers[s], base, tuple(ids[j] for j in servers.flexible_on[s])


def _read_only(values: IntArray) -> IntArray:
    """Return a read-only view of an array."""
    seen = values.view()
    seen.setflags(write=False)
    return seen


@dataclass(frozen=True)
class Reclaim:
    """One reclaim: loaned servers that were returned at the same time.

    - `loaned`: servers on loan before.
    - `servers`: returned servers.
    - `without_base`: returned servers without base workers.
    - `idle`: returned servers without any workers.
    - `collateral_gpus`: GPUs that became free on other loaned servers.
    """

    time: float
    loaned: int
    servers: int
    without_base: int
    idle: int
    preempted: int
    collateral_gpus: int


class LoaningRecords(Records):
    """Sums over the runs of every job, integrals over time, and one row per step of the orchestrator.

    Shares of use are over the time until the last arrival, because the makespan depends on the policy.
    """

    def __init__(
        self, data: ArylLoaning, calendar: Calendar, demands: Demands, servers: Servers, work: Sequence[Activity]
    ) -> None:
        n = len(work)
        self._data, self._calendar, self._demands, self._servers, self._work = data, calendar, demands, servers, work
        self._submit = np.sort([job.arrival_seconds for job in data.jobs])
        self.reclaims: list[Reclaim] = []
        self._first = np.full(n, np.nan)
        """When a job first started."""
        self._since = np.zeros(n)
        """When it began to wait, or to run."""
        self._waited, self._ran, self._end = np.zeros(n), np.zeros(n), np.full(n, np.nan)
        self._preemptions, self._lost = np.zeros(n, dtype=np.int64), np.zeros(n)
        self._gpu_seconds, self._gpus, self._held_since = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n)
        self._loaned_start = np.zeros(n, dtype=bool)
        self._last_arrival = float(self._submit[-1])
        self._integrals = Integrals(4)
        """Of GPUs held of training servers and of loaned ones, of GPUs on loan, and of the inference cluster's use."""
        self._window: list[float] | None = None
        """The integrals until the last arrival."""
        self._rows: list[tuple[float, int, int, int, int, int, int, float]] = []

    def queue(self, job: int) -> None:
        """Record that a job begins to wait."""
        self._since[job] = self._calendar.now

    def start(self, job: int) -> bool:
        """Record that a job begins to run, and return whether it was preempted before."""
        now = self._calendar.now
        self._waited[job] += now - self._since[job]
        self._since[job] = now
        if np.isnan(self._first[job]):
            self._first[job] = now
        self._loaned_start[job] |= bool(self._servers.loaned_workers[job])
        return bool(self._preemptions[job])

    def hold(self, job: int) -> None:
        """Record a change of the workers of a job."""
        now, servers = self._calendar.now, self._servers
        self._gpu_seconds[job] += self._gpus[job] * (now - self._held_since[job])
        loaned = int(servers.loaned_workers[job])
        on_training, on_loaned = self._demands.gpus[:, job]
        self._gpus[job] = (int(servers.workers[job]) - loaned) * on_training + loaned * on_loaned
        self._held_since[job] = now

    def preempt(self, job: int, lost: float) -> None:
        """Record the preemption of a job, which has `lost` this many worker-seconds."""
        self._ran[job] += self._calendar.now - self._since[job]
        self._preemptions[job] += 1
        self._lost[job] += lost

    def preemptions(self, job: int) -> int:
        """Return the number of preemptions of a job."""
        return int(self._preemptions[job])

    def finish(self, job: int) -> None:
        """Record the end of a job."""
        now = self._calendar.now
        self._ran[job] += now - self._since[job]
        self._end[job] = now

    def integrate(self) -> None:
        """Update the time integrals until now; call this before the held amounts change."""
        now, since, servers = self._calendar.now, self._integrals.since, self._servers
        if now <= since:
            return
        amounts = [*servers.used, servers.on_loan * servers.gpus, self._data.inference_load.at(since)]
        if self._window is None and now >= self._last_arrival:
            totals = zip(self._integrals.totals, amounts, strict=True)
            self._window = [total + amount * (self._last_arrival - since) for total, amount in totals]
        self._integrals.add(now, amounts)

    def step(self, lendable: int, waiting: int, running: int) -> None:
        """Record a step of the orchestrator, with the number of lendable servers and of waiting and running jobs."""
        now, servers = self._calendar.now, self._servers
        use = self._data.inference_load.at(now)
        training, loaned = servers.used
        self._rows.append((now, training, loaned, servers.on_loan, lendable, waiting, running, use))

    def jobs_table(self) -> pd.DataFrame:
        """Return one row per job in order of arrival, times in seconds; `NaN` for events that have not happened.

        `queueing`: time before the first start; `delay`: total waiting time; `run`: total running time; `lost`:
        GPU-seconds of work that preemptions undid; `loaned`: whether the job ever started on loaned servers.
        """
        demands, submit = self._demands, self._submit
        return pd.DataFrame(
            {
                "job": list(demands.ids),
                "submit": submit,
                "end": self._end,
                "queueing": self._first - submit,
                "delay": self._waited,
                "jct": self._end - submit,
                "run": self._ran,
                "gpu_seconds": self._gpu_seconds,
                "lost": self._lost * demands.gpus[0],
                "preemptions": self._preemptions,
                "loaned": self._loaned_start,
                "elastic": ~demands.inelastic,
            }
        )

    def timeline_table(self) -> pd.DataFrame:
        """Return one row per step of the orchestrator, in GPUs, servers and jobs, and a share for `inference_use`."""
        names = ["time", "training", "loaned", "on_loan", "lendable", "waiting", "running", "inference_use"]
        return pd.DataFrame(self._rows, columns=names)

    def reclaims_table(self) -> pd.DataFrame:
        """Return one row per reclaim."""
        return pd.DataFrame([astuple(r) for r in self.reclaims], columns=[f.name for f in fields(Reclaim)])

    def totals(self) -> dict[str, Any]:
        """Return measures over all jobs, and shares of use until the last arrival."""
        self.integrate()
        servers = self._servers
        window = self._integrals.totals if self._window is None else self._window
        seconds = max(self._last_arrival, 1e-9)
        training = servers.training * servers.gpus
        own = training + servers.inference * servers.gpus
        back, free, idle = (
            sum(getattr(r, name) for r in self.reclaims) for name in ("servers", "without_base", "idle")
        )
        waits = np.where(np.isnan(self._first), np.nan, self._waited)
        jct = self._end - self._submit
        preemptions = int(self._preemptions.sum())
        gone = self._demands.gpus[0] * self._lost
        return {
            "preemptions": preemptions,
            "preemption_ratio": preemptions / len(self._work),
            "lost_gpu_h": float(gone.sum()) / HOUR,
            "mean_run_h": float(np.nanmean(self._ran)) / HOUR,
            "median_wait_s": float(np.nanmedian(waits)),
            "p95_wait_s": float(np.nanquantile(waits, 0.95)),
            "median_jct_s": float(np.nanmedian(jct)),
            "p95_jct_s": float(np.nanquantile(jct, 0.95)),
            "use": float(window[0] / (training * seconds)),
            "use_loaned": float(window[1] / window[2]) if window[2] else None,
            "use_overall": float(
                (window[0] + window[1] + window[3] * servers.inference * servers.gpus) / (own * seconds)
            ),
            "mean_on_loan": float(window[2] / servers.gpus / seconds),
            "reclaims": len(self.reclaims),
            "reclaimed_servers": back,
            "reclaimed_idle": idle,
            "met_without_preemption": free / back if back else None,
            "met_by_flexible": (free - idle) / (back - idle) if back > idle else None,
            "collateral_gpus": sum(r.collateral_gpus for r in self.reclaims),
        }

    def check(self) -> None:
        """Check that all work is done, every job waited or ran, and jobs held no more GPUs than there were."""
        now, ids = self._calendar.now, self._demands.ids
        self.integrate()
        self._servers.check(now)
        if undone := int(np.isnan(self._end).sum()):
            raise RuleBroken(f"{undone} jobs are not done at {now}")
        done, asked = np.array([(work.worked, work.amount) for work in self._work]).T
        asked = asked + self._lost
        for j in np.flatnonzero(np.abs(done - asked) > TOLERANCE * np.maximum(1.0, asked)):
            raise RuleBroken(f"job {ids[j]} has done {done[j]} of {asked[j]} worker-seconds by {self._end[j]}")
        jct = self._end - self._submit
        for j in np.flatnonzero(np.abs(self._waited + self._ran - jct) > TOLERANCE * np.maximum(1.0, jct)):
            raise RuleBroken(f"job {ids[j]} has waited {self._waited[j]} and run {self._ran[j]} s of {jct[j]} s")
        held, counted = fsum(self._gpu_seconds), sum(self._integrals.totals[:2])
        refuse_unequal(held, counted, f"jobs have held {held} GPU-seconds by {now}, servers were held for {counted}")
