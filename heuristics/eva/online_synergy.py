"""Synergy as the authors of Eva have it: each new task where it pays best beside others, or alone; nothing moves."""

from __future__ import annotations

from heuristics.eva.online_order import SetOrder, pinned_first
from heuristics.eva.online_plan import Cloud, Plan, Planned
from instances.eva import EvaCloud
from instances.eva.learned import LearnedThroughput
from instances.eva.online import Configuration, Hosting, TaskState, View


class Synergy:
    """A task that waits goes to the instance with room where TNRP of all tasks over price is largest.

    That must be at least 1, and TNRP is that of section 4.3, with what was learned of throughput; ties go to the best
    aligned instance. Else the task gets an instance of its cheapest type. Instances that are being set up, or were
    ordered for another task a moment ago, take part.
    """

    def __init__(self, data: EvaCloud) -> None:
        self.cloud = Cloud(data)
        self._order = SetOrder()

    def decide(self, view: View) -> Configuration:
        self._order.update(view)
        if not view.arrived and not view.finished:
            return Configuration()
        if not view.arrived and all(task.instance is not None for task in view.tasks.values()):
            kept = (Hosting(i.instance_type, i.tasks, i.id) for i in view.instances.values() if i.tasks)
            return Configuration(instances=tuple(kept))
        plan = Plan(self.cloud)
        every = self._order.tasks(view)
        plan.keep(view, pinned_first(every))
        for task in every:
            if task.instance is None:
                self._place(task, plan, view.learned)
        return plan.configuration()

    def _place(self, task: TaskState, plan: Plan, learned: LearnedThroughput) -> None:
        best: tuple[float, float] | None = None
        where: Planned | None = None
        for planned in plan:
            if not plan.fits(task, planned):
                continue
            ratio = tnrp(self.cloud, [*planned.tasks, task], learned) / self.cloud.price[planned.kind]
            if ratio >= 1 and (best is None or ratio >= best[0]):
                score = ratio, plan.alignment(task, planned)
                if best is None or score > best:
                    best, where = score, planned
        if where is None:
            where = plan.new(self.cloud.cheapest[self.cloud.of_class[task.task_class]])
        plan.put(task, where)


def tnrp(cloud: Cloud, tasks: list[TaskState], learned: LearnedThroughput) -> float:
    """Throughput-normalised reservation price of some tasks on one instance, of one-task jobs (section 4.3), USD/h."""
    total = 0.0
    for i, task in enumerate(tasks):
        beside = tuple(sorted([t.task_class for t in tasks[:i]] + [t.task_class for t in tasks[i + 1 :]]))
        total += cloud.reservation_price[cloud.of_class[task.task_class]] * learned.believed(task.task_class, beside)
    return total
