"""The state of a proof: the best schedule, the best bound, and the effort so far."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from instances import Options, Stopwatch
from instances.arrays import IntArray
from instances.result import Termination
from instances.sia.arrays import OracleArrays, coarse
from models.incumbent import Incumbent
from models.sia.parameters import OracleParameters
from models.sia.rows import StartColumns


class BestSchedule:
    """The `incumbent` of the problem of `arrays`, in steps, with `info` of the answer.

    Parameters:

    - `arrays`: the problem in steps.
    - `options`: limits, gap, threads and seed.
    - `report`: given each better schedule (J,), or `None`, with the bound, and each better bound, in steps.
    - `clock`: the solve's clock.
    - `best`: a feasible schedule, (J,).
    - `parameters`: constants of the method.
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
        self.offer(best)

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

    def offer(self, starts: IntArray) -> None:
        """Take a feasible schedule (J,) if no other was as good."""
        self.incumbent.offer(self.arrays.delay(starts), starts.copy())

    def raise_bound(self, bound: int) -> None:
        """Take a proven bound, in steps, if no other was as good."""
        self.incumbent.raise_bound(bound)


class OracleProof(BestSchedule):
    """A proof with `columns`, whose rows may be coarser than `arrays`, and its effort: `turns` and `nodes`."""

    def __init__(
        self,
        arrays: OracleArrays,
        options: Options,
        report: Callable[[IntArray | None, int | None], None],
        clock: Stopwatch,
        best: IntArray,
        parameters: OracleParameters,
    ) -> None:
        super().__init__(arrays, options, report, clock, best, parameters)
        self.columns = StartColumns(coarse(arrays, parameters.most_units), arrays)
        self.rng = np.random.default_rng(options.seed)
        self.turns = self.nodes = 0

    def limit(self) -> Termination | None:
        """The limit that is reached, of time or of effort: turns of cuts and search, or nodes."""
        if self.clock.expired:
            return "time_limit"
        effort = self.options.effort
        return "effort_limit" if effort is not None and max(self.turns, self.nodes) >= effort else None
