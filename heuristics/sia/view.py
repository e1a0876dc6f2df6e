"""What a policy sees of a cluster of pools, and what it answers.

A policy is anything with `decide(view) -> Decision`; the view is anything with these attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class PendingJob(Protocol):
    """A job in a queue. `submit` and `duration` are in slots, or in whatever unit the clock counts."""

    @property
    def id(self) -> str: ...
    @property
    def pool(self) -> str: ...
    @property
    def submit(self) -> float: ...
    @property
    def duration(self) -> float: ...
    @property
    def gpus(self) -> int: ...


class View(Protocol):
    """A cluster of pools at one moment; a policy must not change it.

    `idle`: GPUs of all pools that no job holds. `quota`: GPUs that each pool owns. `used`: GPUs that the jobs of each
    pool hold, whoever owns them. `queues`: pending jobs of each pool by id, in order of submission. `arrived`,
    `finished`: jobs submitted and jobs completed since the policy was last asked.
    """

    @property
    def now(self) -> float: ...
    @property
    def idle(self) -> int: ...
    @property
    def quota(self) -> Mapping[str, int]: ...
    @property
    def used(self) -> Mapping[str, int]: ...
    @property
    def queues(self) -> Mapping[str, Mapping[str, PendingJob]]: ...
    @property
    def arrived(self) -> Sequence[PendingJob]: ...
    @property
    def finished(self) -> Sequence[PendingJob]: ...


@dataclass(frozen=True)
class Decision:
    """Jobs to start now, by id, and when to ask again even if nothing happens before."""

    starts: Sequence[str] = ()
    wake_at: float | None = None


class Policy(Protocol):
    """Decides at every arrival and completion, and whenever it asked to be woken. A policy may keep a state."""

    def decide(self, view: View) -> Decision: ...
