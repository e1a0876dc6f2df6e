"""Track the servers of a training cluster, the servers that it borrows, and the workers of every job (section 5.3)."""

from __future__ import annotations

import numpy as np

from instances.arrays import BoolArray, IntArray
from instances.aryl import ArylLoaning
from instances.aryl.online import LOANED, TRAINING, Demands
from instances.compiled import compile_lazily
from instances.online import RuleBroken

NOBODY, BASE, FLEXIBLE = 0, 1, 2
"""Groups of loaned servers by the kind of workers that they host."""
Held = dict[int, int]
"""Workers by server, or by job."""


class Servers:
    """Servers by index, training servers first, with the base and flexible workers of every job on them.

    `touched` collects the jobs whose workers have changed since it was last cleared.
    """

    def __init__(self, data: ArylLoaning, demands: Demands) -> None:
        self.demands = demands
        self.training, self.inference, self.gpus = (
            data.training_servers,
            data.inference_servers,
            data.gpus_per_server,
        )
        self.grouped = data.placement == "grouped"
        count, jobs = self.training + self.inference, len(demands.ids)
        self.free = np.full(count, self.gpus, dtype=np.int64)
        self.flexible = np.zeros(count, dtype=np.int64)
        """GPUs of flexible workers."""
        self.group = np.zeros(count, dtype=np.int64)
        self.there = np.arange(count) < self.training
        self.base_of: list[Held] = [{} for _ in range(jobs)]
        self.flexible_of: list[Held] = [{} for _ in range(jobs)]
        self.base_on: list[Held] = [{} for _ in range(count)]
        self.flexible_on: list[Held] = [{} for _ in range(count)]
        self.workers = np.zeros(jobs, dtype=np.int64)
        self.loaned_workers = np.zeros(jobs, dtype=np.int64)
        self.kind = np.zeros(jobs, dtype=np.int64)
        self.used, self.used_flexible = [0, 0], [0, 0]
        self.on_loan = 0
        self.touched: set[int] = set()
        self._range = ((0, self.training), (self.training, count))
        self._found, self._counts = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        self._gpus: list[list[int]] = demands.gpus.tolist()
        self._least: list[int] = demands.min_workers.tolist()
        self._borrows = (demands.any_gpu | demands.heterogeneous).tolist()
        self._any, self._mixed = demands.any_gpu.tolist(), demands.heterogeneous.tolist()
        prefers_training = demands.inelastic | demands.heterogeneous | (data.placement == "plain")
        self._prefers_training = prefers_training.tolist()

    def start(self, job: int, *, loans: bool = True, scales: bool = True) -> bool:
        """Place the base workers of a job without workers, and return whether they fit.

        If free GPUs do not suffice, flexible workers make room. Loaned servers come first for elastic jobs if the
        policy `scales`, because the jobs can scale in there (section 5.3).
        """
        kinds = (TRAINING,) if not (loans and self._any[job]) else (TRAINING, LOANED)
        if scales and not self._prefers_training[job]:
            kinds = kinds[::-1]
        for shed in (False, True):
            if shed and not any(self.used_flexible):
                break
            for kind in kinds:
                if self._place(job, self._least[job], kind, shed):
                    self.kind[job] = kind
                    return True
            if loans and self._mixed[job] and self._place_on_both(job, shed):
                self.kind[job] = TRAINING
                return True
        return False

    def grow(self, job: int, workers: int, *, loans: bool = True) -> int:
        """Place up to `workers` more flexible workers of a running job, and return the number that fit."""
        kinds = (LOANED, TRAINING) if self._mixed[job] and loans else (int(self.kind[job]),)
        placed = 0
        for kind in kinds:
            want = FLEXIBLE if kind == LOANED and self.grouped else NOBODY
            used, fitting = self._fit(kind, self._gpus[kind][job], workers - placed, want, False)
            for s, k in zip(self._found[:used].tolist(), self._counts[:used].tolist(), strict=True):
                self._put(job, s, k, self.flexible_of[job], self.flexible_on[s], FLEXIBLE)
            placed += fitting
            if placed == workers:
                break
        return placed

    def shrink(self, job: int, workers: int) -> None:
        """Remove `workers` flexible workers of a job, first from the servers with the fewest of them."""
        for s in sorted(self.flexible_of[job], key=self.flexible_of[job].__getitem__):
            less = min(workers, self.flexible_of[job][s])
            self._remove_flexible(job, s, less)
            workers -= less
            if not workers:
                break

    def release(self, job: int) -> None:
        """Remove all workers of a job."""
        for s, k in list(self.flexible_of[job].items()):
            self._remove_flexible(job, s, k)
        for s, k in list(self.base_of[job].items()):
            self._remove_base(job, s, k)

    def lend(self, servers: int) -> None:
        """Borrow `servers` further servers."""
        self.there[np.flatnonzero(~self.there)[:servers]] = True
        self.on_loan += servers

    def give_back(self, server: int) -> None:
        """Return an empty loaned server. Raises RuleBroken if it has workers or is not on loan."""
        if self.base_on[server] or self.flexible_on[server] or not self.there[server]:
            raise RuleBroken(f"loaned server {server} goes back with workers on it, or was not there")
        self.there[server] = False
        self.on_loan -= 1

    def regroup(self, job: int, gone: set[int]) -> bool:
        """Replace base workers on servers in `gone` by the job's flexible workers, and return whether they suffice."""
        kept = sum(k for held in (self.base_of[job], self.flexible_of[job]) for s, k in held.items() if s not in gone)
        if kept < self._least[job]:
            return False
        for s in sorted(gone & self.base_of[job].keys()):
            lost = self.base_of[job][s]
            self._remove_base(job, s, lost)
            for other, k in list(self.flexible_of[job].items()):
                moved = min(k, lost) if other not in gone else 0
                if moved:
                    self._remove_flexible(job, other, moved)
                    self._put(job, other, moved, self.base_of[job], self.base_on[other], BASE)
                    lost -= moved
        for s in sorted(gone & self.flexible_of[job].keys()):
            self._remove_flexible(job, s, self.flexible_of[job][s])
        return True

    def clear_flexible(self, server: int) -> None:
        """Remove all flexible workers from a server."""
        for job, k in list(self.flexible_on[server].items()):
            self._remove_flexible(job, server, k)

    def free_gpus(self) -> tuple[int, int]:
        """Return the free GPUs of training servers and of loaned servers."""
        return self.training * self.gpus - self.used[TRAINING], self.on_loan * self.gpus - self.used[LOANED]

    def widest(self) -> tuple[int, int]:
        """Return the maximum GPUs on one server of each kind that base workers could use."""
        room = np.where(self.there, self.free + self.flexible, 0)
        return int(room[: self.training].max()), int(room[self.training :].max(initial=0))

    def check(self, now: float) -> None:
        """Recompute all counts. Raises RuleBroken if they differ from the stored ones."""
        used = np.zeros(len(self.free), dtype=np.int64)
        for s, (base, flexible) in enumerate(zip(self.base_on, self.flexible_on, strict=True)):
            kind = int(s >= self.training)
            used[s] = sum(k * self._gpus[kind][job] for held in (base, flexible) for job, k in held.items())
        if (used > self.gpus).any() or (used + self.free != self.gpus).any() or (used[~self.there] > 0).any():
            raise RuleBroken(f"a server hosts more than it has, or is not there, at {now}")
        held = int(used[: self.training].sum()), int(used[self.training :].sum())
        if list(held) != self.used:
            raise RuleBroken(f"{held} GPUs of training and loaned servers are held at {now}, {self.used} are counted")
        for job in np.flatnonzero(self.workers).tolist():
            if sum(self.base_of[job].values()) != self._least[job]:
                raise RuleBroken(f"job {self.demands.ids[job]} runs at {now} without its base workers")

    def _fit(self, kind: int, gpus: int, workers: int, want: int, shed: bool) -> tuple[int, int]:
        low, high = self._range[kind]
        arrays = self.free, self.flexible, self.group, self.there
        return best_fit(*arrays, low, high, gpus, workers, want, shed, self._found, self._counts)

    def _place(self, job: int, workers: int, kind: int, shed: bool) -> bool:
        """Place base workers on servers of one kind, all or none, and return whether they fit."""
        if not workers:
            return True
        gpus = self._gpus[kind][job]
        room = (self.training if kind == TRAINING else self.on_loan) * self.gpus - self.used[kind]
        if workers * gpus > room + (self.used_flexible[kind] if shed else 0):
            return False
        want = BASE if kind == LOANED and self.grouped else NOBODY
        used, placed = self._fit(kind, gpus, workers, want, shed)
        if placed < workers:
            return False
        for s, k in zip(self._found[:used].tolist(), self._counts[:used].tolist(), strict=True):
            if shed:
                self._make_room(s, k * gpus, whole=want == BASE and self.group[s] == FLEXIBLE)
            self._put(job, s, k, self.base_of[job], self.base_on[s], BASE)
        return True

    def _place_on_both(self, job: int, shed: bool) -> bool:
        """Place base workers on training servers first, then on loaned ones, and return whether all fit."""
        gpus, least = self._gpus[TRAINING][job], self._least[job]
        there = self._fit(TRAINING, gpus, least, NOBODY, shed)[1]
        want = BASE if self.grouped else NOBODY
        if there + self._fit(LOANED, self._gpus[LOANED][job], least - there, want, shed)[1] < least:
            return False
        return self._place(job, there, TRAINING, shed) and self._place(job, least - there, LOANED, shed)

    def _make_room(self, server: int, gpus: int, *, whole: bool) -> None:
        kind = int(server >= self.training)
        for job in sorted(self.flexible_on[server]):
            if not whole and self.free[server] >= gpus:
                break
            have = self.flexible_on[server][job]
            less = have if whole else min(have, -(-(gpus - int(self.free[server])) // self._gpus[kind][job]))
            self._remove_flexible(job, server, less)

    def _put(self, job: int, server: int, workers: int, of: Held, on: Held, group: int) -> None:
        kind = int(server >= self.training)
        gpus = workers * self._gpus[kind][job]
        self.free[server] -= gpus
        if self.free[server] < 0:
            raise RuleBroken(f"job {self.demands.ids[job]} has more GPUs of server {server} than it has")
        self.used[kind] += gpus
        if group == FLEXIBLE:
            self.flexible[server] += gpus
            self.used_flexible[kind] += gpus
        if kind == LOANED:
            self.loaned_workers[job] += workers
            if not (self.group[server] == BASE and group == FLEXIBLE):
                self.group[server] = group
        of[server] = of.get(server, 0) + workers
        on[job] = on.get(job, 0) + workers
        self.workers[job] += workers
        self.touched.add(job)

    def _remove_base(self, job: int, server: int, workers: int) -> None:
        self._take(job, server, workers, self.base_of[job], self.base_on[server])

    def _remove_flexible(self, job: int, server: int, workers: int) -> None:
        kind = int(server >= self.training)
        gpus = workers * self._gpus[kind][job]
        self.flexible[server] -= gpus
        self.used_flexible[kind] -= gpus
        self._take(job, server, workers, self.flexible_of[job], self.flexible_on[server])

    def _take(self, job: int, server: int, workers: int, of: Held, on: Held) -> None:
        kind = int(server >= self.training)
        gpus = workers * self._gpus[kind][job]
        self.free[server] += gpus
        self.used[kind] -= gpus
        if of[server] == workers:
            del of[server], on[job]
        else:
            of[server] -= workers
            on[job] -= workers
        if kind == LOANED:
            self.loaned_workers[job] -= workers
            if self.free[server] == self.gpus:
                self.group[server] = NOBODY
        self.workers[job] -= workers
        self.touched.add(job)


@compile_lazily
def best_fit(
    free: IntArray,
    flexible: IntArray,
    group: IntArray,
    there: BoolArray,
    low: int,
    high: int,
    gpus: int,
    workers: int,
    want: int,
    shed: bool,
    found: IntArray,
    counts: IntArray,
) -> tuple[int, int]:
    """Find servers for `workers` workers of `gpus` GPUs among servers `low` to `high` - 1 by best fit.

    - `want`: the group of the workers; NOBODY without groups.
    - `shed`: whether GPUs of flexible workers count as free.
    - `found`, `counts`: output arrays of server indices and numbers of workers.

    Workers go to the server with the minimum free GPUs that suffice. Returns the number of used servers, which is the
    number of filled entries of both arrays, and the number of placed workers.
    """
    taken = (~there[low:high]).copy()
    used, placed = 0, 0
    while placed < workers:
        best, least = -1, 1 << 60
        for s in range(low, high):
            if taken[s - low]:
                continue
            room = free[s] + flexible[s] if shed else free[s]
            if want != NOBODY and group[s] != NOBODY and group[s] != want and not (shed and group[s] == FLEXIBLE):
                continue
            if gpus <= room < least:
                best, least = s, room
        if best < 0:
            break
        taken[best - low] = True
        found[used] = best
        counts[used] = min(workers - placed, least // gpus)
        placed += counts[used]
        used += 1
    return used, placed
