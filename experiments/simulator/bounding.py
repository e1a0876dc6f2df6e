"""The bound on every policy as a task of the harness: what no policy, clairvoyant ones included, does better than."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from experiments.harness.report_file import ReportFile
from experiments.harness.task import Digests
from experiments.harness.whole import Whole, WholeTask
from experiments.simulator.simulated import Simulated
from experiments.simulator.simulation import Simulation, online_of
from instances import Instance, Options
from instances.result import versions


class Bounds(Whole):
    """Lower bounds on the objective of one workload's runs, in the unit of the row's measure; `None` where unknown."""

    policies: tuple[str, ...]
    values: list[float | None]

    def line(self) -> str:
        """The bounds in one line."""
        known = [value for value in self.values if value is not None]
        least = f" {min(known):.6g}" if known else ""
        return f"{self.workload} bound {self.status}{least}" + (f" ({self.reason})" if self.reason else "")


@dataclass(frozen=True)
class Bounding(WholeTask[Bounds]):
    """The bounds of the runs of one workload; `totals` are what each run has used, for bounds that depend on it."""

    outcome_type = Bounds

    workload: Instance
    policies: tuple[str, ...]
    totals: tuple[Mapping[str, Any], ...]
    options: Options = Options()

    def label(self) -> tuple[str, str]:
        return self.workload.name, "bound"

    def work(self, report: ReportFile) -> Bounds:
        bound = online_of(self.workload).bound
        assert bound is not None
        return self.made("finished", values=list(bound(self.workload.data, self.totals)))

    def content(self, digests: Digests) -> dict[str, Any]:
        return {
            "bounded": digests.instance(self.workload),
            "policies": self.policies,
            "totals": [dict(totals) for totals in self.totals],
            "versions": versions(),
        }

    def made(self, status: Literal["finished", "error"], **fields: Any) -> Bounds:
        """The bounds, under the names of the policies; unknown where there are none in `fields`."""
        unknown = {"policies": self.policies, "values": [None] * len(self.totals)}
        return super().made(status, **unknown | {"workload": self.workload.name} | fields)


def boundings(tasks: Sequence[Simulation], done: Sequence[Simulated]) -> list[Bounding]:
    """The bounds to be made: one task a workload that has a finished run, in a world that has a bound."""
    found: dict[str, list[tuple[Simulation, Simulated]]] = {}
    for task, run in zip(tasks, done, strict=True):
        if run.status == "finished" and online_of(task.workload).bound is not None:
            found.setdefault(run.workload, []).append((task, run))
    return [
        Bounding(
            runs[0][0].workload,
            tuple(run.policy for _, run in runs),
            tuple(run.totals for _, run in runs),
            runs[0][0].options,
        )
        for runs in found.values()
    ]


def by_run(bounds: Sequence[Bounds]) -> dict[tuple[str, str], float | None]:
    """The bound of each run, by the names of its workload and its policy."""
    return {
        (one.workload, policy): value for one in bounds for policy, value in zip(one.policies, one.values, strict=True)
    }
