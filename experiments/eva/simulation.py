"""Eva's cloud in the simulator: the world, the policies, what a solution says to do, and its rounds as problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from experiments.simulator import simulate
from experiments.simulator.eva import CloudWorld
from experiments.simulator.online import Online, Policies, Remembered
from heuristics.eva.online import ONLINE, WaitingAlone, eva_with
from instances import Instance, Options, Solution, check
from instances.eva import EvaCloud, EvaPacking, EvaReconfiguration, synthetic_cloud
from instances.eva.online import CloudView, Configuration, RoundProblems, decision, round_decision, snapshot
from instances.online import Policy

CENT = 0.01


class Rounds:
    """Build the problem of every round with an event (arrival or end of a job); in other rounds nothing changes.

    D is Eva's estimate from the events so far and the rounds that Full has won. Here, a round is won if its solution
    saves at least one cent more than Partial Reconfiguration.
    """

    def __init__(self, data: EvaCloud) -> None:
        from heuristics.eva.online_eva import Horizon  # imports compiled loops, so only if it is used

        self.horizon = Horizon()
        self._problems = RoundProblems(data)
        self._last: EvaReconfiguration | None = None

    def snapshot(self, view: CloudView) -> EvaReconfiguration | None:
        """Return the problem of this round; `None` without an event or without a movable task.

        If there is no positive estimate of D, it is 0, so that no task moves for a saving.
        """
        self.horizon.note(view)
        movable = {task.job for task in view.tasks.values() if not task.pinned}
        self._last = None
        if movable:
            self.horizon.update(view, movable)
            if view.arrived or view.finished or any(task.instance is None for task in view.tasks.values()):
                self._last = self._problems.problem(view, max(0.0, self.horizon.seconds(view.now)))
        return self._last

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
            problem = self.problems.problem(view, max(0.0, self.eva.horizon.seconds(view.now)))
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


SMALL_JOBS = 12


def _online(name: str, data: EvaCloud, options: Options) -> Policy[CloudView, Configuration]:
    return ONLINE[name](data)


def _unfit(name: str, data: EvaCloud) -> str | None:
    """Return no literal model: it states the cost only, and the packing of a moment maximises net savings."""
    return "section 4.1 states the objective cost only" if name in ("literal", "eva-with-literal") else None


def _bound(data: EvaCloud, totals: Sequence[Mapping[str, Any]]) -> list[float | None]:
    """Return a lower bound on any policy's bill, which does not depend on the runs."""
    from models.eva.work_bound import work_bound  # imports HiGHS and compiled loops, so only if it is used

    return [work_bound(data).usd] * len(totals)


POLICIES: Policies = {name: partial(_online, name) for name in ONLINE}
ONLINE_OF = {
    EvaCloud.problem: Online(
        world=CloudWorld,
        policies=POLICIES,
        unfit=_unfit,
        problems=(EvaPacking.problem,),
        snapshot=snapshot,
        decision=decision,
        fallback=WaitingAlone,
        hours=lambda data: 1 / 3600,
        baseline="no-packing",
        columns={
            "cost_usd": "bill, USD",
            "cost_share": "share",
            "gap_to_bound": "gap to bound",
            "mean_jct_h": "mean JCT, h",
            "mean_throughput": "throughput",
            "instances_launched": "instances",
            "tasks_per_instance": "tasks each",
            "migrations": "moves",
        },
        defaults=("synergy", "stratus", "owl", "eva"),
        hosts={"eva-with": eva_with},
        remembered={"reconfiguration": Remembered(EvaReconfiguration.problem, Rounds)},
        objective="cost_usd",
        bound=_bound,
        example=lambda: synthetic_cloud(SMALL_JOBS, 0),
    )
}
