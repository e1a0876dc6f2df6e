"""A gap run: one method on one instance."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from experiments.harness.apply import Unchecked, answer, concluded, load_method, uses_start
from experiments.harness.entry import Entry
from experiments.harness.report_file import Reported, ReportFile
from experiments.harness.starts import Start
from experiments.harness.task import Digests, Failure
from instances import Answer, Instance, Options, Result
from instances.gaps import ahead
from instances.result import Termination, versions

CHECKED = ("status", "objective", "bound", "gap", "violations", "solution")


@dataclass(frozen=True)
class Run:
    """One method on one instance, with the options asked for, and perhaps a known solution to start from."""

    instance: Instance
    entry: Entry
    options: Options
    instance_set: str = ""
    start: Start | None = None

    @property
    def time_limit(self) -> float | None:
        return self.options.time_limit

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules of a method of this project and its starts; a user's own may do anything when it is imported."""
        return () if self.entry.by_user else tuple(e.target.partition(":")[0] for e in (self.entry, *self.entry.starts))

    @property
    def kernels(self) -> tuple[str, ...]:
        called = () if self.entry.by_user else (self.entry, *self.entry.starts)
        return tuple(sorted(f"{self.instance.problem} {entry.name}" for entry in called))

    def label(self) -> tuple[str, str]:
        return self.instance.name, self.entry.name

    def work(self, report: ReportFile) -> Unchecked:
        method = load_method(self.entry)
        honours = method.honours | {"start"} if uses_start(method) else method.honours
        report.begin((method.kind, honours))
        found = answer(self.entry, method, self.instance, self.options, report, self.start)
        return Unchecked(found, method.kind, honours)

    def outcome(self, found: Unchecked) -> Result:
        """The result, checked against the data of this process; of status `error` where it is refuted."""
        try:
            return self._concluded(found)
        except Exception as error:
            reason = Failure.of(error, Reported()).reason
            return self._concluded(replace(found, answer=Answer(None, None, "error", reason)))

    def _concluded(self, found: Unchecked) -> Result:
        """The checked result, with the objective of the start among the options in effect."""
        result = concluded(self.entry, self.instance, found, self.options)
        return result.model_copy(update={"options": self._in_effect(result.options, found.honours)})

    def _in_effect(self, options: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
        return options | ({"start": self.start.objective} if self.start is not None and "start" in names else {})

    def ended(self, reported: Reported, termination: Termination, reason: str) -> Result:
        """The better of the first and the last incumbent: the first may be a start, and the last a worse solution."""
        known = Unchecked(Answer(reported.solution, reported.bound, termination, reason, trace=reported.trace))
        if reported.about is not None:
            known = replace(known, kind=reported.about[0], honours=reported.about[1])
        result = self.outcome(known)
        if result.status == "error" or reported.first is None or reported.first == reported.solution:
            return result
        started = self.outcome(replace(known, answer=replace(known.answer, solution=reported.first)))
        if started.objective is None or not started.solved:
            return result
        return started if ahead(started.objective, result.objective, result.sense) else result

    def content(self, digests: Digests) -> dict[str, Any]:
        started = {} if self.start is None else {"start": self.start.solution}
        return started | {
            "instance": digests.instance(self.instance),
            "method": self.entry.target,
            "starts": [start.name for start in self.entry.starts],
            "versions": versions(),
            "limit": "CPU",  # results of the time when limits counted waiting and compilation are not taken up again
            "source": digests.source(self.entry.target, self.entry.code) if self.entry.by_user else None,
        }

    def kept(self, outcome: Result) -> bool:
        return outcome.status != "error"

    def recalled(self, text: str) -> Result | None:
        """A kept result, where its options are those asked for and the checker says of its solution what it says."""
        result = Result.model_validate_json(text)
        if result.options != self._in_effect(self.options.only(frozenset(result.options)), result.options):
            return None
        found = Unchecked(result.unchecked(), honours=frozenset(result.options))
        again = concluded(self.entry, self.instance, found, self.options)
        return result if all(getattr(again, name) == getattr(result, name) for name in CHECKED) else None
