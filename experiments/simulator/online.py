"""The interface between a paper and the simulator: its world, its policies, and the step from solution to decision.

Any method is a policy: at every decision time, the method solves the exact problem of the current state. Only the first
part of the solution takes effect, because the next decision solves again. Every solve has a deterministic effort limit,
so that a simulation is the same on every machine. If a solve fails, breaks a constraint or ends without a solution, a
fallback decides, and the log of decisions records it.
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
    """Build the problems of one run with a memory of it, and convert the solution of the last one to a decision."""

    def snapshot(self, view: Any) -> Any: ...
    def decision(self, view: Any, solution: Solution | None) -> Decision: ...


@dataclass(frozen=True)
class Remembered:
    """A further problem of a world, whose snapshots need a memory: each run calls `moments(data)` once."""

    problem: str
    moments: Callable[[Any], Snapshots]


@dataclass(frozen=True)
class Online:
    """How the workloads of one problem are simulated.

    - `world(data)`: builds the world.
    - `policies`: constructors of policies by name, called with data and options for each run.
    - `unfit(name, data)`: why a policy cannot run, `None` if it can.
    - `problems`: the problems that `snapshot` builds. With `decision` and `fallback`, any of their methods is a policy
      (`Replan`).
    - `hours(data)`: hours per unit of the world's clock.
    - `baseline`: the policy that others are compared with.
    - `defaults`: policies that run unless others are named.
    - `columns`: measures in the table of the world, with their headings.
    - `slow`: policies that `all` excludes.
    - `hosts`: policies that delegate a decision to a method, named `host-method`. They are built from the data and a
      function from a view to the method's decision, `None` if the method finds no solution.
    - `remembered`: further problems; any of their methods is a policy named `name-method`.
    - `objective`: the main measure of a row.
    - `bound(data, totals)`: a bound on this measure for any policy, one per totals of a run; `None` if unknown.
    - `example`: builds a small example workload.
    - `loads(data)`: the load of each pool, if the world has pools.
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
    """One decision: its time, the method's result for the problem, and why a fallback decided (`None`: it did not)."""

    time: float
    status: str
    termination: str
    objective: float | None
    bound: float | None
    gap: float | None
    fallback: str | None


class Replan:
    """A policy that solves `snapshot(view)` with `solve` and returns `decision(view, solution)`.

    `snapshot` returns `None` if there is nothing to decide. If the problem has not changed, it returns the same object
    as before, and the problem is not solved again. `fallback` is a policy without a memory.
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
    """The fallback of a method within another policy: the policy then decides without the method."""

    def decide(self, view: Any) -> None:
        return None
