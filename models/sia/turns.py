"""Turns of cuts, which raise the bound, and of searches, which find better schedules in the order of the relaxation."""

from __future__ import annotations

import numpy as np

from instances import Stopwatch
from instances.arrays import IntArray
from instances.result import Termination
from models.sia.elite_search import EliteSearch
from models.sia.neighbourhood_search import construct, improve
from models.sia.proof import Proof
from models.sia.relaxation import Relaxation
from models.sia.rows import Rows


class CuttingTurns:
    """The turns of cuts and search of a proof, and the relaxation with all cuts."""

    def __init__(self, proof: Proof) -> None:
        self.proof, self.parameters = proof, proof.parameters
        proof.offer(construct(proof.arrays, proof.reserved, proof.clock))
        self.relaxation = Relaxation(proof.columns, proof.best, proof.parameters)
        self.search = EliteSearch(proof, self.relaxation)

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
                self._search()
            gained = before - proof.distance > p.turn_gain * before and self._heavy()
        self._last_search()
        return "time_limit" if proof.clock.expired else None

    def _first_bound(self) -> None:
        """The relaxation's bound without cuts, and a first search."""
        proof, p = self.proof, self.parameters
        clock = Stopwatch(p.cutting_share * proof.clock.remaining_s)
        self.relaxation.converge(proof.delay, clock, p.bound_accuracy)
        proof.info |= {"relaxation": self.relaxation.value, "columns": len(proof.columns.job)}
        proof.raise_bound(self.relaxation.bound)
        if proof.distance >= p.worth_searching:
            if self._heavy():
                self.search.run(self._searching(), p.failures_first, p.first_draws)
            else:
                self._improve(proof.best, self._searching(), p.first_tries)

    def _candidates(self) -> int:
        """Number of starts that may be of use: of those that count in the same tight rows only a job's earliest is."""
        columns, found = self.proof.columns, 0
        if not self.relaxation.exclude(self.proof.delay):
            return found
        tight = Rows(columns, self.relaxation.tight)
        for j, begin in enumerate(columns.offset[:-1]):
            inside = slice(begin, columns.offset[j + 1])
            starts = columns.start[inside][columns.open[inside]]
            behind = tight.high[tight.weight[:, j] > 0, j] + 1
            behind = behind[(behind > starts[0]) & (behind <= starts[-1])]
            own = len(np.unique(np.searchsorted(starts, behind)))
            found += own + 1 if own else 0
        return found

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

    def _search(self) -> None:
        """Improve schedules in the order of starts drawn from the relaxation, until searches fail in a row.

        With many candidate starts left, the search is that of `elite_search`.
        """
        proof, clock, failures, p = self.proof, self._searching(), 0, self.parameters
        if self._heavy():
            return self.search.run(clock, p.failures_many, p.first_draws)
        while failures < p.failures_few and not clock.expired and not proof.closed:
            before = proof.delay
            _, starts = self.search.draw(clock)
            if starts is not None:
                self._improve(starts, clock, p.tries)
            failures = failures + 1 if proof.delay == before else 0

    def _last_search(self) -> None:
        """Search where cuts gain no more, and there are too many candidate starts for a tree to be worth its time."""
        proof, p = self.proof, self.parameters
        if not proof.closed and proof.distance >= p.worth_searching and self._heavy():
            self.search.run(Stopwatch(p.last_share * proof.clock.remaining_s), p.failures_last)

    def _heavy(self) -> bool:
        """Whether there are many candidate starts."""
        return self._candidates() > self.parameters.moderate_candidates

    def _searching(self) -> Stopwatch:
        """The clock of one turn's search."""
        return Stopwatch(self.parameters.searching_share * self.proof.clock.remaining_s)

    def _improve(self, starts: IntArray, clock: Stopwatch, tries: int) -> None:
        proof, p = self.proof, self.parameters
        seed = int(proof.rng.integers(2**31))
        proof.offer(improve(proof.arrays, starts, clock, seed=seed, tries=tries, stop=proof.bound, parameters=p))
