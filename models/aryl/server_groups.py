"""Loaned servers as sets of jobs: servers with the same base workers form a group, in which any may stand for another.

A set of jobs frees the servers whose jobs are all in it. So the least union of k sets is the least number of jobs that
frees k servers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from instances.arrays import IntArray
from instances.aryl import ArylReclaim


@dataclass(frozen=True)
class ServerGroups:
    """Groups of servers with the same base workers: `jobs[g]` indices of the jobs on group g, `members[g]` the servers.

    Servers without base workers are in `idle`: they go back first and preempt nobody.
    """

    jobs: list[tuple[int, ...]]
    members: list[list[str]]
    idle: list[str]
    n_jobs: int

    @staticmethod
    def of(data: ArylReclaim) -> ServerGroups:
        """The groups of `data`; among idle servers those that host flexible workers of the fewest jobs come first."""
        index = {job.id: j for j, job in enumerate(data.jobs)}
        alike: dict[tuple[int, ...], list[str]] = {}
        for server, on in data.jobs_on().items():
            alike.setdefault(tuple(sorted(index[job] for job in on)), []).append(server)
        idle = alike.pop((), [])
        flexible = dict.fromkeys(idle, 0)
        for job in data.jobs:
            for server in job.flexible_servers:
                if server in flexible:
                    flexible[server] += 1
        idle.sort(key=lambda server: flexible[server])
        return ServerGroups(list(alike), list(alike.values()), idle, len(data.jobs))

    @cached_property
    def count(self) -> IntArray:
        """Number of servers of each group (groups,)."""
        return np.array([len(members) for members in self.members], dtype=np.int64)

    def servers(self, jobs: set[int], need: int) -> list[str]:
        """`need` servers without base workers of jobs other than `jobs`, idle ones first."""
        freed = [s for g, on in enumerate(self.jobs) if jobs.issuperset(on) for s in self.members[g]]
        return (self.idle + freed)[:need]
