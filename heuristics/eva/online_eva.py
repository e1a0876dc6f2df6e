"""Eva as time goes by: in every round Full or Partial Reconfiguration, whichever promises more (section 4.5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from heuristics.eva.online_order import SetOrder
from heuristics.eva.online_provision import Plan
from heuristics.eva.online_reconfiguration import Rentable, Round
from heuristics.eva.online_table import LearnedTable
from instances.eva import EvaCloud
from instances.eva.online import CloudView, Configuration

Planner = Callable[[CloudView], Configuration | None]
"""What plans all tasks of a moment anew; `None` where it finds nothing."""
SECONDS = 3600


@dataclass(frozen=True)
class EvaParameters:
    """How Eva decides.

    - `full`, `partial`: whether it may reconfigure fully, and partially.
    - `whole_jobs`: whether Algorithm 1 charges a task that is slowed down for all tasks of the job (section 4.4).
    - `interference`: whether it prices tasks by their learned throughput (TNRP) or as if they ran alone (RP).
    - `horizon_seconds`: how long a configuration is taken to last; `None` is the estimate of section 4.5.
    - `setup_seconds`: of a new instance that count as the cost of a migration.
    """

    full: bool = True
    partial: bool = True
    whole_jobs: bool = True
    interference: bool = True
    horizon_seconds: float | None = None
    setup_seconds: float = 300.0


class Horizon:
    """How long a configuration will last: D-hat = -1 / (lambda ln(1 - p)) (section 4.5), as the artifact estimates it.

    Events are arrivals and ends of jobs as seen at rounds, lambda their rate from the first to the last, p the rounds
    that a full reconfiguration has won over the events. Before it has won, D is the time since the start.
    """

    def __init__(self) -> None:
        self.events: list[float] = []
        self.won = 0
        self._movable: set[str] = set()
        self._ends: dict[str, float] = {}

    def note(self, view: CloudView) -> None:
        """Take in the jobs that have ended."""
        self._ends.update(view.finished)

    def update(self, view: CloudView, movable: set[str]) -> None:
        """Take in a round: a job has arrived if it could not be moved at the last round, and ended if it is gone."""
        ended = {name: end for name, end in self._ends.items() if name in self._movable}
        new = [view.jobs[name].arrival_seconds for name in view.jobs if name not in self._movable]
        self.events += sorted([*new, *ended.values()])
        self._ends.clear()
        self._movable = movable

    def seconds(self, now: float) -> float:
        """D; not a number where p is above 1, or cannot be told from one event."""
        p = self.won / max(1, len(self.events))
        if p == 0:
            return now
        if len(self.events) < 2 or p > 1:
            return math.nan
        gap = (self.events[-1] - self.events[0]) / (len(self.events) - 1)
        return 0.0 if p == 1 or gap <= 0 else -gap / math.log(1 - p)


class Eva:
    """Eva's scheduler as in the authors' artifact; with `planner` that plans in the place of Full."""

    def __init__(
        self, data: EvaCloud, parameters: EvaParameters = EvaParameters(), planner: Planner | None = None
    ) -> None:
        self.parameters, self.planner = parameters, planner
        self.horizon = Horizon()
        self.rounds = self.full_rounds = 0
        """Rounds with tasks that could move, and those of them that were full reconfigurations."""
        self._rentable = Rentable(data)
        self._table = LearnedTable(self._rentable.names, data.believed_throughput, interference=parameters.interference)
        self._alone = LearnedTable(self._rentable.names, data.believed_throughput)
        self._classes = {c.name: c for c in data.classes}
        self._price_alone: dict[str, float] = {}
        self._order = SetOrder()
        self._planned: tuple[int, Configuration | None] = (-1, None)

    def totals(self) -> dict[str, int]:
        """Rounds with tasks that could move, and how many of them were full reconfigurations."""
        return {"rounds": self.rounds, "full_rounds": self.full_rounds}

    def decide(self, view: CloudView) -> Configuration:
        self._order.update(view)
        self.horizon.note(view)
        if self.parameters.interference:
            self._table.update(view.learned)
        for name in view.arrived:
            classes = [view.tasks[task].task_class for task in view.jobs[name].tasks]
            self._price_alone[name] = self._rentable.price_alone(classes, self._alone)
        round_ = Round(self._rentable, self._table, view, self._order, whole_jobs=self.parameters.whole_jobs)
        if not round_.movable:
            return round_.configuration(round_.pinned_plan())
        self.rounds += 1
        plan = self._chosen(round_, view)
        return round_.configuration(plan)

    def _chosen(self, round_: Round, view: CloudView) -> Plan:
        """Full Reconfiguration where it promises more, to the cent (equation 1)."""
        partial = round_.partial() if self.parameters.partial else None
        full = self._full(round_, view) if self.parameters.full else None
        self.horizon.update(view, {round_.states[i].job for i in round_.movable})
        if full is None:
            assert partial is not None
            return partial
        if partial is not None:
            seconds = self.parameters.horizon_seconds
            seconds = self.horizon.seconds(view.now) if seconds is None else seconds
            if not self._promise(round_, full, seconds, view) > self._promise(round_, partial, seconds, view):
                return partial
        self.horizon.won += 1
        self.full_rounds += 1
        return full

    def _full(self, round_: Round, view: CloudView) -> Plan:
        if self.planner is None:
            return round_.full()
        if self._planned[0] != view.version:
            self._planned = view.version, self.planner(view)
        planned = self._planned[1]
        return round_.full() if planned is None or planned.instances is None else round_.plan_of(planned)

    def _promise(self, round_: Round, plan: Plan, seconds: float, view: CloudView) -> float:
        """S D - M of a plan, USD, rounded to cents."""
        jobs, new = round_.moved(plan)
        cost = 0.0
        for name in jobs:
            cost += self._migration_cost(name, view)
        rented = 0.0
        for kind in new:
            rented += self._rentable.price[kind] / SECONDS * self.parameters.setup_seconds
        total = round_.saving(plan) * seconds - (cost + rented)
        return total if math.isnan(total) or math.isinf(total) else round(total, 2)

    def _migration_cost(self, name: str, view: CloudView) -> float:
        """Delays of a job's move as seen so far, at the price of the job alone, USD."""
        longest = init = 0.0
        for task in view.jobs[name].tasks:
            state = view.tasks[task]
            kind = self._classes[state.task_class]
            seen = (kind.fetch_seconds + kind.build_seconds) * state.seen_launch
            longest = max(longest, seen + kind.upload_seconds * state.seen_upload)
            init = max(init, kind.init_seconds)
        return (longest + init) * self._price_alone[name]
