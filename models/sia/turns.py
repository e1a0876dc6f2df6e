"""Turns of cuts, which raise the bound, and of searches, which find better schedules in the order of the relaxation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from instances import Stopwatch
from instances.arrays import FloatArray, IntArray
from instances.result import Termination
from models.sia.components import components
from models.sia.neighbourhood_search import construct, improve, in_order
from models.sia.penalty_search import settle
from models.sia.proof import Proof
from models.sia.relaxation import Relaxation


class CuttingTurns:
    """The turns of cuts and search of a proof, and the relaxation with all cuts."""

    def __init__(self, proof: Proof) -> None:
        self.proof, self.parameters = proof, proof.parameters
        proof.offer(construct(proof.arrays, proof.reserved, proof.clock))
        self.relaxation = Relaxation(proof.columns, proof.best, proof.parameters)

    def run(self) -> Termination | None:
        """Cut and search as long as a turn gains enough; the limit that ended the turns, if any."""
        proof, p = self.proof, self.parameters
        self._first_bound()
        gained = True
        while gained and not proof.closed and self.relaxation.exclude(proof.delay):
            if (limit := proof.limit()) is not None:
                return limit
            proof.turns += 1
            before = proof.distance
            self._cut()
            if proof.distance >= p.worth_searching:
                self._search(many=self._candidates() > p.moderate_candidates)
            gained = before - proof.distance > p.turn_gain * before and self._candidates() > p.moderate_candidates
        return None

    def _first_bound(self) -> None:
        """The relaxation's bound without cuts, and a first search."""
        proof, p = self.proof, self.parameters
        self.relaxation.converge(proof.delay, proof.clock, p.bound_accuracy)
        proof.info |= {"relaxation": self.relaxation.value, "columns": len(proof.columns.job)}
        proof.raise_bound(self.relaxation.bound)
        if proof.distance >= p.worth_searching:
            self._improve(proof.best, self._searching(), p.first_tries)
            if self._candidates() > p.moderate_candidates:
                self._settle(proof.best, self._searching(), p.penalty_tries)

    def _candidates(self) -> int:
        """Number of candidate starts that the integer programs would have."""
        if not self.relaxation.exclude(self.proof.delay):
            return 0
        return sum(part.size for part in components(self.proof.columns, self.relaxation.tight)[0])

    def _cut(self) -> None:
        """Rounds of cuts, as long as the bound gains enough."""
        proof, p, relaxation = self.proof, self.parameters, self.relaxation
        clock = Stopwatch(p.cutting_share * proof.clock.remaining_s)
        values: list[float] = []
        while relaxation.converge(proof.delay, clock, p.bound_accuracy):
            proof.raise_bound(relaxation.bound)
            values.append(relaxation.value)
            gained = values[-1] - values[-1 - p.patience] if len(values) > p.patience else float("inf")
            if gained < p.patience_gain * (proof.delay - values[-1]) or proof.closed:
                break
            if not proof.columns.every_job_open() or not relaxation.cut():
                break
        proof.raise_bound(relaxation.bound)
        rounds = int(proof.info.get("cut_rounds", 0)) + len(values)
        proof.info |= {"relaxation_with_cuts": relaxation.value, "cut_rounds": rounds}

    def _search(self, *, many: bool) -> None:
        """Improve schedules in the order of starts drawn from the relaxation, until searches fail in a row.

        With `many` candidate starts left, the starts drawn are also annealed with penalties, and more may fail: after
        each failure with twice as many tries.
        """
        proof, clock, failures, p = self.proof, self._searching(), 0, self.parameters
        most_failures = p.failures_many if many else p.failures_few
        while failures < most_failures and not clock.expired and not proof.closed:
            before = proof.delay
            order, starts = self._drawn(clock)
            if starts is not None:
                self._improve(starts, clock, p.tries)
            if many:
                self._settle(order.astype(np.int64), clock, p.penalty_tries << failures)
            failures = failures + 1 if proof.delay == before else 0

    def _drawn(self, clock: Stopwatch) -> tuple[FloatArray, IntArray | None]:
        """Starts (J,) drawn from the relaxation, of some those in whose order the best schedule is made, and that one.

        Draws differ a lot, and what annealing makes of them differs likewise.
        """
        proof, found = self.proof, list[tuple[int, FloatArray, IntArray | None]]()
        while not found or (len(found) < self.parameters.draws and not clock.expired):
            order = self.relaxation.sample(proof.rng)
            made = in_order(proof.arrays, order, self.parameters)
            found.append((proof.arrays.most + 1 if made is None else proof.arrays.delay(made), order, made))
        _, order, made = min(found, key=lambda draw: draw[0])
        return order, made

    def _settle(self, starts: IntArray, clock: Stopwatch, tries: int) -> None:
        """Anneal with penalties from starts that may be too wide together, and improve what comes out.

        What the annealing ends with is mostly a GPU too wide somewhere, and better for that than all feasible schedules
        on its way: jobs put in this order make a feasible one.
        """
        proof, p = self.proof, self.parameters
        seed = int(proof.rng.integers(2**31))
        met, last = settle(proof.arrays, starts, clock, seed=seed, tries=tries, parameters=p)
        if met is not None:
            proof.offer(met)
        for found in (met, in_order(proof.arrays, last.astype(float), p)):
            if found is not None and not np.array_equal(found, starts):
                proof.offer(found)
                self._improve(found, clock, p.tries, p.settled_warm)

    def _searching(self) -> Stopwatch:
        """The clock of one turn's search."""
        return Stopwatch(self.parameters.searching_share * self.proof.clock.remaining_s)

    def _improve(self, starts: IntArray, clock: Stopwatch, tries: int, warm: float | None = None) -> None:
        proof, p = self.proof, self.parameters
        p = p if warm is None else replace(p, warm=warm)
        seed = int(proof.rng.integers(2**31))
        proof.offer(improve(proof.arrays, starts, clock, seed=seed, tries=tries, stop=proof.bound, parameters=p))
