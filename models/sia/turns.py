"""Turns of cuts, which raise the bound of a proof, and of searches, which find better schedules.

On heavy workloads the search is among the schedules of the relaxation and the best ones found. It begins with a
schedule drawn from the relaxation, or with one of the best ones. Of such a one the jobs in some stretch of time are
scheduled anew: from the starts that they have, from those of another of the best, or from some drawn from the
relaxation. Starts may be too wide together. They are annealed with penalties, from a lower temperature than a search
from nothing begins with, made feasible, and improved for a moment. Many short searches find better schedules than a few
long ones: what comes out depends on where a search begins far more than on how long it lasts.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from instances import Stopwatch
from instances.arrays import BoolArray, FloatArray, IntArray
from instances.result import Termination
from models.sia.proof import OracleProof
from models.sia.relaxation import StartRelaxation
from models.sia.rows import Rows
from models.sia.search import improve, in_order, settle


class EliteSearch:
    """The search of a proof with its `elite`: the best schedules found, no two of them alike, the best first."""

    def __init__(self, proof: OracleProof, relaxation: StartRelaxation) -> None:
        self.proof, self.relaxation, self.parameters = proof, relaxation, proof.parameters
        self.elite: list[IntArray] = []
        self._draws = 0

    def run(self, clock: Stopwatch, most_failures: int, draws: int = 0) -> None:
        """Search until so many searches in a row find no better schedule, or until the time of `clock` is over.

        The first ones begin with `draws` from the relaxation, as is of use when it is new.
        """
        proof, failures, self._draws = self.proof, 0, draws
        self._keep(proof.best)
        while failures < most_failures and not clock.expired and not proof.closed:
            before = proof.delay
            if (found := self._settled(*self._begin(clock), clock)) is not None:
                proof.offer(found)
                self._keep(found)
            failures = failures + 1 if proof.delay == before else 0

    def draw(
        self, clock: Stopwatch, starts: IntArray | None = None, chosen: BoolArray | None = None
    ) -> tuple[FloatArray, IntArray | None]:
        """Starts (J,) drawn from the relaxation, of some those in whose order the best schedule is made, and that one.

        Draws differ a lot, and what annealing makes of them differs likewise. Given `starts` (J,), only those of the
        `chosen` jobs (J,) are drawn anew.
        """
        proof, found = self.proof, list[tuple[int, FloatArray, IntArray | None]]()
        while not found or (len(found) < self.parameters.draws and not clock.expired):
            order = self.relaxation.sample(proof.rng)
            if starts is not None and chosen is not None:
                order = np.where(chosen, order, starts)
            made = in_order(proof.arrays, order, self.parameters)
            found.append((proof.arrays.most + 1 if made is None else proof.arrays.delay(made), order, made))
        _, order, made = min(found, key=lambda draw: draw[0])
        return order, made

    def _begin(self, clock: Stopwatch) -> tuple[IntArray, float, IntArray]:
        """Starts (J,) to begin with, the share of the temperatures that is left out, and the jobs that move."""
        rng, p, arrays = self.proof.rng, self.parameters, self.proof.arrays
        everybody = np.arange(len(arrays.submit))
        if self._draws > 0 or rng.random() < p.drawn:
            self._draws -= 1
            return self.draw(clock)[0].astype(np.int64), p.settled_begin[0], everybody
        half = 0.5 * float(arrays.duration.mean()) * np.exp(rng.uniform(*np.log(p.stretch)))
        one = self.elite[rng.integers(len(self.elite), size=2).min()]
        chosen, way = self._stretch(one, half), rng.integers(3)
        if way == 0:
            one = self.draw(clock, one, chosen)[0].astype(np.int64)
        elif way == 1:
            one = np.where(chosen, self.elite[rng.integers(len(self.elite))], one)
        return one, rng.uniform(*p.settled_begin), np.flatnonzero(chosen)

    def _stretch(self, starts: IntArray, half: float) -> BoolArray:
        """The jobs (J,) that start no more than `half` from the start of a job that waits, one that is drawn."""
        waiting = np.flatnonzero(starts > self.proof.arrays.submit)
        if not len(waiting):
            return np.ones(len(starts), dtype=bool)
        job = self.proof.rng.choice(waiting)
        chosen: BoolArray = np.abs(starts - starts[job] + half * self.proof.rng.uniform(-1.0, 1.0)) <= half
        chosen[job] = True
        return chosen

    def _settled(self, starts: IntArray, begin: float, among: IntArray, clock: Stopwatch) -> IntArray | None:
        """A schedule that annealing with penalties, order and improvement make of `starts`, if there is one.

        What the annealing ends with is mostly a GPU too wide somewhere, and better for that than all feasible schedules
        on its way: jobs put in this order make a feasible one.
        """
        proof, p = self.proof, self.parameters
        seed = int(proof.rng.integers(2**31))
        arrays, tries = proof.arrays, p.penalty_tries
        _, last = settle(arrays, starts, clock, seed=seed, tries=tries, begin=begin, among=among, parameters=p)
        found = in_order(arrays, last.astype(float), p)
        if found is None:
            return None
        seed, brief, tries = int(proof.rng.integers(2**31)), replace(p, warm=p.settled_warm, batches=1), p.settled_tries
        return improve(arrays, found, clock, seed=seed, tries=tries, stop=proof.bound, among=among, parameters=brief)

    def _keep(self, found: IntArray) -> None:
        """Take a schedule into the elite, where it is good enough and the better one of those that are much like it."""
        delay, p = self.proof.arrays.delay, self.parameters
        like = [kept for kept in self.elite if np.abs(kept - found).sum() < p.alike * delay(found)]
        if all(delay(found) < delay(kept) for kept in like):
            others = [kept for kept in self.elite if not any(kept is other for other in like)]
            self.elite = sorted([*others, found], key=delay)[: p.elite]


class CuttingTurns:
    """The turns of cuts and search of a proof, and the relaxation with all cuts."""

    def __init__(self, proof: OracleProof) -> None:
        self.proof, self.parameters = proof, proof.parameters
        self.relaxation = StartRelaxation(proof.columns, proof.best, proof.parameters)
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
                self._improve(proof.best, self._searching(), p.tries[:2])

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

        With many candidate starts left, the search is that of `EliteSearch`.
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
        """Search where cuts gain no more, and there are too many candidate starts for a tree to pay."""
        proof, p = self.proof, self.parameters
        if not proof.closed and proof.distance >= p.worth_searching and self._heavy():
            self.search.run(Stopwatch(p.last_share * proof.clock.remaining_s), p.failures_last)

    def _heavy(self) -> bool:
        """Whether there are many candidate starts."""
        return self._candidates() > self.parameters.moderate_candidates

    def _searching(self) -> Stopwatch:
        """The clock of one turn's search."""
        return Stopwatch(self.parameters.searching_share * self.proof.clock.remaining_s)

    def _improve(self, starts: IntArray, clock: Stopwatch, tries: tuple[int, ...]) -> None:
        """Improve a schedule by searches with more and more `tries`, until it is near the bound."""
        proof, p = self.proof, self.parameters
        for more in tries:
            if proof.distance < p.worth_searching or clock.expired:
                return
            seed = int(proof.rng.integers(2**31))
            starts = improve(proof.arrays, starts, clock, seed=seed, tries=more, stop=proof.bound, parameters=p)
            proof.offer(starts)
