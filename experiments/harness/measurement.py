"""A measurement: a function of this project called with plain arguments, and the figures that it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from experiments.harness.task import Digests, ReportFile, Whole, WholeTask
from experiments.harness.user_functions import resolve
from instances import Options, Stopwatch
from instances.result import versions


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
