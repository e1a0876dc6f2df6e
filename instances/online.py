"""Define online problems: the policy, its decision, and the error for a broken rule.

A world of the simulator shows a policy a *view* (its observation) after every event, and applies the *decision*. Each
paper has its own views and decisions in `instances/<paper>/online.py`. There, `snapshot(view)` returns the exact
problem of this moment, and `decision(view, solution)` converts a solution of it to a decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from instances.fields import ProblemData, refuse

View = TypeVar("View", contravariant=True)
MOST_ROUNDS = 1_000_000  # of a run: more rounds indicate a wrong unit and would take too long
Decided = TypeVar("Decided", covariant=True)


class Workload(ProblemData):
    """The `data` of a workload file: what arrives, and the cluster or cloud where it runs.

    A world of the simulator runs it under a policy, and no method solves it. Its `sense` and `unit` are those of what
    the world is about, so that a file can say what is known of the best policy.
    """


def refuse_short_period(field: str, period: float, seconds: float, what: str) -> None:
    """Raise a validation error if a run of `seconds` has more than MOST_ROUNDS periods; `what` names the run."""
    if period * MOST_ROUNDS < seconds:
        least = f"must be >= {seconds / MOST_ROUNDS:g}, for there are at most {MOST_ROUNDS:,} rounds"
        refuse(field, f"{least} in the {seconds:g} s of {what}", period)


class RuleBroken(RuntimeError):
    """A policy or a world broke a rule: the message names the job and the time."""


@dataclass(frozen=True)
class Decision:
    """The answer of a policy; each paper adds its own fields.

    `wake_at`: the time of the next decision if no event comes first.
    """

    wake_at: float | None = None


class Policy(Protocol[View, Decided]):
    """A policy decides after every event and at each `wake_at` that it requested.

    It may keep a state. The view belongs to the world and is valid until the policy has answered.
    """

    def decide(self, view: View) -> Decided: ...
