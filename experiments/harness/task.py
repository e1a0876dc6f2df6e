"""Define tasks: the protocol between runner and task, the report file of a running task, and all-or-nothing tasks."""

from __future__ import annotations

import hashlib
import os
import pickle
import sysconfig
import time
import traceback
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

from pydantic import Field

from experiments.harness.user_functions import NAMES, ROOT, resolve, source_digest
from instances import CheckFailed, InputError, Instance, Options, Solution, Stopwatch
from instances.fields import Frozen
from instances.online import RuleBroken
from instances.options import OPTION_NAMES
from instances.result import Termination, TracePoint, versions
from instances.text import describe_error

BOUND_EVERY_S = 0.5  # minimum interval between writes of a bound without an incumbent


@dataclass
class Reported:
    """The first and the last incumbent and the bound, `None` until reported; `about` describes the running work."""

    first: Solution | None = None
    solution: Solution | None = None
    bound: float | None = None
    trace: list[TracePoint] = field(default_factory=list)
    about: Any = None

    @staticmethod
    def read(path: Path) -> Reported:
        """Read the report from `path`; return an empty report if the file does not exist."""
        return pickle.loads(path.read_bytes()) if path.exists() else Reported()


class ReportFile:
    """Write the report of a running method: each incumbent at once, to a file that is replaced atomically."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reported = Reported()
        self._started = self._written = time.monotonic()

    def begin(self, about: Any) -> None:
        """Record a description of the running work, before it reports anything."""
        self.reported.about = about
        self._write()

    def __call__(self, solution: Solution | None, bound: float | None) -> None:
        """Record an incumbent, a bound, or both."""
        reported = self.reported
        reported.first = solution if reported.first is None else reported.first
        reported.solution = solution if solution is not None else reported.solution
        reported.bound = bound if bound is not None else reported.bound
        now = time.monotonic()
        if solution is None and now - self._written < BOUND_EVERY_S:
            return
        self._written = now
        reported.trace.append((now - self._started, None, reported.bound))
        self._write()

    def _write(self) -> None:
        beside = self.path.with_suffix(".new")
        with suppress(OSError):  # a full disk loses the report of a process that is ended, not the run
            beside.write_bytes(pickle.dumps(self.reported))
            os.replace(beside, self.path)


class TaskOutcome(Protocol):
    """The outcome of a finished task: JSON can represent it, and it holds the options in effect."""

    @property
    def options(self) -> dict[str, Any]: ...

    def model_dump_json(self) -> str: ...


R = TypeVar("R", bound=TaskOutcome)


class Digests:
    """Compute digests of inputs that many tasks share, each once."""

    def __init__(self) -> None:
        self._instances: dict[int, tuple[Instance, str]] = {}
        self._files: dict[Path, str] = {}
        self._sources: dict[tuple[str, bytes | None], str] = {}

    def instance(self, instance: Instance) -> str:
        """Compute the digest of all fields of an instance that differ from their defaults."""
        if id(instance) not in self._instances:
            text = instance.model_dump_json(exclude_defaults=True)
            # keep the instance alive: another object could reuse its id
            self._instances[id(instance)] = instance, hashlib.sha256(text.encode()).hexdigest()
        return self._instances[id(instance)][1]

    def file(self, path: Path) -> str:
        """Compute the digest of the content of a file."""
        if path not in self._files:
            self._files[path] = hashlib.sha256(path.read_bytes()).hexdigest()
        return self._files[path]

    def of(self, value: Any) -> Any:
        """Return the digest of an instance or of a file, and any other value unchanged."""
        if isinstance(value, Instance):
            return self.instance(value)
        return self.file(value) if isinstance(value, Path) else value

    def source(self, target: str, code: bytes | None = None) -> str:
        """Compute the digest of the module of a user's function and of the modules in the same folder."""
        if (target, code) not in self._sources:
            self._sources[target, code] = source_digest(target, code)
        return self._sources[target, code]


class HarnessTask(Generic[R]):
    """A task: `work` runs in a separate process; this process checks the value that it returns, or its report."""

    @property
    def time_limit(self) -> float | None:
        """Return the CPU seconds after which, and after a grace period, the process is ended."""
        return None

    @property
    def modules(self) -> tuple[str, ...]:
        """Return the modules that a process imports before the clock starts."""
        return ()

    @property
    def kernels(self) -> tuple[str, ...]:
        """Return the keys of this task's compiled functions in `kernels.json`."""
        return ()

    @abstractmethod
    def label(self) -> tuple[str, str]:
        """Return the names of instance and method, or of workload and policy."""

    @abstractmethod
    def work(self, report: ReportFile) -> Any:
        """Do the work. May raise any exception; must return a picklable value."""

    @abstractmethod
    def outcome(self, found: Any) -> R:
        """Check the value that `work` returned, and return the outcome."""

    @abstractmethod
    def conclude_early(self, reported: Reported, termination: Termination, reason: str) -> R:
        """Return the outcome of a task that failed or was ended, from its report."""

    @abstractmethod
    def content(self, digests: Digests) -> dict[str, Any]:
        """Return all inputs of the outcome except the options, for a digest."""

    def is_final(self, outcome: R) -> bool:
        """Return whether an outcome is final, so that the task is not repeated."""
        return False

    def parse_outcome(self, text: str) -> R | None:
        """Parse the outcome from `text`; return `None` if it is not valid or has other options."""
        return None


