"""Which nodes a job's GPUs are on, where it matters: a job keeps its places, and what it adds is found in order."""

from __future__ import annotations


class Places:
    """GPUs of nodes and the jobs on them, by ids; `hosted` are the classes that each node has had.

    GPUs are alike: those of a node that is closed move elsewhere, and that is no rescaling.
    """

    def __init__(self, gpus: int) -> None:
        self._gpus = gpus
        self.free: dict[str, int] = {}
        self.hosted: dict[str, set[int]] = {}
        self.held: dict[str, dict[str, int]] = {}
        self._kind: dict[str, int] = {}

    def open(self, node: str) -> None:
        """A node is there."""
        self.free[node], self.hosted[node] = self._gpus, set()

    def close(self, node: str) -> None:
        """A node goes; jobs with GPUs there get others."""
        del self.free[node], self.hosted[node]
        for job, places in self.held.items():
            moved = places.pop(node, 0)
            if moved:
                self._add(job, moved)

    def place(self, job: str, kind: int, width: int) -> bool:
        """Give a job `width` GPUs in all; whether a node joins that has not hosted its class yet."""
        places = self.held.setdefault(job, {})
        self._kind[job] = kind
        more = width - sum(places.values())
        if more > 0:
            return self._add(job, more)
        for node in list(places)[::-1]:
            less = min(-more, places[node])
            places[node] -= less
            self.free[node] += less
            more += less
            if not places[node]:
                del places[node]
        if not width:
            del self.held[job], self._kind[job]
        return False

    def _add(self, job: str, more: int) -> bool:
        """Take GPUs on nodes of the job first, then where the class was, then in order of rental."""
        places, kind = self.held[job], self._kind[job]
        cold = False
        order = sorted(self.free, key=lambda node: (node not in places, kind not in self.hosted[node]))
        for node in order:
            taken = min(more, self.free[node])
            if taken:
                cold |= kind not in self.hosted[node]
                self.hosted[node].add(kind)
                self.free[node] -= taken
                places[node] = places.get(node, 0) + taken
                more -= taken
                if not more:
                    break
        return cold
