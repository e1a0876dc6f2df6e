"""The judge scores a program over a task. The proven optima of the task stay in this process."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, Self

from experiments.harness.user_functions import ROOT
from experiments.judging.confinement import THREADS
from instances import CheckFailed, InputError, MalformedSolution, agree, better
from instances.fields import Sense
from instances.reading import read_bytes
from instances.text import describe_error, escape_text

SECONDS, MEMORY_MB = 10.0, 2048
LARGEST_PROGRAM = 1 << 20  # bytes
END_S = 2.0  # time that the process of the programs has to end by itself
CELL = """import sys
sys.path.insert(0, sys.argv[1])
from experiments.judging.cell import serve
serve(int(sys.argv[2]))"""
Status = Literal["solved", "violates", "malformed", "error", "time", "size", "no answer"]

ENDED: Mapping[str, tuple[Status, str]] = {
    "time": ("time", "ended from outside: time"),
    "size": ("size", "ended from outside: size"),
    "threads": ("error", f"ended from outside: more than {THREADS} threads"),
}


@dataclass(frozen=True)
class JudgedCase:
    """An instance of a task: the `content` that a program receives, the proven `optimum`, and the evaluation.

    `value(answer)` returns the objective of an answer in JSON's types and the constraints that it breaks. It raises
    MalformedSolution for an invalid answer.
    """

    name: str
    content: Any
    optimum: float
    value: Callable[[Any], tuple[float | None, Sequence[str]]]
    sense: Sense = "minimize"


@dataclass(frozen=True)
class JudgeTask:
    """A named set of cases. `calls`: the `module:name` that defines the call of a program, see `calls.Calls`."""

    name: str
    title: str
    calls: str
    cases: Sequence[JudgedCase]


@dataclass(frozen=True)
class CaseScore:
    """The result of a program on a case. `gap`: the gap relative to the optimum, `None` if the optimum is 0."""

    case: str
    status: Status
    optimum: float
    objective: float | None = None
    gap: float | None = None
    score: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class Judgement:
    """The evaluation of a program, as one object with stable fields.

    - `combined_score`: mean over all cases of optimum / objective, or of objective / optimum for maximisation. It is 1
      if every case is optimal; a failed case counts as 0.
    - `mean_gap`, `worst_gap`: over the solved cases, `None` if there are none.
    - `failed`: number of cases that are not solved.
    - `seconds`: CPU seconds of the program, as its parent counts them.
    """

    task: str
    combined_score: float
    mean_gap: float | None
    worst_gap: float | None
    failed: int
    seconds: float
    cases: tuple[CaseScore, ...]
    artifacts: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """Return the evaluation as a JSON object."""
        return asdict(self)


class ProgramJudge:
    """Judge programs over one task, each in a confined copy of a process that has only the data.

    - `seconds`: CPU seconds for each case. The limit in wall-clock seconds is three times as high plus one.
    - `memory_mb`: memory limit of every process of the program, in MB.

    A program is a single Python file. It may use all installed packages except this project's exact methods. Calls from
    several threads run one after the other, and a forked process gets a separate judge process.
    """

    def __init__(self, task: JudgeTask, *, seconds: float = SECONDS, memory_mb: int = MEMORY_MB) -> None:
        if not task.cases:
            raise InputError(f"task: {task.name} has no cases")
        if sys.platform != "linux":
            raise InputError(f"task: programs are judged on Linux alone, whose namespaces keep them in: {sys.platform}")
        self.task, self.seconds, self.memory_mb = task, seconds, memory_mb
        self._cell: subprocess.Popen[bytes] | None = None
        self._orders: Connection | None = None
        self._turn, self._owner = threading.RLock(), os.getpid()

    def __call__(self, program: str | Path, function: str | None = None) -> Judgement:
        """Judge the program in a file.

        Raises InputError if the file cannot be read or this machine cannot confine the program. Raises CheckFailed if
        the program beats a proven optimum.
        """
        return self.judge_text(_text(Path(program)), function)

    def judge_text(self, program: str, function: str | None = None) -> Judgement:
        """Judge the text of a program. Raises the same exceptions as a call."""
        left = list(range(len(self.task.cases)))
        random.Random(program).shuffle(left)  # the same order for the same program, which cannot know it in advance
        scores: dict[int, CaseScore] = {}
        seconds, said = 0.0, ""
        while left:
            head, lines = self._run(program, function, left)
            if head["ended"] == "cannot":
                raise InputError(f"task: this machine does not let its users confine a program: {head['said']}")
            seconds += head["cpu_s"]
            before = len(left)
            for i, line in zip(tuple(left), lines, strict=False):
                said = said or str(line.get("fault") or line.get("error") or "")
                if "fault" in line:
                    scores |= {i: self._fail(i, "error", str(line["fault"])) for i in left}
                    left = []
                    break
                left.remove(i)
                scores[i] = self._score(self.task.cases[i], line)
            if left and head["ended"] in ENDED:
                late = left.pop(0)
                scores[late] = self._fail(late, *ENDED[head["ended"]])
            elif left and len(left) == before:  # the program ended by itself, and would do so again
                late = left.pop(0)
                scores[late] = self._fail(late, "no answer", f"the program ended with exit code {head['code']}")
        return self._judgement([scores[i] for i in range(len(self.task.cases))], seconds, said)

    def evaluate(self, program_path: str) -> dict[str, Any]:
        """Return numeric metrics of the program at a path, as evaluators of OpenEvolve and similar tools do."""
        found = self(program_path)
        gaps = {"mean_gap": found.mean_gap, "worst_gap": found.worst_gap}
        numbers = {"combined_score": found.combined_score, "failed": float(found.failed), "seconds": found.seconds}
        return numbers | {name: gap for name, gap in gaps.items() if gap is not None}

    def close(self) -> None:
        """End the process; the next call begins another."""
        if self._owner != os.getpid():
            return
        orders, cell, self._orders, self._cell = self._orders, self._cell, None, None
        if orders is not None:
            # shutdown makes the process end its program, even if a fork or a thread still holds the connection
            with suppress(OSError), socket.socket(fileno=os.dup(orders.fileno())) as both:
                both.shutdown(socket.SHUT_RDWR)
            orders.close()
        if cell is not None:
            try:
                cell.wait(END_S)
            except subprocess.TimeoutExpired:
                pass
            finally:
                cell.kill()
                cell.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, program: str, function: str | None, order: Sequence[int]) -> tuple[dict[str, Any], Iterator[Any]]:
        """Run a program over some cases; return how it ended, and the lines that it wrote, one per case in order."""
        asked = {
            "program": program,
            "function": function,
            "order": list(order),
            "seconds": self.seconds,
            "memory_mb": self.memory_mb,
        }
        if self._owner != os.getpid():  # a connection from before the fork belongs to the other process
            self._turn, self._owner, self._cell, self._orders = threading.RLock(), os.getpid(), None, None
        with self._turn:
            cell = self._open_connection()
            try:
                cell.send_bytes(json.dumps(asked).encode())
                head = json.loads(cell.recv_bytes())
                content = cell.recv_bytes()
            except (EOFError, OSError) as error:
                self.close()
                raise InputError("task: the process of the programs was killed from outside") from error
            except BaseException:  # on an interrupt, the current run would answer the next call
                self.close()
                raise
        return head, map(_line, content.split(b"\n", len(order))[:-1])  # further lines are ignored

    def _open_connection(self) -> Connection:
        if self._orders is not None:
            return self._orders
        ours, theirs = Pipe()
        with theirs:
            self._cell = subprocess.Popen(
                [sys.executable, "-I", "-c", CELL, str(ROOT), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=os.sep,
                env={"PATH": os.defpath, "HOME": "/tmp", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"},
                start_new_session=True,
            )
        self._orders = ours
        about = {"calls": self.task.calls, "contents": [case.content for case in self.task.cases]}
        try:
            ours.send_bytes(json.dumps(about).encode())
            fault = ours.recv_bytes().decode()
        except (EOFError, OSError):
            fault = "it ended"
        if fault:
            self.close()
            raise InputError(f"task: the process of the programs cannot load the data: {fault}")
        return ours

    def _score(self, case: JudgedCase, line: Mapping[str, Any]) -> CaseScore:
        if "answer" not in line:
            status: Status = "error" if "error" in line else "malformed"
            return CaseScore(
                case.name, status, case.optimum, reason=_shorten_output(str(line.get("error", "is no JSON")))
            )
        try:
            objective, broken = case.value(line["answer"])
        except MalformedSolution as error:
            return CaseScore(case.name, "malformed", case.optimum, reason=_shorten_output(describe_error(error)))
        if objective is None or broken:
            return CaseScore(case.name, "violates", case.optimum, objective, reason=_shorten_output("; ".join(broken)))
        if better(objective, case.optimum, case.sense):
            raise CheckFailed(f"{case.name}: {objective!r} is better than {case.optimum!r}, which is proven")
        met = agree(objective, case.optimum)
        few, many = sorted((abs(objective), abs(case.optimum)))
        gap = 0.0 if met else None if case.optimum == 0 else abs(objective - case.optimum) / abs(case.optimum)
        score = 1.0 if met else few / many
        return CaseScore(case.name, "solved", case.optimum, objective, gap, score)

    def _fail(self, i: int, status: Status, reason: str) -> CaseScore:
        case = self.task.cases[i]
        return CaseScore(case.name, status, case.optimum, reason=_shorten_output(reason))

    def _judgement(self, scores: Sequence[CaseScore], seconds: float, said: str) -> Judgement:
        gaps = [score.gap for score in scores if score.gap is not None]
        worst = min(scores, key=lambda score: score.score)
        return Judgement(
            task=self.task.name,
            combined_score=fmean(score.score for score in scores),
            mean_gap=fmean(gaps) if gaps else None,
            worst_gap=max(gaps, default=None),
            failed=sum(score.status != "solved" for score in scores),
            seconds=round(seconds, 4),
            cases=tuple(scores),
            artifacts={"worst case": _words(worst)} | ({"error": _shorten_output(said)} if said else {}),
        )


def _shorten_output(text: str) -> str:
    """Shorten the output of a program to one line without terminal control characters."""
    return escape_text(text[:1000])


def _words(score: CaseScore) -> str:
    if score.status != "solved":
        return f"{score.case}: {score.status}: {score.reason}"
    if score.score == 1.0:
        return "every case is solved to its optimum"
    far = "" if score.gap is None else f", {score.gap:.2%} from it"
    return f"{score.case}: {score.objective:g} where the optimum is {score.optimum:g}{far}"


def _text(path: Path) -> str:
    raw = read_bytes(path)
    if len(raw) > LARGEST_PROGRAM:
        raise InputError(f"{path}: must be at most {LARGEST_PROGRAM} bytes, has {len(raw)}")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is no text: {error}") from error


def _line(text: bytes) -> dict[str, Any]:
    """Parse a line as a JSON object without NaN and infinities; return an empty object for anything else."""
    with suppress(ValueError, RecursionError):
        found = json.loads(text, parse_constant=_refuse)
        if isinstance(found, dict):
            return found
    return {}


def _refuse(name: str) -> Any:
    raise ValueError(name)
