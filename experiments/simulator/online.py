"""What a paper tells the simulator: its world, its policies, and how a method's solution becomes a decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from experiments.simulator.kernel import World
from instances import Instance, Options, Solution
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
    tells why a policy cannot run. `problems` are those that `snapshot` makes: with `decision` and `fallback` any method
    of theirs is a policy (`replan`). `hours(data)`: hours of one unit of the world's clock. `baseline` is what others
    are compared with, `defaults` what runs unless named, `columns` the measures that the table of a world shows, with
    their headings, `slow` what is left out of `all`. `hosts`: policies with room for a method, called `host-method`,
    made from data and what the method decides of a view, `None` where it finds nothing. `remembered`: further problems,
    any method of which is a policy called `name-method`. `objective` is the measure of a row that the world is about,
    and `bound(data, totals)` what no policy does better than in it, one figure for the totals of each run, `None` where
    it is unknown. `example` makes a small workload, for a look, and `loads(data)` tells the load of each pool, where
    there are pools.
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
