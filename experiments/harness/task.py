"""A task: what the runner needs to know of what it runs, the file of what it has reported, and tasks that are whole."""

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

from experiments.harness.user_functions import resolve, source_digest
from experiments.harness.user_modules import NAMES
from instances import CheckFailed, InputError, Instance, Options, Solution, Stopwatch
from instances.fields import Frozen
from instances.online import RuleBroken
from instances.options import OPTION_NAMES
from instances.result import Termination, TracePoint, versions
from instances.text import said_by

BOUND_EVERY_S = 0.5  # a bound alone is written down no more often than this


@dataclass
class Reported:
    """The first and the last incumbent and the bound, either `None` before there is one; `about`: what is running."""

    first: Solution | None = None
    solution: Solution | None = None
    bound: float | None = None
    trace: list[TracePoint] = field(default_factory=list)
    about: Any = None

    @staticmethod
    def read(path: Path) -> Reported:
        """What was written to `path`, and nothing where there is no such file."""
        return pickle.loads(path.read_bytes()) if path.exists() else Reported()


class ReportFile:
    """The report of a running method: it writes down each incumbent at once, in a file that is replaced whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.reported = Reported()
        self._started = self._written = time.monotonic()

    def begin(self, about: Any) -> None:
        """Note what is running, before it has reported anything."""
        self.reported.about = about
        self._write()

    def __call__(self, solution: Solution | None, bound: float | None) -> None:
        """Note an incumbent, a bound, or both."""
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
        with suppress(OSError):  # a full disk costs what would be left of an ended process, not the run
            beside.write_bytes(pickle.dumps(self.reported))
            os.replace(beside, self.path)


class TaskOutcome(Protocol):
    """What a finished task is: a record that can be written as JSON and read again, and the options in effect."""

    @property
    def options(self) -> dict[str, Any]: ...

    def model_dump_json(self) -> str: ...


R = TypeVar("R", bound=TaskOutcome)


class Digests:
    """Digests of what many tasks share, each made once."""

    def __init__(self) -> None:
        self._instances: dict[int, tuple[Instance, str]] = {}
        self._files: dict[Path, str] = {}
        self._sources: dict[tuple[str, bytes | None], str] = {}

    def instance(self, instance: Instance) -> str:
        """Compute the digest of all fields of an instance that differ from their defaults."""
        if id(instance) not in self._instances:
            text = instance.model_dump_json(exclude_defaults=True)
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


class HarnessTask(Protocol[R]):
    """A task runs in a process of its own, `work`; what it returns, or leaves behind, is checked in this one.

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


PACKAGES = Path(__file__).resolve().parents[2]


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
            said += _place_in_user_code(error)
        return cls(" ".join(said.split()), reported)


def _place_in_user_code(error: BaseException) -> str:
    """Return the file, line and function of the last frame that is the user's, as text; "" if there is none."""
    libraries = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    others = ("<frozen ", *(f"{folder}{os.sep}" for folder in (*libraries, *(PACKAGES / name for name in NAMES))))
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(others):
            return f" ({Path(frame.filename).name}, line {frame.lineno}, in {frame.name})"
    return ""


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
    """What is the same of a task for all that are all or nothing, and have no time limit as a whole.

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


class Measured(Whole):
    """The figures by name, as JSON has them, and the CPU seconds of all that the function does."""

    figures: dict[str, Any] = Field(default_factory=dict)
    cpu_s: float | None = None


@dataclass(frozen=True)
class Measurement(WholeTask[Measured]):
    """`target`, a `module:function`, called with the `options` and what is `given`: instances, paths, plain values.

    `solves`: how many solves it takes, each of which has the time limit of the options; `None` where nobody knows.
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
        """The measurement that calls a function with what is given, and is called by it."""
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
        """Call the function, and time it. Raises whatever the function raises."""
        function = resolve(self.target)
        with Stopwatch() as clock:
            figures = function(**self.given, options=self.options)
        seconds = figures.pop("cpu_s", clock.cpu_s)  # where what is made ready first is no part of it
        return self.made("finished", figures=figures, cpu_s=seconds)

    def content(self, digests: Digests) -> dict[str, Any]:
        given = {name: digests.of(value) for name, value in self.given.items()}
        return {"measured": self.target, "given": given, "versions": versions()}


@dataclass(frozen=True)
class Batch:
    """Several tasks one after the other in one process, which loads what they share once; none is ended from outside.

    Its outcome is the list of theirs, which is kept nowhere.
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
        """Do them; where one fails, why."""
        return [_done(task, report) for task in self.tasks]

    def outcome(self, found: list[Any]) -> Any:
        pairs = zip(self.tasks, found, strict=True)
        failed = ((task, one, isinstance(one, Failure)) for task, one in pairs)
        return [t.ended(one.reported, "error", one.reason) if lost else t.outcome(one) for t, one, lost in failed]

    def ended(self, reported: Reported, termination: Termination, reason: str) -> Any:
        return [task.ended(Reported(), termination, reason) for task in self.tasks]


def _done(task: HarnessTask[Any], report: ReportFile) -> Any:
    try:
        return pickle.loads(pickle.dumps(task)).work(report)  # of its own data, as in a process of its own
    except Exception as error:
        return Failure.of(error, Reported())
