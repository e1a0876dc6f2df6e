"""A session: what the common flags say, and the tasks of a command run, followed and kept as they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from experiments.harness.resume import finished
from experiments.harness.store import Store
from experiments.harness.task import R, Task
from experiments.output.folder import ready_folder
from experiments.output.terminal import err, follow, print_line
from instances import Options


@dataclass(frozen=True)
class Session:
    """`options` of every run, `jobs` at a time, `format` of standard output, `folder` for results."""

    options: Options = Options()
    jobs: int = 1
    format: Literal["table", "csv", "json"] = "table"
    folder: Path | None = None
    resume: bool = False
    quiet: bool = True

    @contextmanager
    def store(self) -> Iterator[Store | None]:
        """The store of finished runs in the folder, `None` without a folder. Raises InputError where it is unusable."""
        if self.folder is None:
            yield None
            return
        with Store(ready_folder(self.folder) / "runs.sqlite", resume=self.resume) as store:
            yield store

    def outcomes(
        self,
        tasks: Sequence[Task[R]],
        store: Store | None,
        told: Callable[[R], str],
        line: Callable[[int, R], str] | None = None,
    ) -> list[R]:
        """The outcomes in the order of `tasks`.

        As each is finished, `told(outcome)` is shown as progress and, where JSON is asked for, its `line(place,
        outcome)` is printed. An interrupt says how many are kept.
        """
        found: dict[int, R] = {}
        try:
            for i, outcome in follow(finished(tasks, self.jobs, store), len(tasks), told, self.quiet):
                found[i] = outcome
                if line is not None and self.format == "json":
                    print_line(line(i, outcome))
        except KeyboardInterrupt:
            if store is not None:
                err.print(f"{store.held} of {len(tasks)} runs are kept in {self.folder}; go on with --resume")
            raise
        return [found[i] for i in range(len(tasks))]
