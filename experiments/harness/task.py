"""A task: what the runner needs to know of a gap run or a simulation."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from experiments.harness.report_file import Reported, ReportFile
from experiments.harness.user_functions import source_digest
from instances import CheckFailed, InputError, Instance
from instances.online import RuleBroken
from instances.result import Termination
from instances.text import said_by


class Outcome(Protocol):
    """What a finished task is: a record that can be written as JSON and read again, and the options in effect."""

    @property
    def options(self) -> dict[str, Any]: ...

    def model_dump_json(self) -> str: ...


R = TypeVar("R", bound=Outcome)


class Digests:
    """Digests of what many tasks share, each made once."""

    def __init__(self) -> None:
        self._instances: dict[int, tuple[Instance, str]] = {}
        self._files: dict[Path, str] = {}
        self._sources: dict[tuple[str, bytes | None], str] = {}

    def instance(self, instance: Instance) -> str:
        """Digest of all that is in an instance, defaults written out: what one stands for is part of it."""
        if id(instance) not in self._instances:
            text = instance.model_dump_json()
            # with the instance, whose id would otherwise be given to another
            self._instances[id(instance)] = instance, hashlib.sha256(text.encode()).hexdigest()
        return self._instances[id(instance)][1]

    def file(self, path: Path) -> str:
        """Digest of what is in a file."""
        if path not in self._files:
            self._files[path] = hashlib.sha256(path.read_bytes()).hexdigest()
        return self._files[path]

    def of(self, value: Any) -> Any:
        """What stands for a value: the digest of an instance or of a file, anything else itself."""
        if isinstance(value, Instance):
            return self.instance(value)
        return self.file(value) if isinstance(value, Path) else value

    def source(self, target: str, code: bytes | None = None) -> str:
        """Digest of the module of a user's function, and of the modules beside it."""
        if (target, code) not in self._sources:
            self._sources[target, code] = source_digest(target, code)
        return self._sources[target, code]


class Task(Protocol[R]):
    """A task runs in a process of its own, `work`; what it hands back, or leaves behind, is judged in this one.

    `time_limit`: CPU seconds, after which and some grace the process is ended. `modules`: what a process imports
    before the clock starts.
    """

    @property
    def time_limit(self) -> float | None: ...

    @property
    def modules(self) -> tuple[str, ...]: ...

    @property
    def kernels(self) -> tuple[str, ...]:
        """What `kernels.json` lists the compiled functions of this task by."""

    def work(self, report: ReportFile) -> Any:
        """Do it. May raise anything; must return what can be pickled."""

    def outcome(self, found: Any) -> R:
        """The outcome of what `work` has returned, checked."""

    def ended(self, reported: Reported, termination: Termination, reason: str) -> R:
        """The outcome of a task that failed or was ended, from what its report has."""

    def content(self, digests: Digests) -> dict[str, Any]:
        """All that the outcome depends on, save for the options, for a digest."""

    def kept(self, outcome: R) -> bool:
        """Whether an outcome is final, and not to be tried again."""

    def recalled(self, text: str) -> R | None:
        """The outcome that was written as `text`; `None` where it does not hold, or is of other options."""

    def label(self) -> tuple[str, str]:
        """The names of what is run on what: instance and method, workload and policy."""


class Failure:
    """An exception of a task as a line of text, whatever its class and its message are."""

    def __init__(self, reason: str, reported: Reported) -> None:
        self.reason, self.reported = reason, reported

    @classmethod
    def of(cls, error: BaseException, reported: Reported) -> Self:
        name = type(error).__name__
        said = said_by(error)
        if not isinstance(error, InputError | CheckFailed | RuleBroken):
            said = f"{name}: {said}" if said else name
        return cls(" ".join(said.split()), reported)
