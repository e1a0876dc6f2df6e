"""Records of a run of a loaning cluster: tables, totals over time, and the invariants of every run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from math import fsum
from typing import Any

import numpy as np
import pandas as pd

from experiments.simulator.aryl.servers import Servers
from experiments.simulator.kernel import HOUR, TOLERANCE, Activity, Calendar, Integrals, Records, refuse_unequal
from instances.aryl import ArylLoaning
from instances.aryl.online import Demands
from instances.online import RuleBroken


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
