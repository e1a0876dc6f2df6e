"""A session: the settings of the common flags, and the execution of a command's tasks with progress and storage."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from experiments.harness.runner import Lost, as_finished, compile_first
from experiments.harness.store import Store
from experiments.harness.task import HarnessTask, R
from experiments.output.folder import ready_folder, remove_interrupted, write_result_files
from experiments.output.terminal import err, follow, print_line
from instances import Options, Result
from instances.clock import ANNOUNCE


def run_tasks(
    tasks: Sequence[HarnessTask[R]],
    jobs: int,
    store: Store | None,
    ended: Callable[[int, R], None] | None = None,
    cluster: str | None = None,
) -> Generator[tuple[int, R], None, None]:
    """Yield the index in `tasks` and the outcome of each: first those in the store, then the others when finished.

    `ended` gets those that an interrupt cuts short. `cluster`: the scheduler on whose workers they run.
    """
    left = []
    for i, task in enumerate(tasks):
        known = None if store is None else store.get(task)
        if known is None:
            left.append(i)
        else:
            yield i, known

    def cut_short(i: int, outcome: R) -> None:
        if ended is not None:
            ended(left[i], outcome)

    keep, todo = None if store is None else store.keep, [tasks[i] for i in left]
    if cluster is not None and todo:
        from experiments.harness.dask import as_finished_on  # with what few commands need

        runs = as_finished_on(cluster, todo, keep, cut_short, lambda said: print(said, file=sys.stderr))
    else:
        runs = as_finished(todo, jobs, keep, cut_short)
    for i, outcome in runs:
        yield left[i], outcome


@dataclass(frozen=True)
class Session:
    """`options` of every run, `jobs` at a time, `format` of standard output, `folder` for results.

    `cluster`: address of the scheduler on whose workers they run.
    """

    options: Options = Options()
    jobs: int = 1
    format: Literal["table", "csv", "json", "markdown"] = "table"
    folder: Path | None = None
    resume: bool = False
    quiet: bool = True
    cluster: str | None = None

    @contextmanager
    def store(self, code: str | None = None) -> Iterator[Store | None]:
        """Open the store of finished runs in the folder, `None` without a folder. Raises InputError.

        `code`: a digest of the code, if outcomes of other code are none of these tasks.
        """
        if self.folder is None:
            yield None
            return
        with Store(ready_folder(self.folder) / "runs.sqlite", resume=self.resume, code=code) as store:
            yield store

    def outcomes(
        self,
        tasks: Sequence[HarnessTask[R]],
        store: Store | None,
        describe: Callable[[R], str],
        line: Callable[[int, R], str] | None = None,
    ) -> list[R]:
        """Run the tasks and return their outcomes in the order of `tasks`.

        When a task is finished, `describe(outcome)` is shown and, for JSON, its `line(place, outcome)` is printed. On
        an interrupt, the number of stored outcomes and the results of the interrupted runs are shown. These results are
        in the folder, too, until the runs are finished. Raises Interrupted, and Lost.
        """
        found: dict[int, R] = {}
        short: dict[int, R] = {}
        runs = run_tasks(tasks, self.jobs, store, short.__setitem__, self.cluster)
        try:
            if self.cluster is None:
                compile_first(tasks, self.quiet)
                if not (self.quiet or err.is_terminal):  # on a terminal the clock of the progress line runs
                    os.environ[ANNOUNCE] = "1"
            for i, outcome in follow(runs, len(tasks), describe, self.quiet):
                found[i] = outcome
                if self.folder is not None and isinstance(outcome, Result):
                    remove_interrupted(self.folder, outcome)
                if line is not None and self.format == "json":
                    print_line(line(i, outcome))
        except (KeyboardInterrupt, SystemExit, Lost) as error:
            runs.close()  # where the interrupt came between two runs
            short = {i: outcome for i, outcome in short.items() if isinstance(outcome, Result) and outcome.solved}
            for outcome in short.values():
                err.print(describe(outcome))
            if self.folder is not None:
                write_result_files(self.folder, [o for o in short.values() if isinstance(o, Result)])
            kept = (
                store
                and f"{store.count_held(tasks)} of {len(tasks)} runs are kept in {self.folder}; go on with --resume"
            )
            if isinstance(error, Lost):
                raise Lost(f"{error}; {kept}" if kept else str(error)) from None
            if kept:
                err.print(kept)
            if isinstance(error, SystemExit):
                raise
            raise Interrupted(found | short) from None
        finally:
            runs.close()  # after any error: at exit, a lock of a thread that is gone would block for ever
        return [found[i] for i in range(len(tasks))]


class Interrupted(KeyboardInterrupt):
    """An interrupt, with what was found by then, by place: finished runs, and those that it has cut short."""

    def __init__(self, found: dict[int, Any]) -> None:
        super().__init__()
        self.found = found
