"""The rounds of a run as problems of `eva-reconfiguration`, with the memory that the horizon needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from experiments.simulator import simulate
from experiments.simulator.eva import CloudWorld
from instances import Instance, Solution, check
from instances.eva import EvaCloud, EvaReconfiguration
from instances.eva.online import CloudView, Configuration, RoundProblems, round_decision

if TYPE_CHECKING:
    from heuristics.eva.online_eva import Horizon

CENT = 0.01


class Rounds:
    """Build the problem of every round with an event (arrival or end of a job); in other rounds nothing changes.

    D is Eva's estimate from the events so far and the rounds that Full has won. Here, a round is won if its solution
    saves at least one cent more than Partial Reconfiguration.
    """

    def __init__(self, data: EvaCloud) -> None:
        from heuristics.eva.online_eva import Horizon  # imports compiled loops, so only if it is used

        self.horizon: Horizon = Horizon()
        self._problems = RoundProblems(data)
        self._last: EvaReconfiguration | None = None

    def snapshot(self, view: CloudView) -> EvaReconfiguration | None:
        """Return the problem of this round; `None` without an event or without a movable task."""
        self.horizon.note(view)
        movable = {task.job for task in view.tasks.values() if not task.pinned}
        self._last = None
        if movable:
            self.horizon.update(view, movable)
            if view.arrived or view.finished or any(task.instance is None for task in view.tasks.values()):
                self._last = self._problems.problem(view, self.seconds(view.now))
        return self._last

    def seconds(self, now: float) -> float:
        """Return D in seconds; 0 if there is no positive estimate, so that no task moves for a saving."""
        seconds = self.horizon.seconds(now)
        return seconds if seconds > 0 else 0.0

    def decision(self, view: CloudView, solution: Solution | None) -> Configuration:
        """Convert a solution of the last problem to a configuration."""
        from heuristics.eva.round import worth_of_partial  # loaded only if a round is solved

        if solution is not None and self._last is not None:
            saving = check(self._last, solution).objective
            self.horizon.won += saving is not None and saving >= worth_of_partial(self._last) + CENT
        return round_decision(view, solution)


class _Recorder:
    """Run Eva and record the problem of every round with an event, with Eva's own D."""

    def __init__(self, data: EvaCloud) -> None:
        from heuristics.eva.online_eva import Eva

        self.eva, self.problems = Eva(data), RoundProblems(data)
        self.rounds: list[tuple[float, EvaReconfiguration]] = []

    def decide(self, view: CloudView) -> Configuration:
        happened = view.arrived or view.finished
        decided = self.eva.decide(view)
        if happened:
            seconds = self.eva.horizon.seconds(view.now)
            problem = self.problems.problem(view, seconds if seconds > 0 else 0.0)
            if problem is not None:
                self.rounds.append((view.now, problem))
        return decided


def rounds_of_eva(workload: Instance[EvaCloud], every: int = 1) -> list[Instance[EvaReconfiguration]]:
    """Return the problems of Eva's rounds with an event on a workload, only every `every`-th of them."""
    recorder = _Recorder(workload.data)
    simulate(CloudWorld(workload.data), recorder)
    return [
        Instance.of(problem, f"{workload.name}-round-{now:.0f}", f"Eva's round at second {now:.0f} of {workload.name}")
        for now, problem in recorder.rounds[every - 1 :: every]
    ]
