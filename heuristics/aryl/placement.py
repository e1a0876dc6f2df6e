"""Best-fit decreasing placement on servers in use (Aryl, sections 5.3 and 6)."""

from __future__ import annotations

from instances import Solution
from instances.aryl import ArylPlacement, PlacedJob
from instances.aryl.online import Kind, Part
from instances.aryl.placement import KINDS
from instances.method import ANY, method

Hosts = dict[str, int]
Kinds = tuple[Kind, ...]


@method("heuristic", ANY)
def best_fit_decreasing(data: ArylPlacement) -> Solution:
    """Place jobs by decreasing GPUs per worker, each worker on the best-fitting server in use, or on a new one.

    Heterogeneous jobs come last. Ties go to the first job and the first server in the file. A job is on its preferred
    kind of servers if all of its base workers fit there, otherwise on the other kind. A heterogeneous job has a
    preference per worker.
    """
    placement = _Placement(data)
    for job in sorted(data.jobs, key=lambda job: (job.heterogeneous, -job.gpus_per_worker)):
        if job.heterogeneous:
            placement.place_on_both_kinds(job)
        else:
            placement.place_on_one_kind(job)
    return placement.placed


class _Placement:
    """Free GPUs and hosted parts of the servers, while jobs are placed one after another."""

    def __init__(self, data: ArylPlacement) -> None:
        self.grouped = data.grouped
        self.servers = {server.id: server for server in data.servers}
        self.free = {server.id: server.free_gpus for server in data.servers}
        self.used = {server.id: server.is_in_use for server in data.servers}
        self.hosts: dict[str, Part | None] = {server.id: server.hosts for server in data.servers}
        self.placed: dict[str, dict[str, Hosts]] = {"base": {}, "flexible": {}}

    def place_on_one_kind(self, job: PlacedJob) -> None:
        """Place all workers on one kind of servers, the preferred one first."""
        for kind in _order_kinds(job, "base"):
            if kind in job.kinds and self._place_parts(job, (kind,), (kind,)):
                return

    def place_on_both_kinds(self, job: PlacedJob) -> None:
        """Place each worker on the kind of servers that its part prefers, or on the other one."""
        self._place_parts(job, _order_kinds(job, "base"), _order_kinds(job, "flexible"))

    def _place_parts(self, job: PlacedJob, base_kinds: Kinds, flexible_kinds: Kinds) -> bool:
        """Place a job on the given kinds of servers if all base workers fit, and return whether workers are placed."""
        base = self._place(job, "base", base_kinds, job.base_workers)
        if sum(base.values()) < job.base_workers:
            self._remove(job, base)
            return False
        flexible = self._place(job, "flexible", flexible_kinds, job.flexible_workers)
        self.placed["base"] |= {job.id: base} if base else {}
        self.placed["flexible"] |= {job.id: flexible} if flexible else {}
        return bool(base or flexible)

    def _place(self, job: PlacedJob, part: Part, kinds: Kinds, workers: int) -> Hosts:
        """Place as many of the workers as fit, and return their number by server."""
        hosts: Hosts = {}
        for _ in range(workers):
            server = next((fit for kind in kinds if (fit := self._best_server(job.gpus_on(kind), part, kind))), None)
            if server is None:
                break
            hosts[server] = hosts.get(server, 0) + 1
            self.free[server] -= job.gpus_on(self.servers[server].kind)
            self.used[server], self.hosts[server] = True, self.hosts[server] or part
        return hosts

    def _best_server(self, gpus: int, part: Part, kind: Kind) -> str | None:
        """Return the server in use with the fewest free GPUs that suffice, otherwise an empty one."""
        fitting = [
            name
            for name, server in self.servers.items()
            if server.kind == kind
            and self.free[name] >= gpus
            and (kind == "training" or not self.grouped or self.hosts[name] in (None, part))
        ]
        return min(fitting, key=lambda name: (not self.used[name], self.free[name]), default=None)

    def _remove(self, job: PlacedJob, hosts: Hosts) -> None:
        for name, n in hosts.items():
            server = self.servers[name]
            self.free[name] += n * job.gpus_on(server.kind)
            if self.free[name] == server.gpus:
                self.used[name], self.hosts[name] = False, None


def _order_kinds(job: PlacedJob, part: Part) -> Kinds:
    """Return the kinds of servers, the preferred one first."""
    return tuple(sorted(KINDS, key=lambda kind: kind != job.choose_kind(part)))
