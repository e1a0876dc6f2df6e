"""The online face of every problem: what a policy is, what it answers, and the rule that it may break.

A world of the simulator shows a policy a *view* at every moment at which something happened, and lets the *decision*
take effect. Views and decisions are the papers' own: `instances/<paper>/online.py` has them, with `snapshot(view)`,
the exact problem of this moment, and `decision(view, solution)`, what a solution of it says to do now.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from instances.fields import ProblemData, refuse

View = TypeVar("View", contravariant=True)
MOST_ROUNDS = 1_000_000  # of a run: what takes more is a unit mistake, and nobody waits for its end
Decided = TypeVar("Decided", covariant=True)


class Workload(ProblemData):
    """The `data` of a workload file: what arrives, and the cluster or cloud where it runs.

    A world of the simulator runs it under a policy, and no method solves it. Its `sense` and `unit` are those of what
    the world is about, so that a file can say what is known of the best policy.
    """


def refuse_short_period(field: str, period: float, seconds: float, what: str) -> None:
    """Raise where there would be more than MOST_ROUNDS periods in the `seconds` that a run may well take: `what`."""
    if period * MOST_ROUNDS < seconds:
        least = f"must be >= {seconds / MOST_ROUNDS:g}, for there are at most {MOST_ROUNDS:,} rounds"
        refuse(field, f"{least} in the {seconds:g} s of {what}", period)


class RuleBroken(RuntimeError):
    """A policy or a world broke a rule: the message names the job and the time."""


@dataclass(frozen=True)
class Decision:
    """A policy's answer. `wake_at`: the time to ask again even if nothing happens before; a paper adds the rest."""

    wake_at: float | None = None


class Policy(Protocol[View, Decided]):
    """A policy decides at every moment at which something happened, and whenever it asked to be woken.

    It may keep a state. The view belongs to the world, and holds until the policy has answered.
    """

    def decide(self, view: View) -> Decided: ...
