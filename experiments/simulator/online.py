"""What a paper gives the simulator: its world, its policies, and how a method's solution becomes a decision.

Any method is a policy: at every moment the exact problem of what is there is solved, and its solution begun. The first
part of a solution takes effect, and the next moment is solved afresh. Every solve is under a deterministic effort, so
that a simulation is the same on every machine; where it fails, breaks a constraint or ends without a solution, a
fallback decides, and the log of decisions says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from experiments.simulator.kernel import World
from instances import Instance, Options, ProblemData, Result, Solution
from instances.online import Decision, Policy

Policies = Mapping[str, Callable[[Any, Options], Policy[Any, Any]]]


class Snapshots(Protocol):
    """Problems of the moments of one run, made with a memory of it, and what a solution of the last one says to do."""

    def snapshot(self, view: Any) -> Any: ...
    def decision(self, view: Any, solution: Solution | None) -> Decision: ...


@dataclass(frozen=True)
class Remembered:
    """A further problem of a world, whose snapshots need a memory: `moments(data)` is made anew for each run."""

    problem: str
    moments: Callable[[Any], Snapshots]


@dataclass(frozen=True)
class Online:
    """How the workloads of one problem are simulated.

    `world(data)` makes the world. `policies`: names of policies, made anew from data and options. `unfit(name, data)`
    says why a policy cannot run. `problems` are those that `snapshot` makes: with `decision` and `fallback` any method
    of theirs is a policy (`replan`). `hours(data)`: hours of one unit of the world's clock. `baseline` is what others
    are compared with, `defaults` what runs unless named, `columns` the measures that the table of a world shows, with
    their headings, `slow` what is left out of `all`. `hosts`: policies that leave something to a method, called
    `host-method`, made from data and what the method decides of a view, `None` where it finds nothing. `remembered`:
    further problems, any method of which is a policy called `name-method`. `objective` is the measure of a row that
    the world is about, and `bound(data, totals)` what no policy does better than in it, one figure for the totals of
    each run, `None` where it is unknown. `example` makes a small workload, for a look, and `loads(data)` is the load of
    each pool, where there are pools.
    """

    world: Callable[[Any], World[Any]]
    policies: Policies
    unfit: Callable[[str, Any], str | None]
    problems: tuple[str, ...]
    snapshot: Callable[[Any], Any]
    decision: Callable[[Any, Solution | None], Decision]
    fallback: Callable[[], Policy[Any, Any]]
    hours: Callable[[Any], float]
    baseline: str
    defaults: tuple[str, ...]
    columns: Mapping[str, str]
    slow: tuple[str, ...] = ()
    loads: Callable[[Any], Mapping[str, float]] | None = None
    hosts: Mapping[str, Callable[[Any, Callable[[Any], Any]], Policy[Any, Any]]] = field(default_factory=dict)
    remembered: Mapping[str, Remembered] = field(default_factory=dict)
    objective: str = "mean_jct_h"
    bound: Callable[[Any, Sequence[Mapping[str, Any]]], Sequence[float | None]] | None = None
    example: Callable[[], Instance] | None = None


Solve = Callable[[ProblemData], Result]


@dataclass(frozen=True)
class Decided:
    """One decision: when, what the method said of its problem, and why a fallback decided (`None`: it did not)."""

    time: float
    status: str
    termination: str
    objective: float | None
    bound: float | None
    gap: float | None
    fallback: str | None


class Replan:
    """A policy that solves `snapshot(view)` with `solve` and does what `decision(view, solution)` says.

    `snapshot` answers `None` where there is nothing to decide, and the very object of the time before where the problem
    is still the same: then it is not solved again. `fallback` is a policy without a memory.
    """

    def __init__(
        self,
        solve: Solve,
        snapshot: Callable[[Any], ProblemData | None],
        decision: Callable[[Any, Any], Any],
        fallback: Policy[Any, Any],
    ) -> None:
        self.solve, self.snapshot, self.decision, self.fallback = solve, snapshot, decision, fallback
        self.log: list[Decided] = []
        self._solved: tuple[ProblemData, Result] | None = None

    def decide(self, view: Any) -> Any:
        data = self.snapshot(view)
        if data is None:
            return self.decision(view, None)
        fresh = self._solved is None or self._solved[0] is not data
        if self._solved is None or fresh:
            self._solved = data, self.solve(data)
        result = self._solved[1]
        why = None if result.solved else result.reason or (result.violations or (result.status,))[0]
        if fresh or why:
            self.log.append(
                Decided(view.now, result.status, result.termination, result.objective, result.bound, result.gap, why)
            )
        return self.fallback.decide(view) if why else self.decision(view, result.solution)


class Nothing:
    """The fallback of a method within another policy, which then does without."""

    def decide(self, view: Any) -> None:
        return None
