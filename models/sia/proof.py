"""The state of a proof: the best schedule, the best bound, and the columns that a better schedule may contain."""

from __future__ import annotations

import numpy as np

from instances import Options, Report, Stopwatch
from instances.arrays import IntArray
from instances.result import Termination, TracePoint
from instances.sia import SiaOracle
from instances.sia.arrays import OracleArrays, coarse, solution_of
from models.incumbent import Incumbent
from models.sia.columns import Columns
from models.sia.parameters import ExactParameters


class Proof:
    """The incumbent, in steps, with `columns`, `info` of the answer, and the effort: `turns` and `nodes`.

    Rows are those of `columns.arrays`, which may be coarser than `arrays`.

    Parameters:

    - `data`: the problem.
    - `arrays`: the problem in steps.
    - `options`: limits, gap, threads and seed.
    - `report`: told each better solution and bound.
    - `clock`: the solve's clock.
    - `best`: a feasible schedule, (J,).
    - `reserved`: feasible reservations, (J,), that leave jobs as much time as possible.
    - `parameters`: constants of the method.
    """

    def __init__(
        self,
        data: SiaOracle,
        arrays: OracleArrays,
        options: Options,
        report: Report,
        clock: Stopwatch,
        best: IntArray,
        reserved: IntArray,
        parameters: ExactParameters,
    ) -> None:
        self.arrays, self.options, self.clock, self.reserved = arrays, options, clock, reserved
        self.parameters = parameters
        self.columns = Columns(coarse(arrays, parameters.most_units), arrays)

        def tell(starts: IntArray | None, bound: int | None) -> None:
            report(None if starts is None else solution_of(data, arrays, starts), float((bound or 0) * arrays.slot))

        self.incumbent: Incumbent[IntArray, int] = Incumbent("minimize", clock, tell, gap=options.gap, bound=0)
        self.offer(best)
        self.info: dict[str, float] = {}
        self.rng = np.random.default_rng(options.seed)
        self.turns = self.nodes = 0

    @property
    def best(self) -> IntArray:
        """The best schedule (J,)."""
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
        """Distance from bound to schedule, in steps."""
        return self.delay - self.bound

    @property
    def closed(self) -> bool:
        """Whether the gap asked for is closed."""
        return self.incumbent.closed

    @property
    def trace(self) -> list[TracePoint]:
        """The incumbent's trace, in slots."""
        slot = self.arrays.slot
        return [(t, float((v or 0) * slot), float((b or 0) * slot)) for t, v, b in self.incumbent.trace]

    def offer(self, starts: IntArray) -> None:
        """Take a feasible schedule (J,) if no other was as good."""
        self.incumbent.offer(self.arrays.delay(starts), starts.copy())

    def raise_bound(self, bound: int) -> None:
        """Take a proven bound, in steps, if no other was as good."""
        self.incumbent.raise_bound(bound)

    def limit(self) -> Termination | None:
        """The limit that is reached, of time or of effort: turns of cuts and search, or nodes."""
        if self.clock.expired:
            return "time_limit"
        effort = self.options.effort
        return "effort_limit" if effort is not None and max(self.turns, self.nodes) >= effort else None
