"""Groups of loaned servers with the same base workers.

A set of jobs frees the servers whose jobs are all in the set. The minimum union of k sets is therefore the smallest set
of jobs that frees k servers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from instances.arrays import IntArray
from instances.aryl import ArylReclaim


@dataclass(frozen=True)
class ServerGroups:
    """The groups of interchangeable servers.

    - `jobs`: indices of the jobs on the servers of each group.
    - `members`: the servers of each group.
    - `idle`: servers without base workers. Their return preempts no job, so they are returned first.
    - `n_jobs`: number of jobs.
    """

    jobs: list[tuple[int, ...]]
    members: list[list[str]]
    idle: list[str]
    n_jobs: int

    @staticmethod
    def from_data(data: ArylReclaim) -> ServerGroups:
        """Group the servers of `data`, and sort idle servers by the number of jobs with flexible workers there."""
        index = {job.id: j for j, job in enumerate(data.jobs)}
        groups: dict[tuple[int, ...], list[str]] = {}
        for server, on in data.jobs_on().items():
            groups.setdefault(tuple(sorted(index[job] for job in on)), []).append(server)
        idle = groups.pop((), [])
        flexible = dict.fromkeys(idle, 0)
        for job in data.jobs:
            for server in job.flexible_servers:
                if server in flexible:
                    flexible[server] += 1
        idle.sort(key=lambda server: flexible[server])
        return ServerGroups(list(groups), list(groups.values()), idle, len(data.jobs))

    @cached_property
    def count(self) -> IntArray:
        """Number of servers of each group (groups,)."""
        return np.array([len(members) for members in self.members], dtype=np.int64)

    def list_servers(self, jobs: set[int], need: int) -> list[str]:
        """List `need` servers that host base workers of `jobs` only, idle ones first."""
        freed = [s for g, on in enumerate(self.jobs) if jobs.issuperset(on) for s in self.members[g]]
        return (self.idle + freed)[:need]
