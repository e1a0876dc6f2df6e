"""A log of a solve: one line for each new incumbent and each better bound."""

from __future__ import annotations

from instances.clock import Stopwatch
from instances.fields import ProblemData
from instances.gaps import gap
from instances.options import Solution
from instances.registry import check
from instances.result import Result

HEAD = f"{'CPU s':>8}  {'incumbent':>14}  {'bound':>14}  {'gap':>8}"


class ProgressLog:
    """Prints what a method reports. The objective is the checker's.

    - `data`: the instance.
    """

    def __init__(self, data: ProblemData) -> None:
        self.data, self.clock = data, Stopwatch()
        self.objective: float | None = None
        self.bound: float | None = None
        print(HEAD)

    def __call__(self, solution: Solution | None, bound: float | None) -> None:
        """Print a line for a new incumbent or bound."""
        if solution is not None:
            self.objective = check(self.data, solution).objective
        self.bound = self.bound if bound is None else bound
        self._print_line()

    def end(self, result: Result) -> None:
        """Print the final line and the summary of the result."""
        self.objective, self.bound = result.objective, result.bound
        self._print_line()
        print(result.summary)

    def _print_line(self) -> None:
        try:
            apart = gap(self.objective, self.bound, self.data.sense)
        except ValueError:  # a bound that the checked result will refuse
            apart = None
        left = "-" if apart is None else f"{100 * apart:.4f}%"
        numbers = ["-" if number is None else f"{number:.8g}" for number in (self.objective, self.bound)]
        print(f"{self.clock.spent_s:8.2f}  {numbers[0]:>14}  {numbers[1]:>14}  {left:>8}", flush=True)
