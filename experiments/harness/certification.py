"""A certification: a certificate for the bound of a finished run."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from experiments.harness.run import Run, Unchecked, conclude_run, load_method
from experiments.harness.task import Digests, HarnessTask, Reported, ReportFile
from experiments.harness.user_functions import resolve
from instances import CheckFailed, InputError, Result
from instances.fields import Frozen
from instances.proofs import Certificate, NoCertificate
from instances.proofs.certificate import round_bound
from instances.proofs.verify import see_certificate
from instances.registry import PROBLEMS
from instances.result import Termination


class Certified(Frozen):
    """A result whose bound is what its certificate proves; without one, the result as it was and the `reason`."""

    result: Result
    kind: Literal["vipr", "json"] | None = None
    text: str | None = None
    reason: str | None = None

    @property
    def options(self) -> dict[str, Any]:
        return self.result.options


def certifiable(result: Result) -> bool:
    """Return whether a certificate could prove something: a bound of a solution, or infeasibility."""
    if result.status == "infeasible":
        return PROBLEMS[result.problem].proves_empty
    return result.bound is not None and result.solved


@dataclass(frozen=True)
class Certification(HarnessTask[Certified]):
    """Compute the certificate of the certifiable result of a run, within a separate time limit as long as the run's.

    `certifier`: the `module:function` that makes it; `None` where a problem has none.
    """

    run: Run
    result: Result
    certifier: str | None

    @property
    def time_limit(self) -> float | None:
        return self.run.options.time_limit

    @property
    def modules(self) -> tuple[str, ...]:
        return () if self.certifier is None else (self.certifier.partition(":")[0],)

    @property
    def kernels(self) -> tuple[str, ...]:
        return (f"{self.result.problem} certificate",)

    def label(self) -> tuple[str, str]:
        return self.run.label()

    def work(self, report: ReportFile) -> Certificate | str:
        """Make the certificate and verify it; return it, or why there is none."""
        result, data = self.result, self.run.instance.data
        bound = math.inf if result.bound is None else result.bound
        if self.certifier is None:
            return f"no certificates are written for {result.problem}"
        try:
            certify = resolve(self.certifier)
            found: Certificate = certify(data, result.solution, bound, self.run.options)
            see_certificate(self.run.instance, found, empty=result.status == "infeasible")
            return found
        except NoCertificate as error:
            return str(error)
        except (CheckFailed, InputError) as error:
            return f"the verifier refuses the certificate: {error}"

    def outcome(self, found: Certificate | str) -> Certified:
        """Return the result with the bound of its certificate, which may be weaker than before."""
        if isinstance(found, str):
            return Certified(result=self.result, reason=found)
        method, result = load_method(self.run.entry), self.result
        if result.status == "infeasible":
            proven = result.model_copy(update={"info": {**result.info, "certificate": found.how}})
            return Certified(result=proven, kind=found.kind, text=found.text)
        answer = replace(
            result.unchecked(),
            bound=round_bound(found.bound, result.sense),
            info={**result.info, "certificate": found.how},
        )
        known = Unchecked(answer, method.kind, method.honours)
        try:
            checked = conclude_run(self.run.entry, self.run.instance, known, self.run.options)
        except CheckFailed as error:
            return Certified(result=self.result, reason=f"the proof contradicts the solution: {error}")
        checked = checked.model_copy(update={"options": result.options})
        return Certified(result=checked, kind=found.kind, text=found.text)

    def conclude_early(self, reported: Reported, termination: Termination, reason: str) -> Certified:
        return Certified(result=self.result, reason=reason)

    def content(self, digests: Digests) -> dict[str, Any]:
        return {**self.run.content(digests), "certificate": True}
