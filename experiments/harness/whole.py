"""A task that is all or nothing: what its work returns is its outcome, and a failed one has a reason and no figures."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Generic, Literal, TypeVar

from pydantic import Field

from experiments.harness.report_file import Reported, ReportFile
from experiments.harness.task import Digests
from instances import Options
from instances.fields import Frozen
from instances.options import OPTION_NAMES
from instances.result import Termination


class Whole(Frozen):
    """The outcome of such a task; what it is about is in the fields of a subclass, which are empty where it failed."""

    workload: str
    status: Literal["finished", "error"]
    reason: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    def line(self) -> str:
        """The outcome in one line."""
        return f"{self.workload} {self.status}" + (f" ({self.reason})" if self.reason else "")


W = TypeVar("W", bound=Whole)


class WholeTask(Generic[W]):
    """The parts of a task that are the same for all that are all or nothing, and have no time limit as a whole.

    `outcome_type`: the class of the outcome. A subclass says how it is called (`label`), what it does (`work`) and
    what its outcome depends on (`content`), and fills in further fields of a failed outcome in `made`.
    """

    outcome_type: ClassVar[type[Any]]
    options: Options

    @property
    def time_limit(self) -> float | None:
        return None

    @property
    def modules(self) -> tuple[str, ...]:
        return ()

    @property
    def kernels(self) -> tuple[str, ...]:
        return ()

    @property
    def effective(self) -> Options:
        """The options in effect, where they are not those asked for."""
        return self.options

    @abstractmethod
    def label(self) -> tuple[str, str]: ...

    @abstractmethod
    def work(self, report: ReportFile) -> W: ...

    @abstractmethod
    def content(self, digests: Digests) -> dict[str, Any]: ...

    def outcome(self, found: W) -> W:
        return found

    def ended(self, reported: Reported, termination: Termination, reason: str) -> W:
        return self.made("error", reason=reason)

    def kept(self, outcome: W) -> bool:
        return outcome.status == "finished"

    def recalled(self, text: str) -> W | None:
        found: W = self.outcome_type.model_validate_json(text)
        return found if found.options == self.effective.only(OPTION_NAMES) else None

    def made(self, status: Literal["finished", "error"], **fields: Any) -> W:
        """The outcome of this task and its options, with `fields`."""
        made: W = self.outcome_type(
            **{"workload": self.label()[0], "status": status, "options": self.effective.only(OPTION_NAMES)} | fields
        )
        return made