class Failure:
    """An exception of a task as one line of text, for any class and message."""

    def __init__(self, reason: str, reported: Reported) -> None:
        self.reason, self.reported = reason, reported

    @classmethod
    def of(cls, error: BaseException, reported: Reported) -> Self:
        name = type(error).__name__
        said = describe_error(error)
        if not isinstance(error, InputError | CheckFailed | RuleBroken):
            said = f"{name}: {said}" if said else name
            said += _place_in_user_code(error)
        return cls(" ".join(said.split()), reported)


def _place_in_user_code(error: BaseException) -> str:
    """Return the file, line and function of the last frame that is the user's, as text; "" if there is none."""
    libraries = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    others = ("<frozen ", *(f"{folder}{os.sep}" for folder in (*libraries, *(ROOT / name for name in NAMES))))
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(others):
            return f" ({Path(frame.filename).name}, line {frame.lineno}, in {frame.name})"
    return ""


class Whole(Frozen):
    """The outcome of such a task. A subclass has fields for its results, which are empty if the task failed."""

    workload: str
    status: Literal["finished", "error"]
    reason: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    def line(self) -> str:
        """Return the outcome in one line."""
        return f"{self.workload} {self.status}" + (f" ({self.reason})" if self.reason else "")


W = TypeVar("W", bound=Whole)


class WholeTask(HarnessTask[W]):
    """Base class of tasks that either finish or fail, without a partial result and by default without a time limit.

    `outcome_type`: the class of the outcome. A subclass may add fields of a failed outcome in `build_outcome`.
    """

    outcome_type: ClassVar[type[Any]]
    options: Options

    @property
    def effective(self) -> Options:
        """Return the options in effect; a subclass overrides this if they differ from the requested ones."""
        return self.options

    def outcome(self, found: W) -> W:
        return found

    def conclude_early(self, reported: Reported, termination: Termination, reason: str) -> W:
        return self.build_outcome("error", reason=reason)

    def is_final(self, outcome: W) -> bool:
        return outcome.status == "finished"

    def parse_outcome(self, text: str) -> W | None:
        found: W = self.outcome_type.model_validate_json(text)
        return found if found.options == self.effective.select(OPTION_NAMES) else None

    def build_outcome(self, status: Literal["finished", "error"], **fields: Any) -> W:
        """Build the outcome of this task with its options and further `fields`."""
        made: W = self.outcome_type(
            **{"workload": self.label()[0], "status": status, "options": self.effective.select(OPTION_NAMES)} | fields
        )
        return made


class Measured(Whole):
    """The figures by name, as JSON has them, and the CPU seconds of all that the function does."""

    figures: dict[str, Any] = Field(default_factory=dict)
    cpu_s: float | None = None


@dataclass(frozen=True)
class Measurement(WholeTask[Measured]):
    """Call `target`, a `module:function`, with the `options` and the `given` arguments: instances, paths, plain values.

    `solves`: number of solves, each with the time limit of the options; `None` if it is unknown.
    """

    outcome_type = Measured

    name: str
    target: str
    given: Mapping[str, Any]
    options: Options = Options()
    solves: int | None = 1

    @classmethod
    def of(
        cls, function: Callable[..., dict[str, Any]], options: Options, solves: int | None = 1, **given: Any
    ) -> Measurement:
        """Build the measurement that calls a function with the given arguments, and name it after them."""
        said = {name: getattr(value, "name", value) for name, value in given.items() if value is not None}
        name = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in said.items())
        return cls(name, f"{function.__module__}:{function.__name__}", given, options, solves)

    @property
    def time_limit(self) -> float | None:
        limit = self.options.time_limit
        return None if limit is None or self.solves is None else self.solves * limit

    @property
    def modules(self) -> tuple[str, ...]:
        return (self.target.partition(":")[0],)

    def label(self) -> tuple[str, str]:
        return self.name, self.target

    def work(self, report: ReportFile) -> Measured:
        """Call the function and measure its CPU time. Raises any exception of the function."""
        function = resolve(self.target)
        with Stopwatch() as clock:
            figures = function(**self.given, options=self.options)
        seconds = figures.pop("cpu_s", clock.cpu_s)  # the function's own time, if it excludes preparation
        return self.build_outcome("finished", figures=figures, cpu_s=seconds)

    def content(self, digests: Digests) -> dict[str, Any]:
        given = {name: digests.of(value) for name, value in self.given.items()}
        return {"measured": self.target, "given": given, "versions": versions()}


@dataclass(frozen=True)
class Batch:
    """Run several tasks one after the other in one process, which imports shared modules once.

    None of the tasks is ended from outside. The outcome is the list of their outcomes, which is not stored.
    """

    tasks: Sequence[HarnessTask[Any]]

    time_limit = None

    @property
    def modules(self) -> tuple[str, ...]:
        return tuple(sorted({name for task in self.tasks for name in (type(task).__module__, *task.modules)}))

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(sorted({name for task in self.tasks for name in task.kernels}))

    def work(self, report: ReportFile) -> list[Any]:
        """Run the tasks; a failed task yields a `Failure` in place of its result."""
        return [_done(task, report) for task in self.tasks]

    def outcome(self, found: list[Any]) -> Any:
        pairs = zip(self.tasks, found, strict=True)
        failed = ((task, one, isinstance(one, Failure)) for task, one in pairs)
        return [
            t.conclude_early(one.reported, "error", one.reason) if lost else t.outcome(one) for t, one, lost in failed
        ]

    def conclude_early(self, reported: Reported, termination: Termination, reason: str) -> Any:
        return [task.conclude_early(Reported(), termination, reason) for task in self.tasks]


def _done(task: HarnessTask[Any], report: ReportFile) -> Any:
    try:
        return pickle.loads(pickle.dumps(task)).work(report)  # on a copy of its data, as in a separate process
    except Exception as error:
        return Failure.of(error, Reported())
