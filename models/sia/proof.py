"""The state of a proof: the best schedule, the best bound, and the effort so far."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from instances import Options, Stopwatch
from instances.arrays import IntArray
from instances.result import Termination
from instances.sia.arrays import OracleArrays, coarse
from models.core.incumbent import Incumbent
from models.sia.parameters import OracleParameters
from models.sia.rows import StartColumns


class OracleProof:
    """The incumbent of a problem with the `info` of the answer, and the effort: `rounds` of cuts and search, `nodes`.

    - `arrays`: the problem.
    - `options`: limits, gap, threads and seed.
    - `report`: called with each better schedule (J,), or `None`, and the bound, and with each better bound, in steps.
    - `clock`: clock of the solve.
    - `best`: a feasible schedule, (J,).
    - `parameters`: parameters of the method.
    """

    def __init__(
        self,
        arrays: OracleArrays,
        options: Options,
        report: Callable[[IntArray | None, int | None], None],
        clock: Stopwatch,
        best: IntArray,
        parameters: OracleParameters,
    ) -> None:
        self.arrays, self.options, self.clock, self.parameters = arrays, options, clock, parameters
        self.incumbent: Incumbent[IntArray, int] = Incumbent("minimize", clock, report, gap=options.gap, bound=0)
        self.info: dict[str, float] = {}
        self.rng = np.random.default_rng(options.seed)
        self.rounds = self.nodes = 0
        self.offer(best)

    @cached_property
    def columns(self) -> StartColumns:
        """All columns; their rows may count GPUs in larger units than `arrays`."""
        return StartColumns(coarse(self.arrays, self.parameters.max_units), self.arrays)

    @property
    def best(self) -> IntArray:
        """The best schedule, (J,)."""
        assert self.incumbent.solution is not None
        return self.incumbent.solution

    @property
    def delay(self) -> int:
        """Delay of the best schedule, in steps."""
        assert self.incumbent.objective is not None
        return self.incumbent.objective

    @property
    def bound(self) -> int:
        """The best bound, in steps."""
        return self.incumbent.bound or 0

    @property
    def distance(self) -> int:
        """Absolute gap between schedule and bound, in steps."""
        return self.delay - self.bound

    @property
    def is_closed(self) -> bool:
        """Whether the requested gap is reached."""
        return self.incumbent.is_closed

    @property
    def limit(self) -> Termination | None:
        """The limit that is reached: of time, or of effort in rounds or nodes."""
        if self.clock.has_expired:
            return "time_limit"
        effort = self.options.effort
        return "effort_limit" if effort is not None and max(self.rounds, self.nodes) >= effort else None

    def offer(self, starts: IntArray) -> None:
        """Store a feasible schedule (J,) if it is the best one so far."""
        self.incumbent.offer(self.arrays.delay(starts), starts.copy())

    def raise_bound(self, bound: int) -> None:
        """Store a proven bound, in steps, if it is the best one so far."""
        self.incumbent.raise_bound(bound)
